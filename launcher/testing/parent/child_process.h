#ifndef LAUNCHER_TESTING_PARENT_CHILD_PROCESS_H_
#define LAUNCHER_TESTING_PARENT_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "launcher/job/root_cause.h"
#include "launcher/process/process_table.h"
#include "launcher/testing/call/child_channel.h"
#include "launcher/testing/call/child_message.h"
#include "launcher/testing/output/task_output.h"
#include "runtime/event_loop.h"
#include "runtime/process/subprocess.h"
#include "runtime/timer.h"

namespace launcher::testing {

// Why a process was asked to end or sent a signal.
enum class StopReason {
  kNone,        // It was neither.
  kTerminated,  // Terminate(), TerminateAll().
  kChief,       // The chief rule.
  kTimeOver,    // max_run_time.
  kTimeout,     // The time-out of Join().
};

// One process of a task: from its start until it has ended, its output is read, and everything that
// is killed with it has ended. Use on the loop's thread.
class ChildProcess {
 public:
  struct Events {
    std::function<void(ChildProcess& child, const Message& message)> received;
    std::function<void(bool is_stderr, std::string_view lines)> wrote;  // With one or more lines.
    // The process has ended, and all its messages and output until then were passed on. May delete
    // the object.
    std::function<void(ChildProcess& child)> ended;
    // Another process keeps the output open; no more output is read.
    std::function<void(const std::string& note)> left;
    // IsOver() may have become true.
    std::function<void()> is_done;
  };
  // `number` is unique among all children of this process; `task` is, for example, "worker-0". The
  // loop is not owned.
  ChildProcess(runtime::EventLoop* loop, std::string task, std::uint64_t number, int attempt,
               Events events);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Starts this process's own program with its arguments. Call it once, and before all functions
  // below; if it fails, do not call those. `output_wait` is the time for the output of a process
  // that has ended to be closed.
  absl::Status Start(const StartOrder& order, std::vector<std::string> environment,
                     absl::Duration output_wait);

  std::uint64_t number() const { return number_; }
  int attempt() const { return attempt_; }
  pid_t pid() const { return process_->pid(); }
  // nullopt while it runs.
  const std::optional<runtime::ExitStatus>& exit() const { return exit_; }
  // True if it has ended, even if `ended` was not called yet.
  bool IsGone() const;
  bool IsOver() const;
  StopReason cause() const { return cause_; }
  // Describes its end, once it has ended: "exit code 3", "signal 11 (Segmentation fault)".
  std::string How() const;
  TaskEnd End() const;

  void Send(const Message& message) { channel_->Send(message); }
  void DrainOutput();

  // Asks it to end (kTerminated) or sends SIGTERM to its group, and after `grace` kills it and all
  // that it has started; at once if `grace` is zero.
  void Stop(StopReason cause, absl::Duration grace);
  // Sends a signal to its group, which may or may not end it.
  void Signal(int signal);

 private:
  void OnExit();
  void Kill();
  void KillRound();
  void CloseOutput();
  bool OutputIsAtEnd() const { return out_.at_end() && err_.at_end(); }

  runtime::EventLoop* const loop_;
  const std::string task_;
  const std::uint64_t number_;
  const int attempt_;
  const Events events_;

  std::optional<runtime::Subprocess> process_;
  runtime::EventLoop::WatchId process_watch_ = 0;
  std::unique_ptr<ChildChannel> channel_;
  TaskOutput out_, err_;
  OrphanedTree tree_;
  absl::Duration output_wait_;

  std::optional<runtime::ExitStatus> exit_;
  std::int64_t ended_us_ = 0;
  StopReason cause_ = StopReason::kNone;
  std::int64_t stopped_us_ = 0;
  runtime::Timer stop_timer_, kill_timer_, output_timer_;
  int kill_rounds_ = 0;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_CHILD_PROCESS_H_
