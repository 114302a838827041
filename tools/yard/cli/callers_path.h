#ifndef TOOLS_YARD_CLI_CALLERS_PATH_H_
#define TOOLS_YARD_CLI_CALLERS_PATH_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yard {

// The path that was typed for `option`, as seen from the caller's directory: absolute, without "."
// and ".." and a slash at its end. Touches no file. Any thread.
//
// InvalidArgument: it begins with "~". A shell expands that only at the beginning of a word, so
// `--logdir=~/runs` brings it here, where it would be a directory of that name; a job file refuses
// it too. (Ray Tune expands it.) Or it is no path of this machine (runtime/file/local_path.h).
absl::StatusOr<std::string> CallersPath(std::string_view option, std::string_view path,
                                        std::string_view working_directory);

}  // namespace yard

#endif  // TOOLS_YARD_CLI_CALLERS_PATH_H_
