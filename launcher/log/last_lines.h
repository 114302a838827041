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

// The part of a task's log (log_segments.h) from offset `begin` to its end.
struct LogFile {
  std::string path;
  std::uint64_t begin = 0;
};

// Returns the last lines that are not blank, printable, oldest first: at most kLastLines, together
// at most kLastLinesBytes long. A longer line is cut at its front. `newest_first` lists the logs,
// the newest first. Missing and non-regular files are skipped; never blocks.
std::vector<std::string> LastLines(std::span<const LogFile> newest_first);

// Sets `last_lines` and `log_path` from the task's standard error, or from its standard output if
// the former is empty. (If both are empty, the path is that of the standard error.)
void AddLastLines(std::span<const LogFile> errors, std::span<const LogFile> output,
                  msg::FailureT* failure);

// Returns the text that a terminal would show of a line: only the part after the last carriage
// return, without colours and other escape sequences. Other control characters and invalid UTF-8
// become escapes like \x1b.
std::string PrintableLine(std::string_view line);

}  // namespace launcher

#endif  // LAUNCHER_LOG_LAST_LINES_H_
