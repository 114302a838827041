#ifndef LAUNCHER_LOG_LOG_SEGMENTS_H_
#define LAUNCHER_LOG_LOG_SEGMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/wire/log_files.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// Reads one output stream of a task, whose log may be rotated and shortened meanwhile (log_files.h;
// offsets are into the whole stream). Keeps the file that was read last open: a reader that follows
// is not disturbed by a rotation. Not thread safe; never waits.
class LogSegments {
 public:
  // The bytes [begin, end) can be read, except those of a file in between that somebody has
  // removed.
  struct Extent {
    std::uint64_t begin = 0, end = 0;
  };

  explicit LogSegments(std::string path);

  // NotFound if there is no file.
  absl::StatusOr<Extent> Look() const;
  // The bytes from `offset` on, `size` of them or as many as there are: none at or behind the end.
  // NotFound if there is no file; OutOfRange, naming the first offset from there on that is, if the
  // byte at `offset` is not there any more.
  absl::StatusOr<std::string> Read(std::uint64_t offset, std::size_t size);
  // The offset that Read() named with OutOfRange.
  std::uint64_t first_left() const { return first_left_; }

  const std::string& path() const { return path_; }

 private:
  // Opens the file that has the byte at `offset`, or will have it. If such a file cannot be opened,
  // the open file stays: the writer may still have it open, too.
  absl::Status OpenAt(std::uint64_t offset);
  bool IsCurrent() const;
  std::string ReadFile(std::uint64_t offset, std::size_t size) const;

  const std::string path_;
  runtime::UniqueFd file_;
  std::uint64_t file_begin_ = 0;
  std::uint64_t first_left_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_LOG_LOG_SEGMENTS_H_
