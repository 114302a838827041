#ifndef LAUNCHER_LOG_RECORD_H_
#define LAUNCHER_LOG_RECORD_H_

#include <cstdint>
#include <string>

#include "bus/schema/envelope_generated.h"
#include "launcher/run/job_table.h"

namespace launcher {

// The topics `l/JOB/TASK/` and the record behind them, which is the log files. The lanes of a
// topic are 2 * attempt for its stdout and 2 * attempt + 1 for its stderr; a position is a byte
// offset in the lane's file: the end of a line, or of a piece of a long one. Bytes in front of the
// attempt's own output in its file (an earlier job's) belong to its first span.

std::string TopicOfLogs(const std::string& job, const std::string& task);
std::uint64_t LaneOf(std::uint32_t attempt, msg::LogStream stream);
// Lines as they are published, with their span; `from` as in JobTable::Options::on_lines.
msg::EnvelopeT EnvelopeOf(std::uint64_t from, msg::LogLinesT lines);

// The sources of the record. Use on the loop's thread.
struct LogRecord {
  const JobTable* table = nullptr;
  std::string state_directory;
};

// The answers of Common.Ends and Common.Since. A lane whose file is gone is not there, nor is a
// topic without lanes.

// The reply has the lanes of the newest 100 attempts of a task. A lane ends behind what was
// announced last while its attempt lives, then with the attempt's output.
msg::EndsReplyT EndsOfLogs(const LogRecord& record, const msg::EndsRequestT& request);
// Reads at most 256 KiB of the files.
msg::SinceReplyT LogsSince(const LogRecord& record, const msg::SinceRequestT& request);

}  // namespace launcher

#endif  // LAUNCHER_LOG_RECORD_H_
