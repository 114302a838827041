#include "datamanager/find/directory_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"

namespace datamanager {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

absl::Status Error(const char* what, const std::string& path, int error) {
  const std::string message = absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR || error == ELOOP) return absl::NotFoundError(message);
  return absl::Status(absl::ErrnoToStatusCode(error), message);
}

std::int64_t Nanoseconds(const statx_timestamp& time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (time.tv_sec >= std::numeric_limits<std::int64_t>::max() / kSecond) {
    return std::numeric_limits<std::int64_t>::max();
  }
  if (time.tv_sec <= std::numeric_limits<std::int64_t>::min() / kSecond) {
    return std::numeric_limits<std::int64_t>::min();
  }
  return time.tv_sec * kSecond + time.tv_nsec;
}

FileStat::Type TypeOf(mode_t mode) {
  if (S_ISREG(mode)) return FileStat::Type::kRegular;
  return S_ISDIR(mode) ? FileStat::Type::kDirectory : FileStat::Type::kOther;
}

DirectorySource::Entry EntryOf(mode_t mode) {
  if (S_ISREG(mode)) return DirectorySource::Entry::kRegular;
  if (S_ISLNK(mode)) return DirectorySource::Entry::kLink;
  return S_ISDIR(mode) ? DirectorySource::Entry::kDirectory : DirectorySource::Entry::kOther;
}

// Determines an entry's type; some file systems do not include it in the listing.
DirectorySource::Entry EntryOf(DIR* directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return EntryOf(DTTOIF(entry.d_type));
  struct stat info;
  if (fstatat(dirfd(directory), entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return DirectorySource::Entry::kOther;
  }
  return EntryOf(info.st_mode);
}

class RealDirectorySource : public DirectorySource {
 public:
  RealDirectorySource() = default;
  // `directory` must be open at `path`, which ends in a slash.
  RealDirectorySource(std::string path, runtime::UniqueFd directory)
      : below_(std::move(path)), directory_(std::move(directory)) {}

  absl::StatusOr<FileStat> Stat(const std::string& path) override {
    struct statx info;
    const bool is_below = directory_.valid() && path.size() > below_.size() &&
                          path[below_.size()] != '/' && absl::StartsWith(path, below_);
    if (statx(is_below ? directory_.get() : AT_FDCWD, path.c_str() + (is_below ? below_.size() : 0),
              AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, &info) != 0) {
      return Error("look at", path, errno);
    }
    FileStat state;
    state.type = TypeOf(info.stx_mode);
    state.identity.device = makedev(info.stx_dev_major, info.stx_dev_minor);
    state.identity.inode = info.stx_ino;
    if ((info.stx_mask & STATX_BTIME) != 0) state.identity.born_ns = Nanoseconds(info.stx_btime);
    state.modified_ns = Nanoseconds(info.stx_mtime);
    state.changed_ns = Nanoseconds(info.stx_ctime);
    state.bytes = info.stx_size;
    return state;
  }

  std::unique_ptr<DirectorySource> Below(const std::string& directory) override {
    runtime::UniqueFd fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return nullptr;
    const bool has_slash = absl::EndsWith(directory, "/");
    return std::make_unique<RealDirectorySource>(has_slash ? directory : directory + "/",
                                                 std::move(fd));
  }

  absl::Status List(const std::string& path, const OnEntry& on_entry) override {
    const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
    if (directory == nullptr) return Error("list", path, errno);
    while (true) {
      errno = 0;
      const dirent* entry = readdir(directory.get());
      if (entry == nullptr) return errno == 0 ? absl::OkStatus() : Error("list", path, errno);
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") on_entry(name, EntryOf(directory.get(), *entry));
    }
  }

 private:
  const std::string below_;
  runtime::UniqueFd directory_;
};

}  // namespace

DirectorySource* DirectorySource::Real() {
  static auto* const source = new RealDirectorySource();
  return source;
}

}  // namespace datamanager
