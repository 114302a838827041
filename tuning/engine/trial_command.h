#ifndef TUNING_ENGINE_TRIAL_COMMAND_H_
#define TUNING_ENGINE_TRIAL_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tuning/space/config.h"

namespace tuning {

struct TrialCommandOptions {
  // If true, values are spelled as Python's str() does: True, False, None, ['a', 1]. Otherwise as
  // JSON, with strings unquoted.
  bool python_args = false;
  // The file for `${args_json_file}`, which holds the configuration as a JSON object.
  std::string config_file = {};
};

// Returns a trial's command: `words` with the macros of W&B's sweep files replaced. A macro is a
// whole word and stands for the parameters in the order of `config`:
//   ${args}                   --lr=0.1 --flip=true
//   ${args_no_equals}         --lr 0.1 --flip true
//   ${args_no_hyphens}        lr=0.1 flip=true
//   ${args_no_boolean_flags}  --lr=0.1 --flip (nothing for false)
//   ${args_append_hydra}      +lr=0.1 +flip=true
//   ${args_override_hydra}    ++lr=0.1 ++flip=true
//   ${args_json}              {"lr":0.1,"flip":true}, one word
//   ${args_json_file}         TrialCommandOptions::config_file
// In other words {NAME} is replaced by the parameter's value, and {{NAME}} by {NAME}, as in the
// words of `yard run`; other braces stay. InvalidArgument names the parameter whose value cannot be
// in a command (it is not JSON, or contains a NUL), or the macro that lacks its file.
absl::StatusOr<std::vector<std::string>> TrialCommand(const std::vector<std::string>& words,
                                                      const Config& config,
                                                      const TrialCommandOptions& options);

// Returns the macros above.
const std::vector<std::string_view>& ConfigMacros();
// Returns true if one of `words` is such a macro.
bool HasConfigMacro(const std::vector<std::string>& words);

}  // namespace tuning

#endif  // TUNING_ENGINE_TRIAL_COMMAND_H_
