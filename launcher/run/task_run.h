#ifndef LAUNCHER_RUN_TASK_RUN_H_
#define LAUNCHER_RUN_TASK_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_row.h"
#include "launcher/log/follow_pace.h"
#include "launcher/log/line_feed.h"
#include "launcher/log/ready_watch.h"
#include "launcher/run/attempt.h"
#include "launcher/run/other_hosts.h"
#include "launcher/run/shim_spawner.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

namespace launcher {

// One task of a job at run time: its current attempt, and its output, which is announced line by
// line. Keeps the newest attempt in the task's row up to date; the decisions about the task are
// made in supervisor.h. Use on the loop's thread.
class TaskRun {
 public:
  // Shared by all tasks; must outlive them. The callbacks must not destroy the task.
  struct Host {
    runtime::EventLoop* loop = nullptr;
    runtime::Clock* clock = nullptr;
    runtime::Locations locations = {};
    ShimSpawner* spawner = nullptr;
    // Makes attempts on nodes. If null, all attempts run on this host.
    OtherHosts* hosts = nullptr;
    // Paces the search of the output for a line that marks the task as ready.
    FollowPace* ready_pace = nullptr;
    // Returns the spec that the shim gets for an attempt of a task.
    std::function<ShimSpec(const JobRow&, int task, int attempt)> spec_of = {};
    // Returns the ports that the program of a task binds exclusively.
    std::function<std::vector<int>(const JobRow&, int task)> lets_go_of = {};
    // See LocalAttempt::Options::locks; here for a given task.
    std::function<absl::StatusOr<std::vector<runtime::UniqueFd>>(const JobRow&, int task)>
        locks_of = {};
    std::function<void(const std::string& job, std::uint64_t from, msg::LogLinesT)> on_lines = {};

    // The program runs: it has just started, or was found running. `is_new` is true if the row did
    // not have its pid yet.
    std::function<void(TaskRun*, bool is_new)> on_running = {};
    std::function<void(TaskRun*)> on_ready = {};
    std::function<void(TaskRun*)> on_output = {};
    std::function<void(TaskRun*, const ShimBarrier&)> on_barrier = {};
    // As in Attempt::Callbacks (both).
    std::function<void(TaskRun*, const std::string& why)> on_look = {};
    std::function<void(TaskRun*, const std::string& reason)> on_probe_failed = {};
    // The attempt has ended and the row contains its end. Acknowledge the passed Attempt once its
    // end is stored.
    std::function<void(TaskRun*, const AttemptEnd&, std::unique_ptr<Attempt>)> on_over = {};
    std::function<void(Attempt*)> on_left = {};
    std::function<void(std::string_view point)> fault = {};  // As in JobTable::Options.
  };
  TaskRun(const Host* host, JobRow* row, int task) : host_(host), row_(row), task_(task) {}
  TaskRun(const TaskRun&) = delete;
  TaskRun& operator=(const TaskRun&) = delete;

  JobRow& job() const { return *row_; }
  int task() const { return task_; }

  // Starts the last attempt in the row; returns an error if it cannot be started.
  absl::Status Start();
  // Re-adopts the last attempt in the row, which an earlier launcher has or may have started.
  void Adopt();
  // Ends the attempt, which could not be started.
  void Fail(const absl::Status& why);
  // Sends a signal to the current attempt, and kills its whole process tree after `grace`.
  void Stop(int signal, absl::Duration grace);
  // When this launcher first asked the attempt to stop, by the wall clock; 0 if it did not.
  std::int64_t stopped_us() const { return stopped_us_; }
  // When the last lines on stderr of an ended attempt began; 0 if it wrote none.
  std::int64_t spoke_us() const { return spoke_us_; }
  // Sends a signal to its process group; returns false if it does not run.
  bool Signal(int signal);

  // Passes the answer to the program, if `attempt` is still the current one.
  void AnswerBarrier(int attempt, std::uint64_t number, std::string line);

  // Calls `fired` after `delay`. Replaces a timer that was set before.
  void SetTimer(absl::Duration delay, std::function<void()> fired) {
    timer_.Start(host_->loop, delay, std::move(fired));
  }
  void CancelTimer() { timer_.Cancel(); }

  // Makes the Attempt for an attempt whose end is stored but may not have been acknowledged to its
  // shim.
  static std::unique_ptr<Attempt> OfEnded(const Host* host, const JobRow& row, int task,
                                          const AttemptRow& attempt);
  // True if the attempt was acknowledged.
  static bool IsLetGo(const Host& host, const JobRow& row, int task, const AttemptRow& attempt);

 private:
  TaskRow& row() const { return row_->tasks[static_cast<std::size_t>(task_)]; }
  absl::Status MakeLogDirectory() const;
  AttemptRow& last() const { return row().attempts.back(); }
  std::string Path(msg::LogStream stream) const;
  void Make();
  LineFeed MakeFeed(msg::LogStream stream);
  std::unique_ptr<ReadyWatch> MakeReadyWatch();
  void OpenFeeds();
  void BeginBeforeLastLines();
  void OnRunning(const ShimState& state);
  void OnOutput(const ShimState& state);
  void OnOver(const AttemptEnd& end);
  void Note(const AttemptEnd& end);
  void EndOutput(const AttemptEnd& end);

  const Host* const host_;
  JobRow* const row_;
  const int task_;
  std::unique_ptr<Attempt> attempt_;
  std::optional<LineFeed> stdout_lines_, stderr_lines_;
  // Null if no line of output marks the task as ready, or one already has.
  std::unique_ptr<ReadyWatch> ready_watch_;
  runtime::Timer timer_;
  std::int64_t stopped_us_ = 0;
  std::int64_t spoke_us_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_TASK_RUN_H_
