#ifndef TOOLS_YARD_CLI_CALLERS_PATH_H_
#define TOOLS_YARD_CLI_CALLERS_PATH_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yard {

// Returns the path typed for `option`, resolved from the caller's directory: absolute, without ".",
// ".." or a trailing slash. Touches no file. Any thread.
//
// InvalidArgument if it begins with "~": a shell expands "~" only at the beginning of a word, so
// `--logdir=~/runs` arrives unexpanded and would name a directory "~". Job files refuse it too.
// (Ray Tune expands it.) Also InvalidArgument if it is no local path (runtime/file/local_path.h).
absl::StatusOr<std::string> CallersPath(std::string_view option, std::string_view path,
                                        std::string_view working_directory);

}  // namespace yard

#endif  // TOOLS_YARD_CLI_CALLERS_PATH_H_
