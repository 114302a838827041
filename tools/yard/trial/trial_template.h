#ifndef TOOLS_YARD_TRIAL_TRIAL_TEMPLATE_H_
#define TOOLS_YARD_TRIAL_TRIAL_TEMPLATE_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/yard/trial/trial_expansion.h"

namespace yard {

// Words that differ from trial to trial: "--lr={lr}". Pure.

// Names that can stand between braces, and their values: each value of the configuration, those of
// nested objects under names joined by "/"; strings as their characters, numbers of the grid as
// they were typed, other values as JSON. `index` counts the command's trials from 0, unless the
// configuration has one.
std::map<std::string, std::string> TemplateValues(const ExpandedTrial& trial, std::size_t index);

// `text` with each {NAME} replaced. NAME is letters, digits and any of _-./; other braces stay as
// they are ("{}", "{ x }", "{\"a\":1}"). {{NAME}} is {NAME}, and "{{" a brace. InvalidArgument: an
// unknown NAME; the message has those there are.
absl::StatusOr<std::string> FillTemplate(std::string_view text,
                                         const std::map<std::string, std::string>& values);
// The same of the names that there are: all other braces stay.
std::string FillKnown(std::string_view text, const std::map<std::string, std::string>& values);

// The parts that differ between the trials of a command.
struct TrialDraft {
  std::string name;  // Empty: its id.
  std::vector<std::string> argv;
  std::string config;  // JSON.
  std::string logdir;
};

// One for each configuration, all as `pattern` with its templates filled in. InvalidArgument also
// if two have the same name, or one has a name that no run can have: before any of them is started.
absl::StatusOr<std::vector<TrialDraft>> DraftTrials(const TrialDraft& pattern,
                                                    const std::vector<ExpandedTrial>& trials);
// The only one of its command: filled in is what its configuration (a JSON object, or empty) has.
// A word of a program alone may have braces for a shell of its own, so all others stay.
// InvalidArgument: --config is none.
absl::StatusOr<TrialDraft> DraftTrial(const TrialDraft& pattern);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_TEMPLATE_H_
