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

// The output of one task, from attempt to attempt: which bytes are to be sent next to who has made
// a LogsRequest. With `follow` all there is until the job has ended and every byte is sent, over
// all further attempts (what has no newline yet as it comes); without, what is there. With
// `since_us` it begins with the attempt that ran then, at the line that was being written
// (log_times.h), and sends all later attempts too. `last_lines` counts for each stream on its own,
// over all attempts that are asked for. Not thread safe; reads files, but never waits.
class TaskLog {
 public:
  enum class Got {
    kSome,
    kNothing,  // For now.
    kAll,
  };
  // `task` is the task's rank. `request` outlives the log. `state_directory` as in LogPath().
  TaskLog(std::size_t task, const msg::LogsRequestT* request, std::string state_directory)
      : task_(task), request_(request), state_directory_(std::move(state_directory)) {}

  // Fills `part`; Sent() moves on behind it. NotFound if there is no attempt of the wanted number.
  absl::StatusOr<Got> Next(const JobRow& row, msg::LogsReplyT* part);
  void Sent(std::uint64_t bytes) { sending_->offset += bytes; }

  // Number of the attempt that is being read; 0: none yet.
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
  int attempt_ = 0;  // 0: to be opened.
  int next_ = 0;     // Attempt to go on with; 0: none was opened yet.
  // Where to begin in those attempts that were there at the beginning.
  std::map<int, Offsets> begins_;
  std::vector<Cursor> cursors_;
  std::size_t next_cursor_ = 0;
  Cursor* sending_ = nullptr;
  bool done_ = false;
};

}  // namespace launcher

#endif  // LAUNCHER_LOG_TASK_LOG_H_
