#ifndef RUNTIME_COORDINATOR_H_
#define RUNTIME_COORDINATOR_H_

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace runtime {

// Stops the threads of one process together; re-imagines TensorFlow's tf.train.Coordinator.
// Any thread may call any method.
//
// The first request to stop wins: its error, if it has one, is returned by Join(); later ones
// are logged.
class Coordinator {
 public:
  struct Options {
    Clock* clock = Clock::Real();  // Not owned; outlives the Coordinator.
    // An error with one of these codes means "finished", not "failed".
    std::vector<absl::StatusCode> clean_stop_codes = {absl::StatusCode::kOutOfRange};
  };
  Coordinator();
  explicit Coordinator(Options options);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Asks every thread to stop. Idempotent, returns at once. After Join() an error can no
  // longer be reported there, so it is returned here instead.
  absl::Status RequestStop(absl::Status why = absl::OkStatus());
  bool ShouldStop() const;
  // True if stopped, false if `timeout` ran out first.
  bool WaitForStop(absl::Duration timeout);
  // Forgets the stop, its error and that Join() was called, so that the Coordinator can be used
  // again.
  void ClearStop();

  // Runs `body`; an error it returns or an exception it throws is reported by RequestStop()
  // and swallowed (re-imagines stop_on_exception). Returns false if it failed.
  bool StopOnError(const std::function<absl::Status()>& body);

  // Join() waits for `thread` too. It must outlive the Join() that collects it.
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
  const Options options_;
  mutable Mutex mutex_;
  CondVar changed_;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
  bool stop_requested_ ABSL_GUARDED_BY(mutex_) = false;
  bool joined_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Thread*> registered_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace runtime

#endif  // RUNTIME_COORDINATOR_H_
