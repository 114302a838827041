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

// Words that differ between trials: "--lr={lr}". Pure.

// Returns the names that may stand in braces, with their values: each value of the configuration,
// with "/" between the names of nested objects. Strings are their characters, numbers of the grid
// as typed, other values JSON. `index` is the number of the trial in the command, from 0, and a
// name too, unless the configuration has it.
std::map<std::string, std::string> TemplateValues(const ExpandedTrial& trial, std::size_t index);

// Replaces each {NAME} in `text`. NAME consists of letters, digits and _-./; other braces stay
// unchanged ("{}", "{ x }", "{\"a\":1}"). {{NAME}} becomes {NAME}, and "{{" a brace.
// InvalidArgument for an unknown NAME lists the known ones.
absl::StatusOr<std::string> FillTemplate(std::string_view text,
                                         const std::map<std::string, std::string>& values);
// The same, but leaves unknown names unchanged.
std::string FillKnown(std::string_view text, const std::map<std::string, std::string>& values);

// The parts that differ between the trials of a command.
struct TrialDraft {
  std::string name;  // Empty for its id.
  std::vector<std::string> argv;
  std::string config;  // JSON.
  std::string logdir;
};

// Returns a draft for each configuration, from `pattern` with its templates filled in.
// InvalidArgument also if two drafts have the same name, or a name is invalid for a run: before any
// trial starts.
absl::StatusOr<std::vector<TrialDraft>> DraftTrials(const TrialDraft& pattern,
                                                    const std::vector<ExpandedTrial>& trials);
// Returns the draft of a single trial, with the names of its configuration (a JSON object, or
// empty) filled in. Other braces stay, because a program's words may be meant for a shell.
// InvalidArgument if --config is not a JSON object.
absl::StatusOr<TrialDraft> DraftTrial(const TrialDraft& pattern);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_TEMPLATE_H_
