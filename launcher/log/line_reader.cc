#include "launcher/log/line_reader.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace launcher {
LineReader::LineReader(std::string path, std::uint64_t offset)
    : log_(std::move(path)), offset_(offset) {}

void LineReader::Fill(std::uint64_t end) {
  buffer_.clear();
  at_ = 0;
  if (offset_ >= end) return;
  const auto room = [&] { return std::min<std::uint64_t>(end - offset_, kBatchBytes); };
  auto bytes = log_.Read(offset_, room());
  if (absl::IsOutOfRange(bytes.status()) && log_.first_left() < end) {
    offset_ = log_.first_left();
    bytes = log_.Read(offset_, room());
  }
  if (bytes.ok()) buffer_ = *std::move(bytes);
  bytes_read_ += buffer_.size();
}

std::optional<LineBatch> LineReader::Next(std::uint64_t end, bool rest) {
  if (buffer_.find('\n', at_) == std::string::npos) Fill(end);
  const bool is_piece = buffered() == kBatchBytes;
  const bool is_rest = rest && offset_ + buffered() >= end;
  LineBatch batch = Cut(is_piece || is_rest);
  if (!batch.lines.empty()) return batch;
  // Frees the buffer until the file has grown: many readers wait, most of them for a long time.
  std::string().swap(buffer_);
  at_ = 0;
  return std::nullopt;
}

// Takes the lines out of the buffer; with `all` also a last one without a newline. (The last line
// of a full buffer is returned in pieces only if it is also the first; otherwise it is read again
// as a whole.)
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
  LogSegments log(path);
  const auto extent = log.Look();
  if (!extent.ok() || extent->end <= begin) return 0;
  const std::uint64_t window = std::min<std::uint64_t>(extent->end, LineReader::kBatchBytes);
  const std::uint64_t from = std::max({begin, extent->begin, extent->end - window});
  const auto read = log.Read(from, extent->end - from);
  if (!read.ok()) return from;
  const std::string& bytes = *read;
  const auto last = bytes.rfind('\n');
  if (last == std::string::npos || last == 0) return from;
  const auto before = bytes.rfind('\n', last - 1);
  return before == std::string::npos ? from : from + before + 1;
}

}  // namespace launcher
