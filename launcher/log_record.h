#ifndef LAUNCHER_LOG_RECORD_H_
#define LAUNCHER_LOG_RECORD_H_

#include <cstdint>
#include <string>

#include "bus/schema/envelope_generated.h"
#include "launcher/run/job_table.h"

namespace launcher {

// The topics `l/JOB/TASK/` and their record, which is the log files. The lanes of a topic are 2 *
// attempt for the stdout of an attempt and 2 * attempt + 1 for its stderr. A position is a byte
// offset in the lane's file: the end of a line, or of a piece of a long line. Bytes before the
// attempt's own output in its file (of an earlier job) belong to its first span.

// Return the topic of a task's output, and the lane of an attempt's stream.
std::string TopicOfLogs(const std::string& job, const std::string& task);
std::uint64_t LaneOf(std::uint32_t attempt, msg::LogStream stream);
// Makes the envelope with which lines are published, with their span. `from` is that of
// JobTable::Options::on_lines.
msg::EnvelopeT EnvelopeOf(std::uint64_t from, msg::LogLinesT lines);

// The sources of the record. Use on the loop's thread.
struct LogRecord {
  const JobTable* table = nullptr;
  std::string state_directory;
};

// The replies to Common.Ends and Common.Since. They leave out lanes whose file does not exist, and
// topics without lanes.

// The reply has the lanes of the newest 100 attempts of a task. While an attempt lives, its lane
// ends after the last announced line; afterwards it ends with the attempt's output.
msg::EndsReplyT EndsOfLogs(const LogRecord& record, const msg::EndsRequestT& request);
// Reads at most 256 KiB of the files for one reply.
msg::SinceReplyT LogsSince(const LogRecord& record, const msg::SinceRequestT& request);

}  // namespace launcher

#endif  // LAUNCHER_LOG_RECORD_H_
