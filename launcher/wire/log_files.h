#ifndef LAUNCHER_WIRE_LOG_FILES_H_
#define LAUNCHER_WIRE_LOG_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/file/unique_fd.h"

namespace launcher {

// How a task's output stream lies on disk once its log is rotated. Offsets count bytes of the whole
// stream, from the first byte ever written on. The newest bytes are in PATH; what was rotated away
// is in PATH.START, where START is the offset of its first byte in 20 digits, so that names sort as
// their content does. Nothing else is kept: PATH begins where the newest rotated file ends (at 0
// without rotated files), so the one rename that rotates is all that has to happen at once. Plain
// types and no dependencies, because the static shim links it.

// A rotated file and what it holds: [begin, end). It never changes any more.
struct LogSegment {
  std::string path;
  std::uint64_t begin = 0, end = 0;
};

struct LogFiles {
  std::vector<LogSegment> segments;  // Oldest first.
  runtime::UniqueFd current;         // PATH, open for reading; invalid if it is no readable file.
  std::uint64_t current_begin = 0;
  std::uint64_t current_end = 0;  // As long as it was a moment ago.

  bool empty() const { return segments.empty() && !current.valid(); }
  std::uint64_t begin() const { return segments.empty() ? current_begin : segments[0].begin; }
};

std::string LogSegmentPath(const std::string& path, std::uint64_t begin);
// One consistent look, also while a shim rotates and removes. Reads the folder of PATH, which must
// be worth it: for a file that is long enough by itself there is nothing to be found out.
LogFiles FindLogFiles(const std::string& path);
// Opens a regular file for reading, without waiting for a pipe of that name.
runtime::UniqueFd OpenLogFile(const std::string& path);

}  // namespace launcher

#endif  // LAUNCHER_WIRE_LOG_FILES_H_
