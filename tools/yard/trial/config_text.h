#ifndef TOOLS_YARD_TRIAL_CONFIG_TEXT_H_
#define TOOLS_YARD_TRIAL_CONFIG_TEXT_H_

#include <string>

#include "absl/status/statusor.h"

namespace yard {

// Returns the JSON text of `--config`: the typed text if it begins with "{" or is empty, else the
// content of that file ("cfg.json", or "@cfg.json" as in curl), found from the caller's directory.
// InvalidArgument if it is neither. Reads the file.
absl::StatusOr<std::string> ConfigText(const std::string& typed,
                                       const std::string& working_directory);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_CONFIG_TEXT_H_
