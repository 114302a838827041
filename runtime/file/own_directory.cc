#include "runtime/file/own_directory.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace runtime {

absl::Status MakeOwnDirectory(const std::string& path, FileMode mode) {
  if (auto status = CheckOwnDirectory(path); !status.ok()) return status;
  if (auto status = MakeDirectories(path, mode); !status.ok()) return status;
  // Another process may have created it meanwhile.
  return CheckOwnDirectory(path);
}

absl::Status CheckOwnDirectory(const std::string& path) {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("examining ", path));
  }
  if (S_ISLNK(about.st_mode)) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " is a symbolic link, and what it leads to is not written: remove it"));
  }
  if (!S_ISDIR(about.st_mode)) {
    return absl::PermissionDeniedError(absl::StrCat(path, " is no directory: remove it"));
  }
  if (about.st_uid == geteuid()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(path, " belongs to user ", about.st_uid,
                                                  ", not to ", geteuid(),
                                                  ": choose another name or log directory"));
}

}  // namespace runtime
