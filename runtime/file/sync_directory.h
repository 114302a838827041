#ifndef RUNTIME_FILE_SYNC_DIRECTORY_H_
#define RUNTIME_FILE_SYNC_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"

namespace runtime {

// Waits until the directory's entries are on the disk, so that files created, renamed or removed in
// it stay so after a power failure. Errors: those of open() and fsync(), with the path.
absl::Status SyncDirectory(const std::string& path);

}  // namespace runtime

#endif  // RUNTIME_FILE_SYNC_DIRECTORY_H_
