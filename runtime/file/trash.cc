#include "runtime/file/trash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/file/file.h"
#include "runtime/file/own_directory.h"
#include "runtime/file/sync_directory.h"

namespace runtime {
namespace {

using nlohmann::json;

constexpr int kSameNames = 1000;
constexpr char kFrom[] = ".from";
constexpr std::size_t kMostFrom = 16 << 10;  // Limit of such a file, in bytes.
constexpr std::size_t kMostEntries = 100'000;

std::string TrashOf(const std::string& root) { return root + "/.trash"; }

std::string ParentOf(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/'));
  return parent.empty() ? "/" : parent;
}

// Syncs the entries of both directories to the disk.
absl::Status SyncBoth(const std::string& one, const std::string& other) {
  for (const std::string& changed : {one, other}) {
    const absl::Status synced = SyncDirectory(changed);
    // (Some file systems do not support it.)
    if (!synced.ok() && !absl::IsInvalidArgument(synced) && !absl::IsNotFound(synced)) {
      return synced;
    }
  }
  return absl::OkStatus();
}

std::string Place(const std::string& trash, const std::string& name, int number) {
  return number == 1 ? absl::StrCat(trash, "/", name) : absl::StrCat(trash, "/", name, ".", number);
}

bool IsThere(const std::string& path) {
  struct stat stat {};
  return lstat(path.c_str(), &stat) == 0;
}

// Renames without replacing an existing file. Returns 0 or errno.
int MoveOverNothing(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // The file system does not support RENAME_NOREPLACE.
  if (IsThere(to)) return EEXIST;
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// Returns "group/first" for ROOT/group/first; empty if `directory` is not below the root.
std::string RelativeTo(const std::string& root, const std::string& directory) {
  if (!absl::StartsWith(directory, root + "/")) return "";
  return directory.substr(root.size() + 1);
}

// Written before the directory moves, so that every moved directory has it.
absl::Status WriteFrom(const std::string& place, const std::string& from, absl::Time now) {
  const json said = {{"from", from}, {"moved", absl::FormatTime(now, absl::UTCTimeZone())}};
  return WriteFileAtomically(absl::StrCat(place, kFrom),
                             said.dump(-1, ' ', false, json::error_handler_t::replace) + "\n",
                             0600);
}

// True for a path that can only lead below the root.
bool LeadsBelow(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string_view::npos) {
    return false;
  }
  const std::filesystem::path parts(path);
  return std::none_of(parts.begin(), parts.end(), [](const auto& part) {
    return part.empty() || part == "." || part == ".." || part == ".trash";
  });
}

TrashEntry EntryOf(const std::string& trash, const std::string& name, const struct stat& stat) {
  TrashEntry entry = {name, name, absl::TimeFromTimespec(stat.st_ctim)};
  const auto text = ReadFile(absl::StrCat(trash, "/", name, kFrom), kMostFrom);
  if (!text.ok()) return entry;
  const json said = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object()) return entry;
  const auto from = said.find("from");
  if (from != said.end() && from->is_string() && LeadsBelow(from->get_ref<const std::string&>())) {
    entry.from = from->get<std::string>();
  }
  const auto moved = said.find("moved");
  absl::Time time;
  std::string wrong;
  if (moved != said.end() && moved->is_string() &&
      absl::ParseTime(absl::RFC3339_full, moved->get_ref<const std::string&>(), &time, &wrong)) {
    entry.moved = time;
  }
  return entry;
}

bool IsEntryName(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

absl::StatusOr<std::string> MoveInto(const std::string& trash, const std::string& directory,
                                     const std::string& name, const std::string& from,
                                     absl::Time now) {
  if (auto status = MakeOwnDirectory(trash, 0700); !status.ok()) return status;
  for (int number = 1; number <= kSameNames; ++number) {
    const std::string place = Place(trash, name, number);
    if (IsThere(place)) continue;
    if (!IsThere(directory)) return std::string();
    if (auto status = WriteFrom(place, from, now); !status.ok()) {
      return absl::InternalError(
          absl::StrCat("cannot move ", directory, " to ", place, ": ", status.message()));
    }
    const int error = MoveOverNothing(directory, place);
    if (error == 0) {
      if (auto status = SyncBoth(trash, ParentOf(directory)); !status.ok()) return status;
      return place;
    }
    unlink(absl::StrCat(place, kFrom).c_str());
    if (error == ENOENT) return std::string();
    if (error == EEXIST || error == ENOTEMPTY) continue;
    const std::string why =
        absl::StrCat("cannot move ", directory, " to ", place, ": ", strerror(error));
    return error == EXDEV ? absl::OutOfRangeError(why) : absl::InternalError(why);
  }
  return absl::InternalError(absl::StrCat("cannot move ", directory, " to ", trash, ": ",
                                          kSameNames, " are called ", name, " there: empty it"));
}

}  // namespace

absl::StatusOr<std::string> MoveToTrash(const std::string& root, const std::string& directory,
                                        const std::string& name, absl::Time now) {
  const std::string from = RelativeTo(root, directory);
  const std::string own_root = from.empty() ? ParentOf(directory) : root;
  auto place = MoveInto(TrashOf(own_root), directory, name,
                        from.empty() ? directory.substr(directory.rfind('/') + 1) : from, now);
  if (absl::IsOutOfRange(place.status())) {  // Another file system.
    place = MoveInto(TrashOf(ParentOf(directory)), directory, name,
                     directory.substr(directory.rfind('/') + 1), now);
    if (absl::IsOutOfRange(place.status())) {
      return absl::InternalError(place.status().message());
    }
  }
  if (place.ok() && place->empty()) return PlaceInTrash(own_root, name);
  return place;
}

std::string PlaceInTrash(const std::string& root, const std::string& name) {
  const std::string trash = TrashOf(root);
  std::string last;
  for (int number = 1; number <= kSameNames; ++number) {
    const std::string place = Place(trash, name, number);
    if (!IsThere(place)) break;
    last = place;
  }
  return last;
}

absl::StatusOr<std::vector<TrashEntry>> ListTrash(const std::string& root) {
  const std::string trash = TrashOf(root);
  std::vector<TrashEntry> entries;
  if (!IsThere(trash)) return entries;
  if (auto status = CheckOwnDirectory(trash); !status.ok()) return status;
  std::error_code error;
  for (std::filesystem::directory_iterator at(trash, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    struct stat stat {};
    if (!IsEntryName(name) || lstat(at->path().c_str(), &stat) != 0) continue;
    // (A run whose directory was a link is a link in the trash, too.)
    if (!S_ISDIR(stat.st_mode) && !S_ISLNK(stat.st_mode)) continue;
    if (entries.size() == kMostEntries) break;
    entries.push_back(EntryOf(trash, name, stat));
  }
  if (error) {
    return absl::InternalError(absl::StrCat("cannot read ", trash, ": ", error.message()));
  }
  std::sort(entries.begin(), entries.end(), [](const TrashEntry& a, const TrashEntry& b) {
    return a.moved != b.moved ? a.moved > b.moved : a.name < b.name;
  });
  return entries;
}

absl::Status RestoreFromTrash(const std::string& root, const std::string& name,
                              const std::string& path) {
  const std::string trash = TrashOf(root), place = absl::StrCat(trash, "/", name);
  if (!IsEntryName(name) || !IsThere(place)) {
    return absl::NotFoundError(absl::StrCat("the trash ", trash, " has no ", name));
  }
  if (auto status = CheckOwnDirectory(trash); !status.ok()) return status;
  if (!LeadsBelow(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", path, "\" is no name of a run below ", root));
  }
  const std::string to = absl::StrCat(root, "/", path);
  if (auto status = MakeDirectories(ParentOf(to)); !status.ok()) return status;
  const int error = MoveOverNothing(place, to);
  if (error == EEXIST || error == ENOTEMPTY || error == ENOTDIR) {
    return absl::AlreadyExistsError(absl::StrCat("there is something at ", to, " already"));
  }
  if (error != 0) {
    return absl::InternalError(
        absl::StrCat("cannot move ", place, " to ", to, ": ", strerror(error)));
  }
  unlink(absl::StrCat(place, kFrom).c_str());
  return SyncBoth(trash, ParentOf(to));
}

absl::Status DeleteFromTrash(const std::string& root, const std::string& name) {
  const std::string trash = TrashOf(root), place = absl::StrCat(trash, "/", name);
  if (!IsEntryName(name)) {
    return absl::NotFoundError(absl::StrCat("the trash ", trash, " has no ", name));
  }
  if (auto status = CheckOwnDirectory(trash); !status.ok()) return status;
  std::error_code error;
  std::filesystem::remove_all(place, error);
  if (error) {
    return absl::InternalError(absl::StrCat("cannot delete ", place, ": ", error.message()));
  }
  unlink(absl::StrCat(place, kFrom).c_str());
  return absl::OkStatus();
}

}  // namespace runtime
