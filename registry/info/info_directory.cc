#include "registry/info/info_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <glog/logging.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/string_view.h"

// TensorBoard's reader opens every entry of the directory and fails on most entries that are not
// info files. Only complete info files are therefore ever put there: a file is written beside the
// directory, under a hidden name, and then renamed.

namespace registry {
namespace {

using runtime::UniqueFd;

constexpr char kName[] = "/.tensorboard-info";
// Starting a thread costs as much as reading some ten files.
constexpr std::size_t kEntriesPerThread = 128;
constexpr std::size_t kMaxThreads = 4;
constexpr std::size_t kBlock = 32;  // Number of entries that a thread takes at once.
constexpr mode_t kForEverybody = 0777;
constexpr int kReadFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

absl::Status Error(int error, const char* doing, const std::string& path) {
  return absl::ErrnoToStatus(error, absl::StrCat(doing, " ", path));
}

// Like os.path.abspath(): removes "." and ".." without asking the file system.
std::string Absolute(std::string_view path, std::string_view working_directory) {
  const std::string whole = path.starts_with('/') ? std::string(path)
                                                  : absl::StrCat(runtime::Absl(working_directory),
                                                                 "/", runtime::Absl(path));
  std::vector<std::string> parts;
  for (const auto part : absl::StrSplit(whole, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (part != "..") {
      parts.emplace_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  return absl::StrCat("/", absl::StrJoin(parts, "/"));
}

bool CanBeWritten(const std::string& directory) {
  std::string path = directory + "/.yard-XXXXXX";
  const UniqueFd fd(mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid()) return false;
  const bool written = runtime::WriteAll(fd.get(), "used").ok();
  return unlink(path.c_str()) == 0 && written;
}

std::string_view Variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string_view variable : environment) {
    if (variable.starts_with(name) && variable.substr(name.size()).starts_with('=')) {
      return variable.substr(name.size() + 1);
    }
  }
  return "";
}

std::int64_t Nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileState StateOf(const struct stat& about) {
  return {.inode = about.st_ino,
          .size = about.st_size,
          .changed_ns = Nanoseconds(about.st_ctim),
          .modified_ns = Nanoseconds(about.st_mtim)};
}

// Removes a temporary file, unless it was renamed, at the end of the scope.
class Discarded {
 public:
  explicit Discarded(std::string path) : path_(std::move(path)) {}
  Discarded(const Discarded&) = delete;
  Discarded& operator=(const Discarded&) = delete;
  ~Discarded() {
    if (!path_.empty()) std::remove(path_.c_str());
  }
  void Keep() { path_.clear(); }

 private:
  std::string path_;
};

// Adds the directory's owner to an error about missing permission.
absl::Status WithOwner(absl::Status error, const std::string& directory) {
  struct stat about {};
  if (error.code() != absl::StatusCode::kPermissionDenied ||
      lstat(directory.c_str(), &about) != 0) {
    return error;
  }
  return absl::PermissionDeniedError(
      absl::StrFormat("%s: %s belongs to uid %d and has mode %04o; we are uid %d", error.message(),
                      directory, about.st_uid, about.st_mode & 07777, geteuid()));
}

struct Entry {
  std::string name;
  unsigned char type = DT_UNKNOWN;
};

// Reads the entries of a directory, in the directory's order.
class Listing {
 public:
  static absl::StatusOr<Listing> Open(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return Error(errno, "opening", path);
    DIR* const stream = fdopendir(fd);
    if (stream == nullptr) {
      const absl::Status error = Error(errno, "reading", path);
      close(fd);
      return error;
    }
    return Listing(stream);
  }

  int fd() const { return dirfd(stream_.get()); }

  // Returns at most `limit` entries, without "." and "..", ordered by name.
  std::vector<Entry> Read(std::size_t limit, const std::string& path) {
    std::vector<Entry> entries;
    while (const dirent* const entry = readdir(stream_.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (entries.size() == limit) {
        LOG(WARNING) << path << " has more than " << limit << " entries; the rest is not read";
        break;
      }
      entries.push_back({.name = std::string(name), .type = entry->d_type});
    }
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.name < b.name; });
    return entries;
  }

 private:
  struct Close {
    void operator()(DIR* stream) const { closedir(stream); }
  };
  explicit Listing(DIR* stream) : stream_(stream) {}

  std::unique_ptr<DIR, Close> stream_;
};

absl::Status NotRegular(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file"));
}

// Reads an open file, whose size was `size` bytes, into `buffer`.
absl::StatusOr<std::string_view> ReadBounded(int fd, std::int64_t size, const std::string& path,
                                             std::string* buffer) {
  if (size > InfoDirectory::kMaxFileSize) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " has more than ", InfoDirectory::kMaxFileSize, " bytes"));
  }
  buffer->resize(static_cast<std::size_t>(size));
  std::size_t got = 0;
  // Ignores bytes that were appended since, and saves the read that would find the end.
  while (got < buffer->size()) {
    const ssize_t some = read(fd, buffer->data() + got, buffer->size() - got);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return Error(errno, "reading", path);
    if (some == 0) break;
    got += static_cast<std::size_t>(some);
  }
  return std::string_view(buffer->data(), got);
}

