#include "launcher/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace launcher {
namespace {

// A user's folder may hold anything under the name of a log: a pipe must not make us wait.
runtime::UniqueFd OpenLog(const std::string& path) {
  runtime::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about = {};
  if (!file.valid() || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  return file;
}

std::string ReadAt(const runtime::UniqueFd& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t got = pread(file.get(), bytes.data(), size, static_cast<off_t>(offset));
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

}  // namespace

LineReader::LineReader(std::string path, std::uint64_t offset)
    : path_(std::move(path)), offset_(offset) {}

void LineReader::Fill(std::uint64_t end) {
  buffer_.clear();
  at_ = 0;
  if (!file_.valid()) file_ = OpenLog(path_);
  if (!file_.valid() || offset_ >= end) return;
  buffer_ = ReadAt(file_, offset_, std::min<std::uint64_t>(end - offset_, kBatchBytes));
  bytes_read_ += buffer_.size();
}

std::optional<LineBatch> LineReader::Next(std::uint64_t end, bool rest) {
  if (buffer_.find('\n', at_) == std::string::npos) Fill(end);
  const bool is_piece = buffered() == kBatchBytes;
  const bool is_rest = rest && offset_ + buffered() >= end;
  LineBatch batch = Cut(is_piece || is_rest);
  if (!batch.lines.empty()) return batch;
  // Until the file has grown: many readers wait, and most of them for long.
  std::string().swap(buffer_);
  at_ = 0;
  return std::nullopt;
}

// `all`: also what has no newline. (A full buffer's last line is a piece only if it is the first
// one too; else it is read again, whole.)
LineBatch LineReader::Cut(bool all) {
  LineBatch batch{.begin = offset_, .end = offset_, .lines = {}};
  const bool full = buffered() == kBatchBytes;
  while (at_ < buffer_.size() && batch.lines.size() < kBatchLines) {
    const auto newline = buffer_.find('\n', at_);
    const bool has_newline = newline != std::string::npos;
    if (!has_newline && !(all && (batch.lines.empty() || !full))) break;
    const std::size_t stop = has_newline ? newline : buffer_.size();
    batch.lines.push_back(buffer_.substr(at_, stop - at_));
    const std::size_t next = has_newline ? stop + 1 : stop;
    batch.end += next - at_;
    at_ = next;
  }
  offset_ = batch.end;
  return batch;
}

void LineReader::SkipTo(std::uint64_t offset, std::uint64_t end) {
  offset_ = offset;
  Fill(end);
  const auto newline = buffer_.find('\n');
  at_ = newline == std::string::npos ? buffer_.size() : newline + 1;
  offset_ += at_;
}

std::uint64_t BeginOfLastLine(const std::string& path, std::uint64_t begin) {
  const runtime::UniqueFd file = OpenLog(path);
  struct stat about = {};
  if (!file.valid() || fstat(file.get(), &about) != 0) return 0;
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (size <= begin) return 0;
  const std::uint64_t from = std::max(begin, size - std::min(size, LineReader::kBatchBytes));
  const std::string bytes = ReadAt(file, from, size - from);
  const auto last = bytes.rfind('\n');
  if (last == std::string::npos || last == 0) return from;
  const auto before = bytes.rfind('\n', last - 1);
  return before == std::string::npos ? from : from + before + 1;
}

}  // namespace launcher
