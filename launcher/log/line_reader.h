#ifndef LAUNCHER_LOG_LINE_READER_H_
#define LAUNCHER_LOG_LINE_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/log/log_segments.h"

namespace launcher {

// Lines of a log, without their newlines, and the range of the stream that contains them: [begin,
// end).
struct LineBatch {
  std::uint64_t begin = 0, end = 0;
  std::vector<std::string> lines;
};

// Reads a log (log_segments.h) in batches of whole lines, of at most 256 lines or 64 KiB; a longer
// line is returned in pieces of 64 KiB. If it starts in the middle of a line, the rest of that line
// counts as a line. Bytes that rotation has removed are skipped: the next batch begins after them.
// Not thread-safe; never blocks (a file that is not regular has no lines).
class LineReader {
 public:
  static constexpr std::size_t kBatchBytes = 64 * 1024;
  static constexpr std::size_t kBatchLines = 256;

  // Starts at byte `offset` of the stream.
  LineReader(std::string path, std::uint64_t offset);

  // Returns the next lines from offset() on, up to `end` (which never decreases). With `rest`, the
  // bytes before `end` are a line even without a newline. Returns nullopt if there is no complete
  // line yet or nothing can be read.
  std::optional<LineBatch> Next(std::uint64_t end, bool rest);
  // Skips to the first line that begins after `offset`, if it begins within the next 64 KiB; else
  // to `offset`. `end` as in Next().
  void SkipTo(std::uint64_t offset, std::uint64_t end);

  std::uint64_t offset() const { return offset_; }
  // Bytes read from the files so far.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  std::size_t buffered() const { return buffer_.size() - at_; }
  // Fills the buffer from the bytes before `end`. Moves offset_ past bytes that were removed.
  void Fill(std::uint64_t end);
  LineBatch Cut(bool all);

  LogSegments log_;
  std::uint64_t offset_;
  std::string buffer_;  // Its bytes from at_ on are those of the stream from offset_ on.
  std::size_t at_ = 0;
  std::uint64_t bytes_read_ = 0;
};

// Returns the offset at which the last whole line begins, if that line is at most 64 KiB long; else
// an offset at most 64 KiB before the end of the log. Never less than `begin`. Returns 0 if there
// is no file or no output after `begin`.
std::uint64_t BeginOfLastLine(const std::string& path, std::uint64_t begin);

}  // namespace launcher

#endif  // LAUNCHER_LOG_LINE_READER_H_
