#ifndef LAUNCHER_NODE_FILES_RUN_DIRECTORY_FILES_H_
#define LAUNCHER_NODE_FILES_RUN_DIRECTORY_FILES_H_

#include <sys/types.h>

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "launcher/node/words/file_words.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// Access to files below a run directory that never follows a symbolic link. All functions block on
// the disk; any thread may call them.

// Opens `path` (IsRunPath()) below the run directory. Returns an invalid descriptor, with errno
// set, on failure: ENOENT if it does not exist, ELOOP or ENOTDIR if the path contains a link.
runtime::UniqueFd OpenInRun(const std::string& run_directory, const std::string& path, int flags,
                            mode_t mode = 0600);

// Lists and hashes everything below the directory (or the file) `path`. NotFound if it does not
// exist; InvalidArgument, with the path, for a symbolic link, a special file, a name that is too
// long, or more than kMaxTreeFiles; Cancelled if `gives_up` becomes true.
absl::StatusOr<FileList> ReadTree(const std::string& run_directory, const std::string& path,
                                  const std::atomic<bool>& gives_up);

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_RUN_DIRECTORY_FILES_H_
