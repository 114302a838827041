#include "tools/yard/trial/trial_template.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"

namespace yard {
namespace {

constexpr std::size_t kNamesShown = 20;
constexpr std::size_t kLongestName = 200;

bool IsOfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

// Returns the name at the beginning of `text` if `end` follows it; otherwise empty.
std::string_view NameBefore(std::string_view text, std::string_view end) {
  std::size_t size = 0;
  while (size < text.size() && IsOfName(text[size])) ++size;
  return text.substr(size, end.size()) == end ? text.substr(0, size) : std::string_view();
}

void AddValues(const std::string& prefix, const TrialConfig& config,
               std::map<std::string, std::string>& values) {
  for (const auto& [key, value] : config.items()) {
    const std::string name = prefix + key;
    if (value.is_object()) AddValues(name + "/", value, values);
    values[name] = value.is_string()
                       ? value.get<std::string>()
                       : value.dump(-1, ' ', false, TrialConfig::error_handler_t::replace);
  }
}

absl::Status Unknown(std::string_view name, const std::map<std::string, std::string>& values) {
  std::string known;
  std::size_t count = 0;
  for (const auto& [there, value] : values) {
    if (++count > kNamesShown) break;
    absl::StrAppend(&known, known.empty() ? "" : ", ", runtime::Printable(there));
  }
  if (values.size() > kNamesShown) absl::StrAppend(&known, ", ...");
  const std::string word(name);
  return absl::InvalidArgumentError(absl::StrCat("nothing is called {", word, "}; there is ", known,
                                                 " (write {{", word, "}} for the word itself)"));
}

// The trainer's rules, checked before the first trial starts.
absl::Status CheckName(const std::string& name) {
  if (name.size() > kLongestName) {
    return absl::InvalidArgumentError(
        absl::StrCat("--name: a trial would be called \"", runtime::Printable(name.substr(0, 40)),
                     "...\", which has ", name.size(), " bytes, more than ", kLongestName));
  }
  const bool has_control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  const bool is_good = !name.empty() && name[0] != '.' && name[0] != '-' &&
                       name.find('/') == name.npos && !has_control;
  if (is_good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--name: a trial would be called \"", runtime::Printable(name),
                   "\": a name has no slash, no control character and neither . nor - in front"));
}

}  // namespace

std::map<std::string, std::string> TemplateValues(const ExpandedTrial& trial, std::size_t index) {
  std::map<std::string, std::string> values = {{"index", absl::StrCat(index)}};
  AddValues("", trial.config, values);
  for (const auto& [name, word] : trial.typed) values[name] = word;
  return values;
}

std::string FillKnown(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_quoted = text.substr(at, 2) == "{{";
    const std::size_t begin = at + (is_quoted ? 2 : 1);
    const std::string name(text[at] != '{'
                               ? std::string_view()
                               : NameBefore(text.substr(begin), is_quoted ? "}}" : "}"));
    const auto value = values.find(name);
    if (name.empty() || value == values.end()) {
      filled += text[at++];
      continue;
    }
    filled += is_quoted ? absl::StrCat("{", name, "}") : value->second;
    at = begin + name.size() + (is_quoted ? 2 : 1);
  }
  return filled;
}

absl::StatusOr<TrialDraft> DraftTrial(const TrialDraft& pattern) {
  if (pattern.config.empty()) return pattern;
  const auto config = ParseConfig(pattern.config);
  if (!config.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--config: ", config.status().message()));
  }
  std::map<std::string, std::string> values;
  AddValues("", *config, values);
  TrialDraft draft = pattern;
  for (std::string& word : draft.argv) word = FillKnown(word, values);
  draft.name = FillKnown(pattern.name, values);
  draft.logdir = FillKnown(pattern.logdir, values);
  return draft;
}

absl::StatusOr<std::string> FillTemplate(std::string_view text,
                                         const std::map<std::string, std::string>& values) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t brace = std::min(text.find('{'), text.size());
    filled += text.substr(0, brace);
    text.remove_prefix(brace);
    if (text.substr(0, 2) == "{{") {
      const std::string_view quoted = NameBefore(text.substr(2), "}}");
      filled += '{';
      filled += quoted;
      if (!quoted.empty()) filled += '}';
      text.remove_prefix(quoted.empty() ? 2 : quoted.size() + 4);
      continue;
    }
    if (text.empty()) break;
    const std::string_view name = NameBefore(text.substr(1), "}");
    if (name.empty()) {
      filled += '{';
      text.remove_prefix(1);
      continue;
    }
    const auto value = values.find(std::string(name));
    if (value == values.end()) return Unknown(name, values);
    filled += value->second;
    text.remove_prefix(name.size() + 2);
  }
  return filled;
}

absl::StatusOr<std::vector<TrialDraft>> DraftTrials(const TrialDraft& pattern,
                                                    const std::vector<ExpandedTrial>& trials) {
  std::vector<TrialDraft> drafts;
  std::set<std::string> runs;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto values = TemplateValues(trials[i], i);
    TrialDraft draft;
    draft.config = trials[i].config.dump(-1, ' ', false, TrialConfig::error_handler_t::replace);
    for (const std::string& word : pattern.argv) {
      auto filled = FillTemplate(word, values);
      if (!filled.ok()) return filled.status();
      draft.argv.push_back(*std::move(filled));
    }
    auto name = FillTemplate(pattern.name, values);
    if (!name.ok()) return name.status();
    auto logdir = FillTemplate(pattern.logdir, values);
    if (!logdir.ok()) return logdir.status();
    draft.name = *std::move(name);
    draft.logdir = *std::move(logdir);
    if (!pattern.name.empty()) {
      if (auto status = CheckName(draft.name); !status.ok()) return status;
      if (!runs.insert(absl::StrCat(draft.logdir, "/", draft.name)).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("--name: two trials would be called ", runtime::Printable(draft.name),
                         "; put a {NAME} of the configuration into it, or {index}"));
      }
    }
    drafts.push_back(std::move(draft));
  }
  return drafts;
}

}  // namespace yard
