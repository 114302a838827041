#include "runtime/process/service_flags.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "runtime/process/exit_code.h"
#include "runtime/text/flag_words.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

ABSL_FLAG(bool, check_flags, false, "Only says whether the other flags are right.");

namespace runtime {
namespace {

// A word "--name=value", "--name" (its value is the next word), or "--noname".
struct Word {
  std::string_view name;
  std::optional<std::string_view> value;
};

Word Split(std::string_view word) {
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {word, std::nullopt};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

absl::Status UnknownFlag(std::string_view name) {
  std::vector<std::string_view> names;
  const auto flags = absl::GetAllFlags();
  for (const auto& [known, flag] : flags) names.push_back(Std(known));
  const std::string_view nearest = NearestWord(name, names);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no flag --", Printable(name),
                   nearest.empty() ? "; --help lists them"
                                   : absl::StrCat("; did you mean --", Absl(nearest), "?")));
}

// Checks a value by setting the flag.
absl::Status CheckValue(absl::CommandLineFlag& flag, std::string_view value) {
  std::string error;  // (It contains no details.)
  if (flag.ParseFrom(Absl(value), &error)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--", flag.Name(), " does not take \"", Printable(value), "\", but what is like ",
      flag.IsOfType<bool>() ? "true or false" : flag.DefaultValue()));
}

absl::Status CheckWords(const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i].size() < 2 || words[i][0] != '-') continue;
    const Word word = Split(words[i]);
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(Absl(word.name));
    if (flag == nullptr && word.name.starts_with("no") && !word.value) {
      flag = absl::FindCommandLineFlag(Absl(word.name.substr(2)));
      if (flag != nullptr && flag->IsOfType<bool>()) continue;
      flag = nullptr;
    }
    if (flag == nullptr) return UnknownFlag(word.name);
    if (!word.value && flag->IsOfType<bool>()) continue;
    if (!word.value && ++i == words.size()) {
      return absl::InvalidArgumentError(absl::StrCat("--", flag->Name(), " has no value"));
    }
    if (absl::Status good = CheckValue(*flag, word.value.value_or(words[i])); !good.ok()) {
      return good;
    }
  }
  return absl::OkStatus();
}

bool AsksForHelp(const std::vector<std::string_view>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, "--help") != end;
}

void PrintHelp(std::string_view program, std::string_view usage) {
  std::map<std::string_view, const absl::CommandLineFlag*> sorted;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    const bool is_of_the_library = flag->Filename().find("absl/") != std::string::npos;
    if (!is_of_the_library) sorted[Std(name)] = flag;
  }
  std::string text = absl::StrCat(Absl(program), ": ", Absl(usage), "\n\n");
  for (const auto& [name, flag] : sorted) {
    const std::string value = flag->DefaultValue();
    absl::StrAppend(&text, "  --", Absl(name), value.empty() ? "" : "=", value, "\n      ",
                    flag->Help(), "\n");
  }
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void ParseFlags(std::string_view program, std::string_view usage, int argc, char** argv) {
  [[maybe_unused]] static const bool once = (absl::SetProgramUsageMessage(Absl(usage)), true);
  TakeHyphens(argc, argv);
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (AsksForHelp(words)) {
    PrintHelp(program, usage);
    std::exit(kExitOk);
  }
  const absl::Status good = CheckWords(words);
  if (!good.ok()) std::exit(ReportAndExitCode(program, good));
  absl::ParseCommandLine(argc, argv);
}

std::optional<int> EndAfterCheck(std::string_view program, const absl::Status& checked) {
  if (!checked.ok()) return ReportAndExitCode(program, checked);
  if (!absl::GetFlag(FLAGS_check_flags)) return std::nullopt;
  std::printf("%s: %s\n", std::string(program).c_str(), std::string(kFlagsAreRight).c_str());
  return kExitOk;
}

}  // namespace runtime
