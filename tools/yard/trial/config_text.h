#ifndef TOOLS_YARD_TRIAL_CONFIG_TEXT_H_
#define TOOLS_YARD_TRIAL_CONFIG_TEXT_H_

#include <string>

#include "absl/status/statusor.h"

namespace yard {

// The JSON text that `--config` stands for: what was typed, if it begins with "{" or is empty, else
// what is in that file ("cfg.json", or "@cfg.json" as of curl), as seen from the caller's
// directory. InvalidArgument: it is neither. Reads the file.
absl::StatusOr<std::string> ConfigText(const std::string& typed,
                                       const std::string& working_directory);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_CONFIG_TEXT_H_
