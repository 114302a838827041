#include "tools/yard/follow/input_line_reader.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace yard {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;

}  // namespace

absl::StatusOr<bool> InputLineReader::Read() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t known = buffer_.size();
  buffer_.resize(known + kReadBytes);
  ssize_t got = 0;
  do {
    got = read(fd_, buffer_.data() + known, kReadBytes);
  } while (got < 0 && errno == EINTR);
  const int error = errno;
  buffer_.resize(known + static_cast<std::size_t>(got > 0 ? got : 0));
  if (got < 0) return absl::UnknownError(absl::StrCat("reading stdin: ", strerror(error)));
  return got > 0;
}

absl::StatusOr<std::optional<std::string>> InputLineReader::Next() {
  std::size_t searched = begin_;
  std::size_t end = 0;
  while ((end = buffer_.find('\n', searched)) == std::string::npos) {
    const std::size_t pending = buffer_.size() - begin_;
    if (pending > max_bytes_) break;
    const auto more = Read();
    if (!more.ok()) return more.status();
    if (!*more && pending == 0) return std::optional<std::string>();
    searched = pending;
    if (!*more) {
      end = buffer_.size();
      break;
    }
  }
  ++number_;
  if (end == std::string::npos || end - begin_ > max_bytes_) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", number_, " has over ", max_bytes_, " bytes"));
  }
  std::optional<std::string> line = buffer_.substr(begin_, end - begin_);
  begin_ = end + (end < buffer_.size() ? 1 : 0);
  return line;
}

absl::StatusOr<std::string> InputLineReader::Rest() {
  for (;;) {
    const auto more = Read();
    if (!more.ok()) return more.status();
    if (buffer_.size() > max_bytes_) {
      return absl::InvalidArgumentError(absl::StrCat("stdin has over ", max_bytes_, " bytes"));
    }
    if (!*more) return std::move(buffer_);
  }
}

}  // namespace yard
