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

// Reads one output stream of a task, whose log may be rotated and lose old files meanwhile
// (log_files.h; offsets are into the whole stream). Keeps the last-read file open, so that a
// rotation does not disturb a following reader. Not thread-safe; never blocks.
class LogSegments {
 public:
  // The readable part of the stream: the bytes [begin, end), except those of a file in between that
  // something other than the rotation has removed.
  struct Extent {
    std::uint64_t begin = 0, end = 0;
  };

  explicit LogSegments(std::string path);

  // Returns the present extent. NotFound if there is no file.
  absl::StatusOr<Extent> Look() const;
  // Returns `size` bytes from `offset` on, or fewer at the end of the stream (none from the end
  // on). NotFound if there is no file; OutOfRange if the byte at `offset` was removed, with the
  // next offset that still exists.
  absl::StatusOr<std::string> Read(std::uint64_t offset, std::size_t size);
  // The next existing offset, after Read() has returned OutOfRange.
  std::uint64_t first_left() const { return first_left_; }

  const std::string& path() const { return path_; }

 private:
  // Opens the file that contains, or will contain, the byte at `offset`. If that file cannot be
  // opened, the present file stays open, since the writer may still be writing to it.
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
