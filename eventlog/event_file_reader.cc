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

absl::StatusOr<std::unique_ptr<EventFileReader>> EventFileReader::Open(const std::string& path) {
  runtime::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return Failed("open", path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Failed("look at", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  }
  return std::unique_ptr<EventFileReader>(
      new EventFileReader(path, std::move(fd), info.st_dev, info.st_ino));
}

absl::Status EventFileReader::CheckSameFile() const {
  struct stat info;
  if (stat(path_.c_str(), &info) != 0 || info.st_dev != device_ || info.st_ino != inode_) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " was replaced"));
  }
  if (static_cast<std::uint64_t>(info.st_size) < offset_ + buffer_.size()) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " was cut short"));
  }
  return absl::OkStatus();
}

absl::Status EventFileReader::ReadNew(const std::function<void(const Event&)>& on_event) {
  if (absl::Status same = CheckSameFile(); !same.ok()) return same;
  while (!dead_) {
    const std::size_t held = buffer_.size();
    buffer_.resize(held + std::max(kChunk, needed_ > held ? needed_ - held : 0));
    const ssize_t size = pread(fd_.get(), buffer_.data() + held, buffer_.size() - held,
                               static_cast<off_t>(offset_ + held));
    buffer_.resize(held + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Failed("read", path_);
    if (size == 0) break;
    if (absl::Status consumed = Consume(on_event); !consumed.ok()) return consumed;
  }
  if (buffer_.empty()) std::string().swap(buffer_);
  return absl::OkStatus();
}

absl::Status EventFileReader::Consume(const std::function<void(const Event&)>& on_event) {
  using State = ParsedRecord::State;
  std::string_view rest = buffer_;
  absl::Status status;
  for (;;) {
    const ParsedRecord record = ParseRecord(rest);
    if (record.state == State::kNeedMore) {
      needed_ = record.needed;
      break;
    }
    if (record.state == State::kBadHeader) {
      dead_ = true;
      ++bad_records_;
      status = absl::DataLossError(
          absl::StrCat(path_, " is damaged at byte ", offset_, "; nothing behind it can be read"));
      rest = {};
      break;
    }
    if (record.state == State::kRecord && DecodeEvent(record.payload, &event_).ok()) {
      ++records_;
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
