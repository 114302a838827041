#ifndef LAUNCHER_LOG_LAST_LINES_H_
#define LAUNCHER_LOG_LAST_LINES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bus/schema/launcher_generated.h"

namespace launcher {

inline constexpr std::size_t kLastLines = 20;
inline constexpr std::size_t kLastLinesBytes = 16 * 1024;

// A part of what a task has written, from `begin` to the end of the log (log_segments.h).
struct LogFile {
  std::string path;
  std::uint64_t begin = 0;
};

// The last lines with something in them, oldest first: at most kLastLines, together at most
// kLastLinesBytes long, printable. A longer line is cut at its front. Several logs come newest
// first. Nothing from what is missing, or is no regular file; never waits.
std::vector<std::string> LastLines(std::span<const LogFile> newest_first);

// Sets `last_lines` and `log_path`: of what the task wrote to its standard error, else to its
// standard output. (If there is nothing in either, the path is that of the error output.)
void AddLastLines(std::span<const LogFile> errors, std::span<const LogFile> output,
                  msg::FailureT* failure);

// The text that a terminal would show of a line: only the part behind the last carriage return,
// without colours and other escape sequences. Other control characters and bytes that are no UTF-8
// become escapes like \x1b.
std::string PrintableLine(std::string_view line);

}  // namespace launcher

#endif  // LAUNCHER_LOG_LAST_LINES_H_
