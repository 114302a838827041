#include "runtime/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "runtime/random_id.h"
#include "runtime/string_view.h"

namespace runtime {
namespace {

absl::Status Failed(const char* what, const std::string& path, int error = errno) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", what, " ", path));
}

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

struct flock WholeFile(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

absl::StatusOr<pid_t> ReadPid(int fd) {
  char text[32];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  int pid = 0;
  if (size <= 0 ||
      !absl::SimpleAtoi(absl::string_view(text, static_cast<std::size_t>(size)), &pid)) {
    return absl::NotFoundError("no pid in the lock file");
  }
  return pid;
}

}  // namespace

absl::Status WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, "cannot write");
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t limit) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", path);
  std::string content;
  for (;;) {
    char buffer[16 << 10];
    const ssize_t size = read(fd.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Failed("read", path);
    if (size == 0) return content;
    content.append(buffer, static_cast<std::size_t>(size));
    if (content.size() > limit) {
      return absl::ResourceExhaustedError(absl::StrCat(path, " is larger than ", limit, " bytes"));
    }
  }
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode,
                                 bool durable) {
  const std::string temporary = absl::StrFormat("%s.%016x.tmp", path, RandomId());
  {
    const UniqueFd fd(open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode));
    if (!fd.valid()) return Failed("create", temporary);
    const absl::Status written = WriteAll(fd.get(), content);
    if (!written.ok() || fchmod(fd.get(), mode) != 0 || (durable && fsync(fd.get()) != 0)) {
      const absl::Status failed = written.ok() ? Failed("write", temporary) : written;
      unlink(temporary.c_str());
      return failed;
    }
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const absl::Status failed = Failed("replace", path);
    unlink(temporary.c_str());
    return failed;
  }
  if (!durable) return absl::OkStatus();
  const std::string parent = ParentOf(path);
  const UniqueFd directory(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() || fsync(directory.get()) != 0) return Failed("sync", parent);
  return absl::OkStatus();
}

absl::Status MakeDirectories(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) == 0) return absl::OkStatus();
  if (errno == ENOENT && ParentOf(path) != path) {
    if (absl::Status parent = MakeDirectories(ParentOf(path)); !parent.ok()) return parent;
    if (mkdir(path.c_str(), mode) == 0) return absl::OkStatus();
  }
  const int error = errno;
  struct stat info;
  if (error == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return absl::OkStatus();
  }
  return Failed("make directory", path, error);
}

absl::Status MakePrivateDirectory(const std::string& path) {
  if (absl::Status parent = MakeDirectories(ParentOf(path)); !parent.ok()) return parent;
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return Failed("make directory", path);
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return Failed("look at", path);
  if (S_ISLNK(info.st_mode)) {
    return absl::PermissionDeniedError(absl::StrCat(path, " is a symbolic link"));
  }
  if (!S_ISDIR(info.st_mode)) return absl::PermissionDeniedError(path + " is not a directory");
  if (info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat(path, " belongs to user ", info.st_uid));
  }
  if ((info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrFormat("%s has mode %04o and must not be open to others; chmod 700 it", path,
                        info.st_mode & 07777));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> LockFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return Failed("open lock", path);
  struct flock lock = WholeFile(F_WRLCK);
  if (fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) return Failed("lock", path);
    const auto holder = ReadPid(fd.get());
    return absl::AlreadyExistsError(absl::StrCat(
        path, " is held by process ", holder.ok() ? absl::StrCat(*holder) : "(unknown)"));
  }
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd.get(), 0) != 0 ||
      pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return Failed("write", path);
  }
  return fd;
}

absl::StatusOr<pid_t> LockHolder(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return Failed("open lock", path);
  struct flock lock = WholeFile(F_RDLCK);
  if (fcntl(fd.get(), F_OFD_GETLK, &lock) != 0) return Failed("look at lock", path);
  if (lock.l_type == F_UNLCK) return absl::NotFoundError(absl::StrCat("nobody holds ", path));
  return ReadPid(fd.get());
}

}  // namespace runtime
