#include "launcher/log/log_since.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "launcher/log/log_segments.h"
#include "launcher/wire/log_times.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

constexpr std::size_t kChunk = 64 * 1024;

bool IsStdout(msg::LogStream stream) { return stream == msg::LogStream::Stdout; }

// Returns the beginning of the line that contains the byte at `offset`, but goes back at most one
// chunk.
std::uint64_t BeginOfLine(LogSegments& log, std::uint64_t begin, std::uint64_t offset) {
  if (offset <= begin) return begin;
  const std::uint64_t size = std::min<std::uint64_t>(offset - begin, kChunk);
  const auto block = log.Read(offset - size, size);
  if (!block.ok() || block->size() != size) return offset;
  const auto newline = block->rfind('\n');
  return newline == std::string::npos ? offset - size : offset - size + newline + 1;
}

}  // namespace

std::uint64_t LogBegin(const AttemptRow& attempt, msg::LogStream stream) {
  return IsStdout(stream) ? attempt.stdout_begin : attempt.stderr_begin;
}

std::uint64_t LogEnd(const AttemptRow& attempt, msg::LogStream stream) {
  if (attempt.ended_us == 0) return std::numeric_limits<std::uint64_t>::max();
  return IsStdout(stream) ? attempt.stdout_end : attempt.stderr_end;
}

std::uint64_t LogOffsetSince(const JobRow& job, const TaskRow& task, const AttemptRow& attempt,
                             msg::LogStream stream, const std::string& state_directory,
                             std::int64_t since_us) {
  const std::uint64_t begin = LogBegin(attempt, stream), end = LogEnd(attempt, stream);
  if (attempt.started_us == 0 || attempt.started_us > since_us) return begin;
  const bool was_over = attempt.ended_us != 0 && attempt.ended_us < since_us;
  // Its shim was killed before it could record when the output ended.
  if (was_over && attempt.shim_lost) return end;
  const std::string folder = AttemptFolder(job, task, state_directory, attempt.number);
  const auto times = runtime::Absl(IsStdout(stream) ? kStdoutTimesFile : kStderrTimesFile);
  const auto offset = LogTimes::OffsetAt(absl::StrCat(folder, "/", times), since_us);
  if (!offset) return was_over ? end : begin;
  // (Other processes of the attempt's tree may have written after its end.)
  if (*offset >= end) return end;
  LogSegments log(LogPath(job, task, state_directory, attempt.number, stream));
  return BeginOfLine(log, begin, *offset);
}

}  // namespace launcher
