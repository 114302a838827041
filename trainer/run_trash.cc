#include "trainer/run_trash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "runtime/file.h"

namespace trainer {
namespace {

constexpr int kSameNames = 1000;

std::string TrashOf(const std::string& run_directory) {
  return run_directory.substr(0, run_directory.rfind('/')) + "/.trash";
}

std::string Place(const std::string& trash, const std::string& id, int number) {
  return number == 1 ? absl::StrCat(trash, "/", id) : absl::StrCat(trash, "/", id, ".", number);
}

}  // namespace

absl::StatusOr<std::string> MoveToTrash(const std::string& run_directory, const std::string& id) {
  const std::string trash = TrashOf(run_directory);
  if (auto status = runtime::MakeDirectories(trash, 0700); !status.ok()) return status;
  for (int number = 1; number <= kSameNames; ++number) {
    const std::string place = Place(trash, id, number);
    if (renameat2(AT_FDCWD, run_directory.c_str(), AT_FDCWD, place.c_str(), RENAME_NOREPLACE) ==
        0) {
      return place;
    }
    if (errno == EINVAL || errno == ENOSYS) {  // A file system without it.
      if (access(place.c_str(), F_OK) == 0) continue;
      if (rename(run_directory.c_str(), place.c_str()) == 0) return place;
    }
    if (errno == ENOENT) return PlaceInTrash(run_directory, id);
    if (errno == EEXIST || errno == ENOTEMPTY) continue;
    return absl::InternalError(
        absl::StrCat("cannot move ", run_directory, " to ", place, ": ", strerror(errno)));
  }
  return absl::InternalError(absl::StrCat("cannot move ", run_directory, " to ", trash, ": ",
                                          kSameNames, " are called ", id, " there: empty it"));
}

std::string PlaceInTrash(const std::string& run_directory, const std::string& id) {
  const std::string trash = TrashOf(run_directory);
  std::string last;
  for (int number = 1; number <= kSameNames; ++number) {
    const std::string place = Place(trash, id, number);
    if (access(place.c_str(), F_OK) != 0) break;
    last = place;
  }
  return last;
}

}  // namespace trainer
