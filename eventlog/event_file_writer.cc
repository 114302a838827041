#include "eventlog/event_file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"

namespace eventlog {
namespace {

absl::Status Failed(const char* what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

}  // namespace

absl::StatusOr<EventFileWriter> EventFileWriter::Open(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  runtime::UniqueFd fd(open(path.c_str(), kFlags, 0644));
  if (!fd.valid() && errno == ELOOP) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is a symbolic link"));
  }
  if (!fd.valid()) return Failed("open", path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Failed("look at", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  }
  return EventFileWriter(path, std::move(fd));
}

absl::Status EventFileWriter::Append(std::string_view records) {
  const absl::Status written = runtime::WriteAll(fd_.get(), records);
  if (written.ok()) return written;
  return absl::Status(written.code(),
                      absl::StrCat("cannot append to ", path_, ": ", written.message()));
}

absl::Status EventFileWriter::Sync() {
  return fdatasync(fd_.get()) == 0 ? absl::OkStatus() : Failed("sync", path_);
}

absl::Status EventFileWriter::Truncate(std::uint64_t size) {
  const absl::StatusOr<std::uint64_t> now = Size();
  if (!now.ok()) return now.status();
  if (size > *now) {
    return absl::OutOfRangeError(
        absl::StrCat("cannot cut ", path_, " at byte ", size, ": it has ", *now));
  }
  int result;
  do {
    result = ftruncate(fd_.get(), static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  return result == 0 ? absl::OkStatus() : Failed("cut", path_);
}

absl::StatusOr<std::uint64_t> EventFileWriter::Size() const {
  struct stat info;
  if (fstat(fd_.get(), &info) != 0) return Failed("look at", path_);
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace eventlog
