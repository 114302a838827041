#ifndef LAUNCHER_NODE_FILES_RUN_DIRECTORY_FILES_H_
#define LAUNCHER_NODE_FILES_RUN_DIRECTORY_FILES_H_

#include <sys/types.h>

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "launcher/node/words/file_words.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// Files below a run directory, of which nothing is reached through a symbolic link. All functions
// block for the disk; any thread.

// Opens what `path` (IsRunPath()) names below the run directory. Invalid, with errno: it is not
// there (ENOENT), or is reached through a link (ELOOP, ENOTDIR).
runtime::UniqueFd OpenInRun(const std::string& run_directory, const std::string& path, int flags,
                            mode_t mode = 0600);

// Reads all that is below the directory (or the file) `path`. NotFound if it is not there;
// InvalidArgument, with the path, for a symbolic link, a special file, a name that is too long and
// more than kMaxTreeFiles; Cancelled if `gives_up` becomes true.
absl::StatusOr<FileList> ReadTree(const std::string& run_directory, const std::string& path,
                                  const std::atomic<bool>& gives_up);

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_RUN_DIRECTORY_FILES_H_
