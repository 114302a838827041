#ifndef RUNTIME_FILE_SYNC_DIRECTORY_H_
#define RUNTIME_FILE_SYNC_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"

namespace runtime {

// Waits until the names in a directory are on the disk: what was made, renamed or removed there is
// so after a loss of power. Errors: those of open() and fsync(), with the path.
absl::Status SyncDirectory(const std::string& path);

}  // namespace runtime

#endif  // RUNTIME_FILE_SYNC_DIRECTORY_H_
