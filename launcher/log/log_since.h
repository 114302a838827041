#ifndef LAUNCHER_LOG_LOG_SINCE_H_
#define LAUNCHER_LOG_LOG_SINCE_H_

#include <cstdint>
#include <string>

#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_row.h"

namespace launcher {

// Where an attempt's own output begins in a stream's file, and where it ends, once the attempt has;
// of a live one nobody knows: the largest number there is.
std::uint64_t LogBegin(const AttemptRow& attempt, msg::LogStream stream);
std::uint64_t LogEnd(const AttemptRow& attempt, msg::LogStream stream);

// Where that begins which an attempt has written at `since_us` (wall time) or later: the beginning
// of a line, perhaps of one that is a little older, as log_times.h has it, but never a later one.
// LogEnd() if there is nothing.
std::uint64_t LogOffsetSince(const JobRow& job, const TaskRow& task, const AttemptRow& attempt,
                             msg::LogStream stream, const std::string& state_directory,
                             std::int64_t since_us);

}  // namespace launcher

#endif  // LAUNCHER_LOG_LOG_SINCE_H_
