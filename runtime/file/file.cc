#include "runtime/file/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/sync_directory.h"
#include "runtime/text/random_id.h"

// How a lock identifies its holder: it starts at byte 0 and is pid + 1 bytes long. Any two such
// locks conflict, and the kernel reports the length of the held one, so at no moment is the file
// locked and its holder unknown. The pid in the file's content is for people, and for programs that
// lock the whole file.

namespace runtime {
namespace {

constexpr int kLockAttempts = 100;
constexpr int kOpenAttempts = 10;
// Number and interval of retries for a lock whose holder has ended: one second in total.
constexpr int kLooksAtADeadHolder = 200;
constexpr timespec kBetweenLooks = {.tv_sec = 0, .tv_nsec = 5'000'000};

absl::Status FileError(int error, const char* doing, const std::string& path) {
  return absl::ErrnoToStatus(error, absl::StrCat(doing, " ", path));
}

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool IsDirectory(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

UniqueFd OpenRetrying(const std::string& path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return UniqueFd(fd);
}

int Sync(int fd) {
  while (fsync(fd) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

absl::Status WriteNewFile(const std::string& path, std::string_view content, FileMode mode,
                          bool durable) {
  const UniqueFd file = OpenRetrying(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode.mode());
  if (!file.valid()) return FileError(errno, "creating", path);
  mode.Settle(file.get());
  if (absl::Status status = WriteAll(file.get(), content); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat("writing ", path, ": ", status.message()));
  }
  if (!durable) return absl::OkStatus();
  if (const int error = Sync(file.get()); error != 0) return FileError(error, "syncing", path);
  return absl::OkStatus();
}

// Returns the lock that conflicts with a new lock of `fd`; its type is F_UNLCK if no lock does.
absl::StatusOr<struct flock> CollidingLock(int fd, const std::string& path) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(fd, F_OFD_GETLK, &lock) != 0) return FileError(errno, "testing the lock of", path);
  return lock;
}

bool TryLock(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = static_cast<off_t>(getpid()) + 1;
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// Returns the pid of the process that holds `held`; Unavailable if it is unknown.
absl::StatusOr<pid_t> HolderOf(const struct flock& held, int fd, const std::string& path) {
  if (held.l_len > 0) return static_cast<pid_t>(held.l_len - 1);
  char text[32];
  const ssize_t got = pread(fd, text, sizeof(text), 0);
  if (got < 0) return FileError(errno, "reading", path);
  pid_t pid = 0;
  if (absl::SimpleAtoi(absl::string_view(text, static_cast<std::size_t>(got)), &pid)) return pid;
  return absl::UnavailableError(
      absl::StrCat(path, " is locked by a process that has not given its pid yet"));
}

absl::Status WritePid(int fd, const std::string& path) {
  const std::string text = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text.data(), text.size(), 0) < 0) {
    return FileError(errno, "writing", path);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t limit) {
  // O_NONBLOCK: opening a named pipe would otherwise block.
  const UniqueFd file = OpenRetrying(path, O_RDONLY | O_NONBLOCK);
  if (!file.valid()) return FileError(errno, "opening", path);
  std::string content;
  char chunk[16384];
  for (;;) {
    const ssize_t got = read(file.get(), chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, "reading", path);
    if (got == 0) return content;
    if (static_cast<std::size_t>(got) > limit - content.size()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("reading ", path, ": it is larger than ", limit, " bytes"));
    }
    content.append(chunk, static_cast<std::size_t>(got));
  }
}

FileMode FileMode::Exactly(mode_t mode) {
  FileMode exact(mode);
  exact.is_exact_ = true;
  return exact;
}

FileMode FileMode::OfFileIn(const std::string& directory) {
  struct stat about {};
  return stat(directory.c_str(), &about) == 0 ? Exactly(about.st_mode & 0666) : 0644;
}

FileMode FileMode::OfDirectoryIn(const std::string& directory) {
  struct stat about {};
  return stat(directory.c_str(), &about) == 0 ? Exactly(about.st_mode & 0777) : 0755;
}

// (Fails silently on a file system without modes.)
void FileMode::Settle(int fd) const {
  if (is_exact_) (void)fchmod(fd, mode_);
}

UniqueFd OpenOrMake(const std::string& path, int flags, FileMode mode) {
  for (int attempt = 1;; ++attempt) {
    UniqueFd file = OpenRetrying(path, flags);
    if (file.valid() || errno != ENOENT) return file;
    file = OpenRetrying(path, flags | O_CREAT | O_EXCL, mode.mode());
    if (file.valid()) mode.Settle(file.get());
    // Another process may have created it meanwhile. (A dangling link never opens.)
    if (file.valid() || errno != EEXIST || attempt == kOpenAttempts) return file;
  }
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view content, FileMode mode,
                                 bool durable) {
  const std::string temporary = absl::StrCat(path, ".", RandomHex128(), ".tmp");
  absl::Status status = WriteNewFile(temporary, content, mode, durable);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = FileError(errno, "replacing", path);
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  return durable ? SyncDirectory(ParentOf(path)) : absl::OkStatus();
}

absl::Status MakeDirectories(const std::string& path, FileMode mode) {
  const std::string clean = WithoutTrailingSlashes(path);
  if (IsDirectory(clean)) return absl::OkStatus();
  if (const std::string parent = ParentOf(clean); parent != clean && !IsDirectory(parent)) {
    if (absl::Status status = MakeDirectories(parent); !status.ok()) return status;
  }
  if (mkdir(clean.c_str(), mode.mode()) == 0) {
    mode.Settle(OpenRetrying(clean, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).get());
    return absl::OkStatus();
  }
  const int error = errno;
  // Another process may have created it meanwhile.
  if (error == EEXIST && IsDirectory(clean)) return absl::OkStatus();
  return FileError(error, "making the directory", clean);
}

absl::Status MakePrivateDirectory(const std::string& path) {
  const std::string clean = WithoutTrailingSlashes(path);
  if (absl::Status status = MakeDirectories(ParentOf(clean)); !status.ok()) return status;
  if (mkdir(clean.c_str(), 0700) != 0 && errno != EEXIST) {
    return FileError(errno, "making the directory", clean);
  }
  const UniqueFd directory = OpenRetrying(clean, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory.valid()) {
    const int error = errno;
    if (error != ELOOP && error != ENOTDIR) return FileError(error, "opening", clean);
    return absl::PermissionDeniedError(
        absl::StrCat(clean, " is not a directory itself (a symbolic link is not trusted)"));
  }
  struct stat about {};
  if (fstat(directory.get(), &about) != 0) return FileError(errno, "examining", clean);
  if (about.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(clean, " belongs to user ", about.st_uid, ", not to ", geteuid()));
  }
  if ((about.st_mode & 0077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(clean, " is open to other users; close it with: chmod 700 ", clean));
  }
  return absl::OkStatus();
}

