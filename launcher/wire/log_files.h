#ifndef LAUNCHER_WIRE_LOG_FILES_H_
#define LAUNCHER_WIRE_LOG_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/file/unique_fd.h"

namespace launcher {

// The layout of a task's output stream on disk if its log is rotated. Offsets count bytes of the
// whole stream, from the first byte ever written. The newest bytes are in PATH; rotated files are
// PATH.START, where START is the offset of the first byte in 20 digits, so that names sort in the
// order of their content. No other state is stored: PATH begins where the newest rotated file ends
// (at 0 without rotated files), so that the rename alone is the atomic step of a rotation. Plain
// types without dependencies, because the static shim links it.

// A rotated file, which never changes, and the range of the stream that it contains: [begin, end).
struct LogSegment {
  std::string path;
  std::uint64_t begin = 0, end = 0;
};

// The files of one log.
struct LogFiles {
  std::vector<LogSegment> segments;  // Oldest first.
  // PATH, open for reading; invalid if it is not a readable file.
  runtime::UniqueFd current;
  std::uint64_t current_begin = 0;
  std::uint64_t current_end = 0;  // The end of the file a moment ago.

  bool empty() const { return segments.empty() && !current.valid(); }
  std::uint64_t begin() const { return segments.empty() ? current_begin : segments[0].begin; }
};

// Returns PATH.START.
std::string LogSegmentPath(const std::string& path, std::uint64_t begin);
// Finds the files of a log. The result is consistent even while a shim rotates and removes files.
// It lists the folder of PATH, so call it only if the segments are needed.
LogFiles FindLogFiles(const std::string& path);
// Opens a regular file for reading; does not block if `path` is a pipe.
runtime::UniqueFd OpenLogFile(const std::string& path);

}  // namespace launcher

#endif  // LAUNCHER_WIRE_LOG_FILES_H_
