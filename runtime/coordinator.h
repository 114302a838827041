#ifndef RUNTIME_COORDINATOR_H_
#define RUNTIME_COORDINATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/thread.h"

namespace runtime {

// Stops the threads of one process together; re-imagines TensorFlow's tf.train.Coordinator.
// Any thread may call any method.
//
// The first request to stop wins: its error, if it has one, is returned by Join(); later ones
// are logged. docs/coordinator.md names the claim of the original that each test re-imagines.
class Coordinator {
 public:
  using StopCallbackId = std::uint64_t;  // 0 is never one.

  struct Options {
    Clock* clock = Clock::Real();  // Not owned; outlives the Coordinator.
    // An error with one of these codes means "finished", not "failed".
    std::vector<absl::StatusCode> clean_stop_codes = {absl::StatusCode::kOutOfRange};
  };
  Coordinator();
  explicit Coordinator(Options options);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Another handle of the same coordinator, for a thread that may outlive this one.
  std::shared_ptr<Coordinator> Share() const;
  // The clock that all its deadlines use.
  Clock* clock() const;

  // Asks every thread to stop. Idempotent, returns at once. Between Join() and ClearStop() an
  // error can no longer be reported there, so it is returned here instead.
  absl::Status RequestStop(absl::Status why = absl::OkStatus());
  bool ShouldStop() const;
  // True if stopped, false if `timeout` ran out first.
  bool WaitForStop(absl::Duration timeout);
  // The same until a moment of clock()->Monotonic().
  bool WaitForStopUntil(absl::Duration deadline);
  // Calls `stopped` on the thread that requests a stop (now, if one was requested); again after
  // a ClearStop() and another stop. It must not block; it may use the Coordinator.
  StopCallbackId OnStop(std::function<void()> stopped);
  // A callback that is running just now goes on.
  void RemoveOnStop(StopCallbackId callback);
  // Forgets the stop, its error and that Join() was called, so that the Coordinator can be used
  // again.
  void ClearStop();

  // Runs `body`; an error it returns or an exception it throws (Internal, with its what()) is
  // reported by RequestStop() and swallowed (re-imagines stop_on_exception). Returns false if
  // `body` did not return OK. A thread that is cancelled in it, or calls pthread_exit(), ends
  // without asking anybody to stop.
  bool StopOnError(const std::function<absl::Status()>& body);

  // Join() waits for `thread` too; it may be destroyed before. Forgotten when it ends, and by
  // Join().
  void RegisterThread(Thread* thread);

  // Waits until every registered thread and every one in `threads` has ended or a stop was
  // requested, then for at most `grace`. Returns the reported error, else DeadlineExceeded
  // naming the threads still running (OK with a log line if `ignore_live_threads`), else OK. A
  // straggler is never destroyed under its feet: a process that gives up on one leaves by
  // _exit. May be called again and returns the stored error again until ClearStop().
  absl::Status Join(std::span<Thread* const> threads = {}, absl::Duration grace = absl::Minutes(2),
                    bool ignore_live_threads = false);
  bool joined() const;
  // The stored error, or OK.
  absl::Status RaiseRequested() const;
  // Names of registered threads that have not ended, sorted.
  std::vector<std::string> LiveThreads() const;

 private:
  struct State;
  explicit Coordinator(std::shared_ptr<State> state);
  // Threads hold it, so that one which outlives the Coordinator can still say that it ended.
  const std::shared_ptr<State> state_;
};

}  // namespace runtime

#endif  // RUNTIME_COORDINATOR_H_
