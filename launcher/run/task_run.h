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

// One task of a job at run time: its current attempt, and its output as it is announced line by
// line. It keeps the newest attempt of the task's row up to date; what is to be done is decided
// elsewhere (supervisor.h). On the loop's thread.
class TaskRun {
 public:
  // Shared by all tasks; must outlive them. The callbacks must not destroy the task.
  struct Host {
    runtime::EventLoop* loop = nullptr;
    runtime::Clock* clock = nullptr;
    runtime::Locations locations = {};
    ShimSpawner* spawner = nullptr;
    OtherHosts* hosts = nullptr;       // Makes attempts on nodes. Null: this host has all.
    FollowPace* ready_pace = nullptr;  // For the search for lines that say that a task is ready.
    // The spec that the shim gets for an attempt of a task.
    std::function<ShimSpec(const JobRow&, int task, int attempt)> spec_of = {};
    // Ports that the program of a task binds alone.
    std::function<std::vector<int>(const JobRow&, int task)> lets_go_of = {};
    // As in LocalAttempt::Options, for a task.
    std::function<absl::StatusOr<std::vector<runtime::UniqueFd>>(const JobRow&, int task)>
        locks_of = {};
    std::function<void(const std::string& job, std::uint64_t from, msg::LogLinesT)> on_lines = {};

    // The program runs (its pid may be a new one to the row), or is found to.
    std::function<void(TaskRun*, bool is_new)> on_running = {};
    std::function<void(TaskRun*)> on_ready = {};
    std::function<void(TaskRun*)> on_output = {};
    std::function<void(TaskRun*, const ShimBarrier&)> on_barrier = {};
    // As in Attempt::Callbacks.
    std::function<void(TaskRun*, const std::string& why)> on_look = {};
    std::function<void(TaskRun*, const std::string& reason)> on_probe_failed = {};
    // The attempt is over and the row says how. Acknowledge the passed Attempt once its end is
    // stored.
    std::function<void(TaskRun*, const AttemptEnd&, std::unique_ptr<Attempt>)> on_over = {};
    std::function<void(Attempt*)> on_left = {};
    std::function<void(std::string_view point)> fault = {};  // As in JobTable::Options.
  };
  TaskRun(const Host* host, JobRow* row, int task) : host_(host), row_(row), task_(task) {}
  TaskRun(const TaskRun&) = delete;
  TaskRun& operator=(const TaskRun&) = delete;

  JobRow& job() const { return *row_; }
  int task() const { return task_; }

  // Starts the attempt of the row's last entry; an error if it cannot be.
  absl::Status Start();
  // Finds that attempt, which an earlier launcher has or may have started.
  void Adopt();
  // Ends without an attempt: it could not be started.
  void Fail(const absl::Status& why);
  void Stop(int signal, absl::Duration grace);
  // When this attempt was first asked to stop, by the wall clock; 0: it was not, or not by us.
  std::int64_t stopped_us() const { return stopped_us_; }
  // When the last words of an attempt that has ended began; 0: it had none.
  std::int64_t spoke_us() const { return spoke_us_; }
  // To its process group; false if it does not run.
  bool Signal(int signal);

  // To its program, if this is still its attempt.
  void AnswerBarrier(int attempt, std::uint64_t number, std::string line);

  // Calls `fired` after `delay`, instead of what was set before.
  void SetTimer(absl::Duration delay, std::function<void()> fired) {
    timer_.Start(host_->loop, delay, std::move(fired));
  }
  void CancelTimer() { timer_.Cancel(); }

  // An attempt whose end is stored, but whose shim may not have been told.
  static std::unique_ptr<Attempt> OfEnded(const Host* host, const JobRow& row, int task,
                                          const AttemptRow& attempt);
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
  std::unique_ptr<ReadyWatch> ready_watch_;  // Null: no line says that it is ready, or one has.
  runtime::Timer timer_;
  std::int64_t stopped_us_ = 0;
  std::int64_t spoke_us_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_TASK_RUN_H_
