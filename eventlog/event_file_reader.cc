#include "eventlog/event_file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "eventlog/record.h"

namespace eventlog {
namespace {

constexpr std::size_t kChunk = 1 << 20;

absl::Status Failed(const char* what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventFileReader>> EventFileReader::Open(const std::string& path,
                                                                       Options options) {
  // Not blocking: a FIFO of such a name must not hold us until somebody writes to it.
  runtime::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return Failed("open", path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Failed("look at", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  }
  return std::unique_ptr<EventFileReader>(
      new EventFileReader(path, options, std::move(fd), info.st_dev, info.st_ino));
}

absl::StatusOr<std::uint64_t> EventFileReader::Size() const {
  struct stat info;
  if (stat(path_.c_str(), &info) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) return Failed("look at", path_);
    return absl::FailedPreconditionError(absl::StrCat(path_, " is gone"));
  }
  if (info.st_dev != device_ || info.st_ino != inode_) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " was replaced"));
  }
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size < offset_ + buffer_.size()) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " was cut short"));
  }
  return size;
}

absl::Status EventFileReader::ReadNew(const std::function<void(const Event&)>& on_event) {
  const absl::StatusOr<std::uint64_t> size = Size();
  if (!size.ok()) return size.status();
  absl::Status status;
  while (status.ok() && !dead_) {
    const absl::StatusOr<bool> filled = Fill(*size);
    if (!filled.ok()) return filled.status();
    if (!*filled) break;
    status = Consume(on_event);
  }
  // Thousands of files are open at rest. A long unfinished record is not copied each time it grows.
  if (buffer_.size() < kChunk) buffer_.shrink_to_fit();
  return status;
}

absl::StatusOr<bool> EventFileReader::Fill(std::uint64_t size) {
  const std::size_t held = buffer_.size();
  const std::uint64_t wanted = std::max(kChunk, needed_ > held ? needed_ - held : 0);
  const auto room = static_cast<std::size_t>(std::min(wanted, size - (offset_ + held)));
  if (room == 0) return false;
  buffer_.resize(held + room);
  ssize_t count;
  do {
    count = pread(fd_.get(), buffer_.data() + held, room, static_cast<off_t>(offset_ + held));
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  buffer_.resize(held + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  errno = error;
  if (count < 0) return Failed("read", path_);
  return count > 0;
}

absl::Status EventFileReader::Consume(const std::function<void(const Event&)>& on_event) {
  using State = ParsedRecord::State;
  std::string_view rest = buffer_;
  absl::Status status;
  for (;;) {
    const ParsedRecord record = ParseRecord(rest, max_payload_bytes_);
    if (record.state == State::kNeedMore) {
      needed_ = record.needed;
      break;
    }
    if (record.state == State::kBadHeader) {
      dead_ = true;
      needed_ = 0;
      ++bad_records_;
      status = absl::DataLossError(
          absl::StrCat(path_, " is damaged at byte ", offset_, "; nothing behind it can be read"));
      rest = {};
      break;
    }
    if (record.state == State::kRecord && DecodeEvent(record.payload, &event_).ok()) {
      ++records_;
      record_ = rest.data();
      on_event(event_);
    } else {
      ++bad_records_;
    }
    rest.remove_prefix(record.size);
    offset_ += record.size;
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return status;
}

}  // namespace eventlog
