#ifndef LAUNCHER_LOG_LINE_READER_H_
#define LAUNCHER_LOG_LINE_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/log/log_segments.h"

namespace launcher {

// Lines of a log, without their newlines, and the bytes of its stream they are in: [begin, end).
struct LineBatch {
  std::uint64_t begin = 0, end = 0;
  std::vector<std::string> lines;
};

// Reads a log (log_segments.h) in batches of whole lines, of at most 256 lines or 64 KiB; a longer
// line comes in pieces of 64 KiB. It may begin in the middle of a line: then its rest counts as
// one. Bytes that have been rotated away and removed are left out: the next batch begins behind
// them. Not thread safe; never waits (what is no regular file has no lines).
class LineReader {
 public:
  static constexpr std::size_t kBatchBytes = 64 * 1024;
  static constexpr std::size_t kBatchLines = 256;

  LineReader(std::string path, std::uint64_t offset);

  // The lines from offset() on, none of them from behind `end` (which never goes back). With
  // `rest` what is in front of `end` is a line even without its newline. Nothing if there is no
  // line (yet), or nothing to be read.
  std::optional<LineBatch> Next(std::uint64_t end, bool rest);
  // Goes on at the first line that begins behind `offset`, if that is within the next 64 KiB
  // (else there). `end` as above.
  void SkipTo(std::uint64_t offset, std::uint64_t end);

  std::uint64_t offset() const { return offset_; }
  // From the files, until now.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  std::size_t buffered() const { return buffer_.size() - at_; }
  // Reads a full buffer, as far as there is something before `end`. Moves offset_ past what is
  // gone.
  void Fill(std::uint64_t end);
  LineBatch Cut(bool all);

  LogSegments log_;
  std::uint64_t offset_;
  std::string buffer_;  // From at_ on: the bytes of the stream from offset_ on.
  std::size_t at_ = 0;
  std::uint64_t bytes_read_ = 0;
};

// A place at most 64 KiB (and the last whole line) before the end of the log, but not before
// `begin`: where the last whole line begins, if it is that short. 0 if there is no file or nothing
// behind `begin`.
std::uint64_t BeginOfLastLine(const std::string& path, std::uint64_t begin);

}  // namespace launcher

#endif  // LAUNCHER_LOG_LINE_READER_H_
