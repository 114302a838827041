#include "runtime/file/trash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "runtime/file/own_directory.h"
#include "runtime/file/sync_directory.h"

namespace runtime {
namespace {

constexpr int kSameNames = 1000;

std::string TrashOf(const std::string& directory) {
  return directory.substr(0, directory.rfind('/')) + "/.trash";
}

// The place, once both directories say so on the disk too.
absl::StatusOr<std::string> Moved(const std::string& trash, std::string place) {
  for (const std::string& changed : {trash, trash.substr(0, trash.rfind('/'))}) {
    const absl::Status synced = SyncDirectory(changed.empty() ? "/" : changed);
    // (A file system may not know how to.)
    if (!synced.ok() && !absl::IsInvalidArgument(synced)) return synced;
  }
  return place;
}

std::string Place(const std::string& trash, const std::string& name, int number) {
  return number == 1 ? absl::StrCat(trash, "/", name) : absl::StrCat(trash, "/", name, ".", number);
}

}  // namespace

absl::StatusOr<std::string> MoveToTrash(const std::string& directory, const std::string& name) {
  const std::string trash = TrashOf(directory);
  if (auto status = MakeOwnDirectory(trash, 0700); !status.ok()) return status;
  for (int number = 1; number <= kSameNames; ++number) {
    const std::string place = Place(trash, name, number);
    if (renameat2(AT_FDCWD, directory.c_str(), AT_FDCWD, place.c_str(), RENAME_NOREPLACE) == 0) {
      return Moved(trash, place);
    }
    if (errno == EINVAL || errno == ENOSYS) {  // A file system without it.
      if (access(place.c_str(), F_OK) == 0) continue;
      if (rename(directory.c_str(), place.c_str()) == 0) return Moved(trash, place);
    }
    if (errno == ENOENT) return Moved(trash, PlaceInTrash(directory, name));
    if (errno == EEXIST || errno == ENOTEMPTY) continue;
    return absl::InternalError(
        absl::StrCat("cannot move ", directory, " to ", place, ": ", strerror(errno)));
  }
  return absl::InternalError(absl::StrCat("cannot move ", directory, " to ", trash, ": ",
                                          kSameNames, " are called ", name, " there: empty it"));
}

std::string PlaceInTrash(const std::string& directory, const std::string& name) {
  const std::string trash = TrashOf(directory);
  std::string last;
  for (int number = 1; number <= kSameNames; ++number) {
    const std::string place = Place(trash, name, number);
    if (access(place.c_str(), F_OK) != 0) break;
    last = place;
  }
  return last;
}

}  // namespace runtime