// Reads file `name` in the directory of `directory_fd`; `path` is its name in errors.
absl::StatusOr<InfoFile> ReadAt(int directory_fd, const char* name, std::string path,
                                std::string* buffer) {
  const UniqueFd fd(openat(directory_fd, name, kReadFlags));
  if (!fd.valid()) {
    if (errno == ELOOP || errno == ENXIO || errno == ENODEV) return NotRegular(path);
    return Error(errno, "opening", path);
  }
  struct stat about {};
  if (fstat(fd.get(), &about) != 0) return Error(errno, "examining", path);
  if (!S_ISREG(about.st_mode)) return NotRegular(path);
  const auto text = ReadBounded(fd.get(), about.st_size, path, buffer);
  if (!text.ok()) return text.status();
  auto info = ParseInfo(*text);
  if (!info.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", info.status().message()));
  }
  return InfoFile{.path = std::move(path),
                  .uid = about.st_uid,
                  .state = StateOf(about),
                  .info = *std::move(info)};
}

// Reads the entries with several threads, because most of the time is spent in the kernel, which
// opens one file after the other. Keeps the order of the entries; stops after about `total_size`
// bytes.
std::vector<absl::StatusOr<InfoFile>> ReadEntries(const std::string& path, int directory_fd,
                                                  const std::vector<Entry>& entries,
                                                  std::int64_t total_size) {
  std::vector<absl::StatusOr<InfoFile>> files(entries.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<std::int64_t> total = 0;
  const auto read = [&] {
    std::string buffer;
    // A thread finishes each block that it takes, so that only entries at the end remain unread.
    while (total <= total_size) {
      const std::size_t first = next.fetch_add(kBlock);
      if (first >= entries.size()) return;
      for (std::size_t i = first; i < std::min(first + kBlock, entries.size()); ++i) {
        const Entry& entry = entries[i];
        std::string name = absl::StrCat(path, "/", entry.name);
        files[i] = entry.type == DT_REG || entry.type == DT_UNKNOWN
                       ? ReadAt(directory_fd, entry.name.c_str(), std::move(name), &buffer)
                       : NotRegular(name);
        if (files[i].ok()) total += files[i]->state.size;
      }
    }
  };
  std::vector<std::thread> others;
  const std::size_t threads = std::min<std::size_t>(
      {kMaxThreads, std::thread::hardware_concurrency(), entries.size() / kEntriesPerThread});
  try {
    while (others.size() + 1 < threads) others.emplace_back(read);
  } catch (const std::system_error&) {  // The user's thread limit: continues with fewer.
  }
  read();
  for (std::thread& other : others) other.join();
  files.resize(std::min(next.load(), files.size()));
  return files;
}

}  // namespace

std::string TemporaryDirectory(const std::vector<std::string>& environment,
                               std::string_view working_directory) {
  std::vector<std::string_view> candidates;
  for (const std::string_view name : {"TMPDIR", "TEMP", "TMP"}) {
    const std::string_view value = Variable(environment, name);
    if (!value.empty()) candidates.push_back(value);
  }
  candidates.insert(candidates.end(), {"/tmp", "/var/tmp", "/usr/tmp", "."});
  for (const std::string_view candidate : candidates) {
    std::string path = Absolute(candidate, working_directory);
    if (CanBeWritten(path)) return path;
  }
  return "";
}

InfoDirectory::InfoDirectory(std::string_view temporary_directory, InfoLimits limits)
    : limits_(limits), path_(absl::StrCat(runtime::Absl(temporary_directory), kName)) {}