namespace {

// True also for a zombie.
bool HasEnded(pid_t pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH) return true;
  const auto about = ReadFile(absl::StrCat("/proc/", pid, "/stat"), 4096);
  if (!about.ok()) return false;
  const std::size_t name_end = about->rfind(") ");
  return name_end != std::string::npos && about->compare(name_end, 3, ") Z") == 0;
}

}  // namespace

absl::StatusOr<UniqueFd> LockFile(const std::string& path) {
  UniqueFd file = OpenRetrying(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file.valid()) return FileError(errno, "opening the lock", path);
  // A holder that exits between the two calls cannot be named: retry.
  for (int attempt = 0, looks = 0; attempt < kLockAttempts; ++attempt) {
    if (TryLock(file.get())) {
      if (absl::Status status = WritePid(file.get(), path); !status.ok()) return status;
      return file;
    }
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      return FileError(errno, "locking", path);
    }
    const absl::StatusOr<struct flock> held = CollidingLock(file.get(), path);
    if (!held.ok()) return held.status();
    if (held->l_type == F_UNLCK) continue;
    const absl::StatusOr<pid_t> holder = HolderOf(*held, file.get(), path);
    if (!holder.ok()) return absl::AlreadyExistsError(holder.status().message());
    if (HasEnded(*holder) && looks++ < kLooksAtADeadHolder) {
      --attempt;
      nanosleep(&kBetweenLooks, nullptr);
      continue;
    }
    return absl::AlreadyExistsError(absl::StrCat(path, " is locked by process ", *holder));
  }
  return absl::UnavailableError(
      absl::StrCat("locking ", path, ": its holder changes all the time"));
}

absl::StatusOr<pid_t> LockHolder(const std::string& path) {
  const UniqueFd file = OpenRetrying(path, O_RDONLY | O_NONBLOCK);
  if (!file.valid()) return FileError(errno, "opening the lock", path);
  const absl::StatusOr<struct flock> held = CollidingLock(file.get(), path);
  if (!held.ok()) return held.status();
  if (held->l_type == F_UNLCK) {
    return absl::NotFoundError(absl::StrCat("nobody holds the lock ", path));
  }
  return HolderOf(*held, file.get(), path);
}

absl::Status WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, absl::StrCat("writing to descriptor ", fd));
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace runtime
