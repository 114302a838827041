#include "runtime/file/sync_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"

namespace runtime {

absl::Status SyncDirectory(const std::string& path) {
  int fd = -1;
  do {
    fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  const UniqueFd directory(fd);
  if (!directory.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("opening ", path));
  while (fsync(directory.get()) != 0) {
    if (errno != EINTR) return absl::ErrnoToStatus(errno, absl::StrCat("syncing ", path));
  }
  return absl::OkStatus();
}

}  // namespace runtime
