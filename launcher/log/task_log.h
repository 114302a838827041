#ifndef LAUNCHER_LOG_TASK_LOG_H_
#define LAUNCHER_LOG_TASK_LOG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"
#include "launcher/log/log_segments.h"

namespace launcher {

// The output of one task over its attempts, as a LogsRequest asks for it: determines the bytes to
// send next. With `follow` it sends everything, over all further attempts, until the job has ended
// and every byte is sent (a partial line as it arrives); without, only the present output. With
// `since_us` it begins in the attempt that ran at that time, at the line that was being written
// (log_times.h), and goes on with all later attempts. `last_lines` counts for each stream
// separately, over all requested attempts. Not thread-safe; reads files, but never waits for
// output.
class TaskLog {
 public:
  // The result of Next().
  enum class Got {
    kSome,
    kNothing,  // No more output for now.
    kAll,
  };
  // `task` is the task's rank. `request` is not owned and outlives the log. `state_directory` is
  // that of LogPath().
  TaskLog(std::size_t task, const msg::LogsRequestT* request, std::string state_directory)
      : task_(task), request_(request), state_directory_(std::move(state_directory)) {}

  // Fills `part` with the next bytes; after sending them, call Sent() to move past them. NotFound
  // if the requested attempt does not exist.
  absl::StatusOr<Got> Next(const JobRow& row, msg::LogsReplyT* part);
  void Sent(std::uint64_t bytes) { sending_->offset += bytes; }

  // Number of the attempt that is being read; 0 before the first.
  int attempt() const { return attempt_; }

 private:
  struct Cursor {
    msg::LogStream stream;
    LogSegments log;
    std::uint64_t offset = 0;
  };
  using Offsets = std::array<std::uint64_t, 2>;  // By stream.

  const TaskRow& TaskOf(const JobRow& row) const { return row.tasks[task_]; }
  bool HasEndedIn(const JobRow& row) const { return HasEnded(row.status.tasks[task_].state); }
  std::vector<msg::LogStream> Streams() const;
  LogSegments LogOf(const JobRow& row, const AttemptRow& attempt, msg::LogStream stream) const;

  absl::StatusOr<bool> OpenAttempt(const JobRow& row);
  bool GoOn(const JobRow& row, const AttemptRow& attempt);
  int FirstAttempt(const TaskRow& task) const;
  void Plan(const JobRow& row, int first);
  std::uint64_t BeginOf(const JobRow& row, const AttemptRow& attempt, msg::LogStream stream) const;
  bool Read(const JobRow& row, const AttemptRow& attempt, Cursor& cursor, msg::LogsReplyT* part);

  const std::size_t task_;
  const msg::LogsRequestT* const request_;
  const std::string state_directory_;
  int attempt_ = 0;  // 0 until the next attempt is opened.
  int next_ = 0;     // The attempt to open next; 0 before the first.
  // The start offsets in the attempts that existed at the beginning.
  std::map<int, Offsets> begins_;
  std::vector<Cursor> cursors_;
  std::size_t next_cursor_ = 0;
  Cursor* sending_ = nullptr;
  bool done_ = false;
};

}  // namespace launcher

#endif  // LAUNCHER_LOG_TASK_LOG_H_
