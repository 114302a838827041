#ifndef RUNTIME_PROCESS_SERVICE_FLAGS_H_
#define RUNTIME_PROCESS_SERVICE_FLAGS_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// The flags of a service, for its main(). With --check_flags among them nothing is started: the
// process only says whether the others are right.

// The line that --check_flags prints on stdout if the flags are right.
inline constexpr std::string_view kFlagsAreRight = "the flags are right";

// Parses the words of the command line into the flags. A flag that there is not, and a value that
// its flag does not take, ends the process with kExitUsage and one line, which names the nearest
// flag, or a value that it takes. --help prints `usage` and all flags with their defaults, and ends
// the process with kExitOk.
void ParseFlags(std::string_view program, std::string_view usage, int argc, char** argv);

// `checked` is what the program itself says of the values. The exit code, if the process is to end
// here: it was asked only to check, or they are wrong, which is said.
std::optional<int> EndAfterCheck(std::string_view program, const absl::Status& checked);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_SERVICE_FLAGS_H_