std::string InfoDirectory::PathOf(std::int64_t pid) const {
  return absl::StrCat(path_, "/pid-", pid, ".info");
}

absl::Status InfoDirectory::Create() const {
  struct stat about {};
  if (lstat(path_.c_str(), &about) != 0) {
    if (errno != ENOENT) return Error(errno, "examining", path_);
    std::string made = path_ + "-XXXXXX";
    if (mkdtemp(made.data()) == nullptr) return Error(errno, "making a directory for", path_);
    Discarded discarded(made);
    if (chmod(made.c_str(), kForEverybody) != 0) return Error(errno, "opening to everybody", made);
    if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) {
      discarded.Keep();
      return absl::OkStatus();
    }
    if (errno != EEXIST) return Error(errno, "making", path_);
    if (lstat(path_.c_str(), &about) != 0) return Error(errno, "examining", path_);
  }
  if (S_ISDIR(about.st_mode)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("making ", path_, ": the name is taken by ",
                                               S_ISLNK(about.st_mode)   ? "a symbolic link"
                                               : S_ISREG(about.st_mode) ? "a regular file"
                                                                        : "something else"));
}

absl::Status InfoDirectory::Write(const InstanceInfo& info, std::string_view tool_version) const {
  const auto text = SerializeInfo(info, tool_version);
  if (!text.ok()) return text.status();
  if (info.pid < 1) {
    return absl::InvalidArgumentError(absl::StrCat("pid ", info.pid, " is that of no process"));
  }
  const absl::Status created = Create();
  if (!created.ok()) return created;
  std::string unfinished = path_ + "-XXXXXX";
  const UniqueFd fd(mkostemp(unfinished.data(), O_CLOEXEC));
  if (!fd.valid()) return Error(errno, "making a file for", PathOf(info.pid));
  Discarded discarded(unfinished);
  if (fchmod(fd.get(), 0644) != 0) return Error(errno, "opening to everybody", unfinished);
  const absl::Status written = runtime::WriteAll(fd.get(), *text);
  if (!written.ok()) {
    return absl::Status(written.code(),
                        absl::StrCat("writing ", PathOf(info.pid), ": ", written.message()));
  }
  if (std::rename(unfinished.c_str(), PathOf(info.pid).c_str()) != 0) {
    return WithOwner(Error(errno, "writing", PathOf(info.pid)), path_);
  }
  discarded.Keep();
  return absl::OkStatus();
}

absl::Status InfoDirectory::Remove(std::int64_t pid) const {
  const UniqueFd directory(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid() && errno == ENOENT) return absl::OkStatus();
  if (!directory.valid()) return Error(errno, "opening", path_);
  const std::string name = PathOf(pid).substr(path_.size() + 1);
  struct stat about {};
  if (fstatat(directory.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
      about.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat("removing ", PathOf(pid), ": it belongs to uid ", about.st_uid));
  }
  if (unlinkat(directory.get(), name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
  return WithOwner(Error(errno, "removing", PathOf(pid)), path_);
}

absl::StatusOr<std::vector<InfoFile>> InfoDirectory::GetAll() const {
  std::vector<InfoFile> files;
  auto listing = Listing::Open(path_);
  if (absl::IsNotFound(listing.status())) return files;
  if (!listing.ok()) return WithOwner(listing.status(), path_);
  const std::vector<Entry> entries = listing->Read(limits_.entries, path_);
  std::int64_t total = 0;
  auto read = ReadEntries(path_, listing->fd(), entries, limits_.total_size);
  for (std::size_t i = 0; i < read.size(); ++i) {
    auto& file = read[i];
    if (!file.ok()) {
      VLOG(1) << "skipped " << absl::CEscape(absl::StrCat(path_, "/", entries[i].name)) << ": "
              << absl::CEscape(file.status().message());
      continue;
    }
    total += file->state.size;
    if (total > limits_.total_size) {
      LOG(WARNING) << path_ << " has more than " << limits_.total_size
                   << " bytes; the rest is not read";
      break;
    }
    files.push_back(*std::move(file));
  }
  return files;
}

absl::StatusOr<InfoFile> InfoDirectory::Read(std::string_view name) const {
  if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("not the name of an entry of ", path_, ": ", runtime::Absl(name)));
  }
  std::string path = absl::StrCat(path_, "/", runtime::Absl(name));
  std::string buffer;
  return ReadAt(AT_FDCWD, std::string(path).c_str(), path, &buffer);
}

}  // namespace registry
