#ifndef RUNTIME_PROCESS_SERVICE_FLAGS_H_
#define RUNTIME_PROCESS_SERVICE_FLAGS_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// Functions for a service's flags, called by its main(). With --check_flags the process starts
// nothing and only reports whether the other flags are valid.

// The line that --check_flags prints on stdout if the flags are valid.
inline constexpr std::string_view kFlagsAreRight = "the flags are right";

// Parses the command line into the flags. An unknown flag or an invalid value ends the process with
// kExitUsage and one line, which names the nearest flag or a valid value. --help prints `usage` and
// all flags with their defaults, and ends the process with kExitOk.
void ParseFlags(std::string_view program, std::string_view usage, int argc, char** argv);

// Returns the exit code if the process must end here: because the flags are invalid (prints why),
// or because of --check_flags. Returns null if it must continue. `checked` is the result of the
// program's own checks of the values.
std::optional<int> EndAfterCheck(std::string_view program, const absl::Status& checked);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_SERVICE_FLAGS_H_
