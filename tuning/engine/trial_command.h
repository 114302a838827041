#ifndef TUNING_ENGINE_TRIAL_COMMAND_H_
#define TUNING_ENGINE_TRIAL_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tuning/space/config.h"

namespace tuning {

struct TrialCommandOptions {
  // Values are spelled as Python's str() does: True, False, None, ['a', 1]. Else as JSON, texts
  // without their quotes.
  bool python_args = false;
  // The file that `${args_json_file}` stands for: it holds the configuration as a JSON object.
  std::string config_file = {};
};

// The command of a trial: `words` with the macros of W&B's sweep files replaced. A macro is a whole
// word, and stands for the parameters in the order of `config`:
//   ${args}                   --lr=0.1 --flip=true
//   ${args_no_equals}         --lr 0.1 --flip true
//   ${args_no_hyphens}        lr=0.1 flip=true
//   ${args_no_boolean_flags}  --lr=0.1 --flip (nothing for false)
//   ${args_append_hydra}      +lr=0.1 +flip=true
//   ${args_override_hydra}    ++lr=0.1 ++flip=true
//   ${args_json}              {"lr":0.1,"flip":true}, one word
//   ${args_json_file}         TrialCommandOptions::config_file
// In other words {NAME} is that parameter's value, and {{NAME}} is {NAME}, as in the words of `yard
// run`; braces around anything else stay. InvalidArgument names the parameter whose value cannot be
// in a command (it is no JSON, or has a NUL), or the macro that has no file.
absl::StatusOr<std::vector<std::string>> TrialCommand(const std::vector<std::string>& words,
                                                      const Config& config,
                                                      const TrialCommandOptions& options);

// The macros above.
const std::vector<std::string_view>& ConfigMacros();
// Whether one of `words` is a macro of them.
bool HasConfigMacro(const std::vector<std::string>& words);

}  // namespace tuning

#endif  // TUNING_ENGINE_TRIAL_COMMAND_H_
