#include "datamanager/brief/run_parameters.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eventlog/hparams_content.h"
#include "nlohmann/json.hpp"
#include "runtime/text/shell_word.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

using nlohmann::json;

constexpr std::size_t kMostParameters = 1000;  // Limit of a command's parameters.
constexpr std::size_t kLongestValue = 1024;    // In bytes; a longer value stays in "command".
constexpr std::size_t kLongestCommand = 4096;  // In bytes; a longer "command" is cut.
constexpr std::size_t kMostBelow = 16;         // Limit of runs below the program's own.
constexpr std::size_t kMostLookedAt = 1000;    // Limit of examined names, including deeper ones.

bool IsName(std::string_view text) {
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
           c == '/';
  };
  if (text.empty() || text.size() > 200) return false;
  const bool begins = std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_';
  return begins && std::all_of(text.begin(), text.end(), is_of_name);
}

bool IsNumber(std::string_view text) {
  const json parsed = json::parse(text, nullptr, /*exceptions=*/false);
  return parsed.is_number();
}

bool IsPlain(std::string_view text) {
  return text.size() <= kLongestValue && text.find_first_of(" \t\r\n;") == text.npos;
}

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Converts a word: numbers and truth values to themselves, any other word to a string.
json ValueOf(const std::string& word) {
  json parsed = json::parse(word, nullptr, /*exceptions=*/false);
  return parsed.is_number() || parsed.is_boolean() ? parsed : json(word);
}

class Command {
 public:
  void Read(std::span<const std::string> argv) {
    for (std::size_t i = 0; i < argv.size(); ++i) {
      if (i > 0 && argv[i] == "--") {
        for (; i < argv.size(); ++i) Keep(argv[i]);
        return;
      }
      const std::string* const next = i + 1 < argv.size() ? &argv[i + 1] : nullptr;
      bool took_next = false;
      if (i == 0 || !Take(argv[i], next, &took_next)) Keep(argv[i]);
      if (took_next) ++i;
    }
  }

  RunConfig Parameters(const std::string& commit) && {
    std::map<std::string, std::string> values;
    if (!command_.empty()) values["command"] = Dump(command_);
    if (!commit.empty()) values["commit"] = Dump(commit);
    for (const auto& [name, all] : values_) {
      values[name] = Dump(all.size() == 1 ? all.front() : json(all));
    }
    return RunConfig::Of(values);
  }

 private:
  // Returns false if the word is not part of a parameter.
  bool Take(const std::string& word, const std::string* next, bool* took_next) {
    const bool is_flag = word.starts_with("--");
    const std::size_t equals = word.find('=');
    std::string name =
        word.substr(is_flag ? 2 : 0, equals == word.npos ? equals : equals - (is_flag ? 2 : 0));
    if (!is_flag && equals == word.npos) return false;
    if (!IsName(name) || values_.size() == kMostParameters) return false;
    if (is_flag) std::replace(name.begin(), name.end(), '-', '_');
    if (equals != word.npos) {
      const std::string value = word.substr(equals + 1);
      // (Without dashes it may be part of a shell command.)
      if (value.size() > kLongestValue || (!is_flag && !IsPlain(value))) return false;
      values_[name].push_back(ValueOf(value));
      return true;
    }
    *took_next = next != nullptr && next->size() <= kLongestValue &&
                 (!next->starts_with('-') || IsNumber(*next));
    values_[name].push_back(*took_next ? ValueOf(*next) : json(true));
    return true;
  }

  void Keep(const std::string& word) {
    if (command_.size() > kLongestCommand) return;
    absl::StrAppend(&command_, command_.empty() ? "" : " ", runtime::ShellWord(word));
    if (command_.size() > kLongestCommand) command_ = command_.substr(0, kLongestCommand) + "...";
  }

  std::string command_;
  std::map<std::string, std::vector<json>> values_;
};

}  // namespace

RunConfig CommandParameters(std::span<const std::string> argv, const std::string& commit) {
  Command command;
  command.Read(argv);
  return std::move(command).Parameters(commit);
}

RunConfig LineageParameters(std::string_view train_lineage) {
  std::map<std::string, std::string> values;
  const json parsed = json::parse(train_lineage, nullptr, /*exceptions=*/false);
  const auto found = parsed.is_object() ? parsed.find("hyper_parameters") : parsed.end();
  if (found == parsed.end() || !found->is_object()) return {};
  for (const auto& member : found->items()) values[member.key()] = Dump(member.value());
  return RunConfig::Of(values);
}

RunConfig PluginParameters(std::string_view session_start) {
  const auto start = eventlog::ReadHParamsContent(session_start);
  if (!start.ok() || start->kind != eventlog::HParamsContent::Kind::kSessionStart) return {};
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : start->hparams) values[runtime::LossyUtf8(name)] = value;
  return RunConfig::Of(values);
}

std::vector<ConfigFacts> MergeParameters(std::span<const std::span<const ConfigFacts>> sources) {
  std::vector<ConfigFacts> all;
  for (const auto& source : sources) all.insert(all.end(), source.begin(), source.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const ConfigFacts& a, const ConfigFacts& b) { return a.name < b.name; });
  all.erase(
      std::unique(all.begin(), all.end(),
                  [](const ConfigFacts& a, const ConfigFacts& b) { return a.name == b.name; }),
      all.end());
  return all;
}

std::string ParameterAsJson(const ConfigFacts& parameter) {
  const std::string text(parameter.text);
  if (!parameter.is_text) return text;
  return Dump(json(text));
}

std::vector<std::string> RunsBelow(std::span<const std::string> names, std::string_view run) {
  std::vector<std::string> below;
  if (run == ".") return below;  // Every run is below it.
  const std::string begin = std::string(run) + "/";
  auto name = std::lower_bound(names.begin(), names.end(), begin);
  std::size_t looked_at = 0;
  for (; name != names.end() && name->starts_with(begin); ++name) {
    if (++looked_at > kMostLookedAt || below.size() > kMostBelow) return {};
    if (name->find('/', begin.size()) == name->npos) below.push_back(*name);
  }
  return below.size() > kMostBelow ? std::vector<std::string>() : below;
}

}  // namespace datamanager
