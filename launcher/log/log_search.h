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
// All lines have one order: the time at which they were written, as the index of their stream has
// it (log_times.h), then the name of their task, attempt, stream and offset. A stream is read from
// its end, a piece of the index at a time, and the stream whose next line comes first is read next.
// So an answer needs no room but for its lines, and a cursor is the place in that order where it
// ended. It stays true while tasks write on: their new lines come before it. Where the shim has
// made an index coarser meanwhile, lines of one interval may come twice.

// One output stream of an attempt.
struct SearchedStream {
  std::string task;  // "j-abcde/worker-0"
  std::uint32_t attempt = 0;
  msg::LogStream stream = msg::LogStream::Stdout;
  std::int64_t started_us = 0, ended_us = 0;  // `ended_us` 0: it still runs.
  std::uint64_t begin = 0, end = 0;           // As LogBegin() and LogEnd().
  std::string path, times_path;
};

// Adds those streams of the job, or of its task of rank `task`, that the request asks for, and that
// may have lines of that time. On the thread that owns `job`.
void AddSearchedStreams(const JobRow& job, int task, const std::string& state_directory,
                        const msg::SearchLogsRequestT& request,
                        std::vector<SearchedStream>* streams);

inline constexpr std::size_t kMostFoundLines = 5'000;
inline constexpr std::size_t kMostSearchedBytes = 64 << 20;  // That an answer reads from files.
inline constexpr std::size_t kMostFoundBytes = 8 << 20;      // Text of an answer.
inline constexpr std::size_t kMostFoundLineBytes = 16 << 10;

// Searches, without `jobs` of the reply. Reads files, and blocks. InvalidArgument: the pattern is
// no regular expression, or the cursor is none. Cancelled: `is_cancelled` was true, which is asked
// every quarter of a megabyte.
absl::StatusOr<msg::SearchLogsReplyT> SearchStreams(const std::vector<SearchedStream>& streams,
                                                    const msg::SearchLogsRequestT& request,
                                                    const std::function<bool()>& is_cancelled,
                                                    std::size_t most_bytes = kMostSearchedBytes);

}  // namespace launcher

#endif  // LAUNCHER_LOG_LOG_SEARCH_H_
