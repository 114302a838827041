#ifndef LAUNCHER_LOG_LOG_SEARCH_H_
#define LAUNCHER_LOG_LOG_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_row.h"

namespace launcher {

// A search through the output of many tasks, the newest line first.
//
// All lines are totally ordered: by the time at which they were written, as the index of their
// stream has it (log_times.h), then by task name, attempt, stream and offset. Each stream is read
// from its end, one interval of the index at a time, and the stream whose next line is the newest
// is read next. So an answer needs memory only for its lines, and a cursor is the position in that
// order at which it ended. A cursor stays valid while tasks write on, since their new lines precede
// it. If the shim has made an index coarser in the meantime, lines of one interval may be returned
// twice.

// One output stream of an attempt.
struct SearchedStream {
  std::string task;  // "j-abcde/worker-0"
  std::uint32_t attempt = 0;
  msg::LogStream stream = msg::LogStream::Stdout;
  std::int64_t started_us = 0, ended_us = 0;  // `ended_us` is 0 while the attempt runs.
  std::uint64_t begin = 0, end = 0;           // LogBegin() and LogEnd().
  std::string path, times_path;
};

// Adds the streams of the job, or of its task with rank `task`, that match the request and may have
// lines of the requested time. Call it on the thread that owns `job`.
void AddSearchedStreams(const JobRow& job, int task, const std::string& state_directory,
                        const msg::SearchLogsRequestT& request,
                        std::vector<SearchedStream>* streams);

inline constexpr std::size_t kMostFoundLines = 5'000;
inline constexpr std::size_t kMostSearchedBytes = 64 << 20;  // Read from files for one answer.
inline constexpr std::size_t kMostFoundBytes = 8 << 20;      // Text of an answer.
inline constexpr std::size_t kMostFoundLineBytes = 16 << 10;

// Searches the streams, and fills the reply except its `jobs`. Reads files, and blocks.
// InvalidArgument if the pattern is not a regular expression or the cursor is malformed. Cancelled
// if `is_cancelled`, which is called every 256 KiB, has returned true.
absl::StatusOr<msg::SearchLogsReplyT> SearchStreams(const std::vector<SearchedStream>& streams,
                                                    const msg::SearchLogsRequestT& request,
                                                    const std::function<bool()>& is_cancelled,
                                                    std::size_t most_bytes = kMostSearchedBytes);

}  // namespace launcher

#endif  // LAUNCHER_LOG_LOG_SEARCH_H_
