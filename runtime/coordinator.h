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

// Stops the threads of one process together; re-imagines TensorFlow's tf.train.Coordinator. Any
// thread may call any method.
//
// The first request to stop wins: Join() returns its error, if it has one; later errors are logged.
// docs/coordinator.md names the claim of the original that each test re-imagines.
class Coordinator {
 public:
  using StopCallbackId = std::uint64_t;  // 0 is never a valid id.

  struct Options {
    Clock* clock = Clock::Real();  // Not owned; must outlive the Coordinator.
    // Error codes that mean "finished", not "failed".
    std::vector<absl::StatusCode> clean_stop_codes = {absl::StatusCode::kOutOfRange};
  };
  Coordinator();
  explicit Coordinator(Options options);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Returns another handle of the same coordinator, for a thread that may outlive this one.
  std::shared_ptr<Coordinator> Share() const;
  // The clock of all its deadlines.
  Clock* clock() const;

  // Asks every thread to stop. Idempotent; returns at once. Between Join() and ClearStop() no call
  // would return an error any more, so this method returns it to the caller.
  absl::Status RequestStop(absl::Status why = absl::OkStatus());
  bool ShouldStop() const;
  // Returns true once a stop was requested, false if `timeout` expires first.
  bool WaitForStop(absl::Duration timeout);
  // The same, until a moment of clock()->Monotonic().
  bool WaitForStopUntil(absl::Duration deadline);
  // Calls `stopped` on the thread that requests a stop (now, if one was requested), and again for
  // another stop after ClearStop(). It must not block; it may use the Coordinator.
  StopCallbackId OnStop(std::function<void()> stopped);
  // Removes a callback; one that is running just now continues.
  void RemoveOnStop(StopCallbackId callback);
  // Resets the stop, its error, and the call of Join(), so that the Coordinator can be reused.
  void ClearStop();

  // Runs `body`. Passes an error that it returns, or an exception that it throws (as Internal, with
  // its what()), to RequestStop() and does not propagate it (re-imagines stop_on_exception).
  // Returns false if `body` did not return OK. If the thread is cancelled in `body`, or calls
  // pthread_exit(), it ends without requesting a stop.
  bool StopOnError(const std::function<absl::Status()>& body);

  // Makes Join() wait for `thread` too. The Thread may be destroyed earlier. It is unregistered
  // when it ends, and by Join().
  void RegisterThread(Thread* thread);

  // Waits until a stop is requested or every registered thread and every one in `threads` has
  // ended, then for at most `grace`. Returns the stop's error if there is one; otherwise
  // DeadlineExceeded, which names the threads that still run (OK and a log line if
  // `ignore_live_threads`); otherwise OK. Threads that still run keep what they use: a process that
  // gives up on them must leave by _exit. May be called again, and returns the stored error again
  // until ClearStop().
  absl::Status Join(std::span<Thread* const> threads = {}, absl::Duration grace = absl::Minutes(2),
                    bool ignore_live_threads = false);
  bool joined() const;
  // Returns the stop's error, or OK.
  absl::Status RaiseRequested() const;
  // Returns the names of registered threads that have not ended, sorted.
  std::vector<std::string> LiveThreads() const;

 private:
  struct State;
  explicit Coordinator(std::shared_ptr<State> state);
  // Threads share it, so that one that outlives the Coordinator can still report its end.
  const std::shared_ptr<State> state_;
};

}  // namespace runtime

#endif  // RUNTIME_COORDINATOR_H_
