#include "tools/yard/trial/trial_expansion.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

constexpr int kMaxDepth = 32;

struct Axis {
  std::string name;
  std::vector<TrialConfig> values;
  std::vector<std::string> words;  // As typed.
};

// Calls `visit` for each character outside of strings, with the depth of the brackets around it.
// Returns false as soon as `visit` does.
template <typename Visit>
bool Scan(std::string_view text, Visit visit) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (!visit(i, c, depth)) return false;
  }
  return true;
}

// The JSON library writes recursively, so deep values are refused.
bool IsTooDeep(std::string_view text) {
  return !Scan(text, [](std::size_t, char, int depth) { return depth <= kMaxDepth; });
}

// Splits at commas that are not inside a value.
std::vector<std::string_view> SplitValues(std::string_view text) {
  std::vector<std::string_view> values;
  std::size_t begin = 0;
  Scan(text, [&](std::size_t i, char c, int depth) {
    if (c == ',' && depth == 0) {
      values.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
    return true;
  });
  values.push_back(text.substr(begin));
  return values;
}

absl::Status GridError(std::string_view flag, std::string_view problem) {
  return absl::InvalidArgumentError(
      absl::StrCat("--grid ", runtime::Printable(std::string(flag)), ": ", runtime::Absl(problem)));
}

// Returns a decimal number in a form that JSON lacks: ".5", "1.", "+2". Not 007, which may be a
// name.
std::optional<TrialConfig> LooseNumber(std::string_view word) {
  std::string_view digits = word;
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) digits.remove_prefix(1);
  const bool is_decimal = !digits.empty() &&
                          digits.find_first_not_of("0123456789.eE+-") == digits.npos &&
                          (digits.size() < 2 || digits[0] != '0' || digits[1] == '.');
  double number = 0;
  if (!is_decimal || !absl::SimpleAtod(runtime::Absl(word), &number) || !std::isfinite(number)) {
    return std::nullopt;
  }
  std::int64_t whole = 0;
  if (absl::SimpleAtoi(runtime::Absl(word), &whole)) return TrialConfig(whole);
  return TrialConfig(number);
}

absl::StatusOr<Axis> ParseAxis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos) return GridError(text, "expected NAME=V1,V2,...");
  Axis axis;
  axis.name = text.substr(0, equals);
  for (const std::string_view word : SplitValues(std::string_view(text).substr(equals + 1))) {
    if (word.empty()) return GridError(text, "a value is empty (\"\" is the empty string)");
    if (IsTooDeep(word)) return GridError(text, "a value has more than 32 levels");
    auto value = TrialConfig::parse(word, nullptr, /*allow_exceptions=*/false);
    const bool meant_as_json = word[0] == '[' || word[0] == '{' || word[0] == '"';
    if (value.is_discarded() && meant_as_json) {
      return GridError(text, absl::StrCat(runtime::Printable(std::string(word)), " is no JSON"));
    }
    if (value.is_discarded()) value = LooseNumber(word).value_or(std::string(word));
    axis.values.push_back(std::move(value));
    axis.words.emplace_back(word);
  }
  return axis;
}

absl::StatusOr<std::vector<TrialConfig>> ParseLines(std::string_view text,
                                                    const std::string& name) {
  std::vector<TrialConfig> configs;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    auto config = ParseConfig(line);
    if (!config.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(runtime::Printable(name), " line ", number,
                                                     ": ", config.status().message()));
    }
    configs.push_back(*std::move(config));
    if (configs.size() > kMaxTrialsOfCommand) break;
  }
  if (configs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(runtime::Printable(name), " holds no configuration"));
  }
  return configs;
}

absl::Status CheckCount(std::size_t count) {
  if (count <= kMaxTrialsOfCommand) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("these are more than ", kMaxTrialsOfCommand,
                                                 " trials: start them with several commands"));
}

}  // namespace

absl::StatusOr<TrialConfig> ParseConfig(std::string_view text) {
  if (text.size() > kMaxConfig) {
    return absl::InvalidArgumentError(
        absl::StrCat("a configuration has ", text.size(), " bytes, more than ", kMaxConfig));
  }
  if (IsTooDeep(text)) {
    return absl::InvalidArgumentError("a configuration has more than 32 levels");
  }
  try {
    auto config = TrialConfig::parse(text);
    if (config.is_object()) return config;
    return absl::InvalidArgumentError("expected a JSON object, like {\"lr\": 0.1, \"layers\": 3}");
  } catch (const TrialConfig::parse_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a JSON object: wrong at byte ", error.byte));
  } catch (const TrialConfig::exception&) {
    return absl::InvalidArgumentError("expected a JSON object: a number is out of range");
  }
}

absl::StatusOr<std::vector<ExpandedTrial>> ExpandTrials(const TrialExpansion& expansion) {
  TrialConfig base = TrialConfig::object();
  if (!expansion.config.empty()) {
    auto config = ParseConfig(expansion.config);
    if (!config.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--config: ", config.status().message()));
    }
    base = *std::move(config);
  }
  std::vector<ExpandedTrial> trials = {{.config = base}};
  if (expansion.lines.has_value()) {
    auto lines = ParseLines(*expansion.lines, expansion.lines_name);
    if (!lines.ok()) return lines.status();
    trials.assign(lines->size(), {.config = base});
    for (std::size_t i = 0; i < trials.size(); ++i) trials[i].config.update((*lines)[i]);
  }
  if (auto status = CheckCount(trials.size()); !status.ok()) return status;
  std::set<std::string> names;
  for (const std::string& text : expansion.grid) {
    const auto axis = ParseAxis(text);
    if (!axis.ok()) return axis.status();
    if (!names.insert(axis->name).second) return GridError(text, "its name is there twice");
    if (auto status = CheckCount(trials.size() * axis->values.size()); !status.ok()) return status;
    std::vector<ExpandedTrial> combined;
    for (const ExpandedTrial& trial : trials) {
      for (std::size_t i = 0; i < axis->values.size(); ++i) {
        ExpandedTrial& next = combined.emplace_back(trial);
        next.config[axis->name] = axis->values[i];
        if (axis->values[i].is_number()) next.typed[axis->name] = axis->words[i];
      }
    }
    trials = std::move(combined);
  }
  return trials;
}

}  // namespace yard
