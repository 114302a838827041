#ifndef LAUNCHER_LOG_LOG_SINCE_H_
#define LAUNCHER_LOG_LOG_SINCE_H_

#include <cstdint>
#include <string>

#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_row.h"

namespace launcher {

// Return the offsets in a stream's log at which an attempt's own output begins and ends. The end of
// a live attempt is unknown; LogEnd() is then the largest number.
std::uint64_t LogBegin(const AttemptRow& attempt, msg::LogStream stream);
std::uint64_t LogEnd(const AttemptRow& attempt, msg::LogStream stream);

// Returns the offset from which on an attempt has written at `since_us` (wall time) or later: the
// beginning of a line. It may be the offset of a slightly older line, as precise as log_times.h,
// but never of a later one. LogEnd() if the attempt wrote nothing since then.
std::uint64_t LogOffsetSince(const JobRow& job, const TaskRow& task, const AttemptRow& attempt,
                             msg::LogStream stream, const std::string& state_directory,
                             std::int64_t since_us);

}  // namespace launcher

#endif  // LAUNCHER_LOG_LOG_SINCE_H_
