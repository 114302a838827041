#include "tools/yard/sweep/sweep_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "tuning/engine/trial_command.h"

namespace yard {
namespace {

constexpr std::string_view kVariable = "${envvar:";
constexpr std::string_view kOwn[] = {"${env}", "${interpreter}", "${program}"};

std::optional<std::string> Variable(const std::vector<std::string>& environment,
                                    std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

// Returns true for "${word}" in lower-case letters, the form of macros; shell variables are
// upper-case.
bool LooksLikeMacro(std::string_view word) {
  return word.size() > 3 && word.starts_with("${") && word.ends_with('}') &&
         word.substr(2, word.size() - 3).find_first_not_of("abcdefghijklmnopqrstuvwxyz_") ==
             std::string_view::npos;
}

std::vector<std::string_view> AllMacros() {
  std::vector<std::string_view> all = tuning::ConfigMacros();
  all.insert(all.end(), std::begin(kOwn), std::end(kOwn));
  return all;
}

class Reader {
 public:
  Reader(const std::string& program, const std::string& interpreter,
         const std::vector<std::string>& environment)
      : program_(program), interpreter_(interpreter), environment_(environment) {}

  SweepCommand Read(const std::vector<std::string>& words) {
    for (const std::string& word : words) result_.words.push_back(Meant(word));
    return std::move(result_);
  }

 private:
  std::string Meant(const std::string& word) {
    if (word == "${env}") return "/usr/bin/env";
    if (word == "${interpreter}") return interpreter_;
    if (word == "${program}") {
      if (program_.empty())
        result_.problems.push_back("${program} stands for nothing: there is no program");
      return program_;
    }
    if (tuning::HasConfigMacro({word})) return word;
    const std::string filled = WithVariables(word);
    if (LooksLikeMacro(filled)) {
      const std::string nearest(runtime::NearestWord(filled, AllMacros()));
      result_.problems.push_back(
          absl::StrCat("there is no macro ", runtime::Printable(filled),
                       nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
    }
    for (const std::string_view macro : AllMacros()) {
      if (filled.find(macro) == std::string::npos) continue;
      result_.notices.push_back(absl::StrCat(std::string(macro), " stays as it is in \"",
                                             runtime::Printable(filled),
                                             "\": a macro is a whole word"));
    }
    return filled;
  }

  std::string WithVariables(const std::string& word) {
    std::string filled;
    std::size_t at = 0;
    for (;;) {
      const std::size_t begin = word.find(kVariable, at);
      const std::size_t end = word.find('}', begin);
      if (begin == std::string::npos || end == std::string::npos) return filled + word.substr(at);
      const std::string name =
          word.substr(begin + kVariable.size(), end - begin - kVariable.size());
      filled += word.substr(at, begin - at);
      const auto value = Variable(environment_, name);
      if (!value) {
        result_.problems.push_back(absl::StrCat("the environment has no ", runtime::Printable(name),
                                                ", which \"", runtime::Printable(word),
                                                "\" stands for"));
      }
      filled += value.value_or("");
      at = end + 1;
    }
  }

  const std::string& program_;
  const std::string& interpreter_;
  const std::vector<std::string>& environment_;
  SweepCommand result_;
};

}  // namespace

std::vector<std::string> DefaultSweepCommand() {
  return {"${env}", "${interpreter}", "${program}", "${args}"};
}

SweepCommand ReadSweepCommand(const std::vector<std::string>& words, const std::string& program,
                              const std::string& interpreter,
                              const std::vector<std::string>& environment) {
  return Reader(program, interpreter, environment).Read(words);
}

std::string Interpreter(const std::vector<std::string>& environment) {
  const std::string path = Variable(environment, "PATH").value_or("/usr/bin:/bin");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string directory = path.substr(at, end - at);
    if (!directory.empty() && access(absl::StrCat(directory, "/python").c_str(), X_OK) == 0) {
      return "python";
    }
    at = end + 1;
  }
  return "python3";
}

}  // namespace yard
