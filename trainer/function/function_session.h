#ifndef TRAINER_FUNCTION_FUNCTION_SESSION_H_
#define TRAINER_FUNCTION_FUNCTION_SESSION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"
#include "trainer/function/baton.h"
#include "trainer/function/named_values.h"
#include "trainer/function/reporter.h"

namespace trainer {

// One run of a function in lock step with its driver: a queue of one result, and a baton in each
// direction. The function is parked in Report() whenever the driver is not waiting in Await().
//
// Run() is called on the function's thread, the methods under "Driver" on one other thread. Both
// share ownership, because the function's thread may outlive the driver's interest in it.
class FunctionSession {
 public:
  using Body = std::function<absl::Status(Reporter&)>;

  // A checkpoint that is not committed yet.
  struct Saved {
    std::string temporary;             // Its directory.
    std::optional<std::int64_t> step;  // Step that it was saved for, if any.
    bool as_values = false;
  };
  struct Event {
    enum class Kind { kReport, kReturned, kFailed } kind = Kind::kReport;
    NamedValues values;          // kReport.
    absl::Duration time;         // kReport: running time, without parking.
    absl::Status error;          // kFailed.
    bool error_is_next = false;  // kReport: the function has failed since.
  };

  // `clock` measures the time of iterations; it is not owned.
  FunctionSession(TrialInfo trial, std::optional<Checkpoint> newest, const runtime::Clock* clock);

  // Runs the function to its end. The outcome is its error, or an escaped exception as Unknown (at
  // most 4 KiB of text); StopTrial is a clean end; Aborted means that the thread ended inside the
  // function (pthread_exit()). CurrentReporter() is set during the call.
  void Run(const Body& body);

  // Driver. Resumes the function after its report.
  void Resume();
  // Waits, in real time, for the next report or, after the last one, for the end, which later calls
  // return again. DeadlineExceeded if neither came in time; it may be called again.
  absl::StatusOr<Event> Await(absl::Duration timeout);
  // Makes Report() throw StopTrial from now on; wakes a parked one.
  void RequestStop();
  // Accepts no more checkpoints from a function that has not ended.
  void Close();
  bool HasUnreadReport() const;
  // Returns the status with which Run() ended; OK before that.
  absl::Status outcome() const;
  // Returns the checkpoints saved since the last call.
  std::vector<Saved> TakeSaved();
  void SetNewest(std::optional<Checkpoint> newest);
  // Adds events for TakeEvents(), which keeps the newest 1,000.
  void AddEvents(std::vector<std::string> events);

  // Function: see Reporter.
  void Report(NamedValues values);
  void SaveCheckpoint(std::int64_t step,
                      const std::function<void(const std::string& directory)>& write);
  void SaveCheckpoint(std::int64_t step, const std::string& directory);
  void SaveCheckpoint(const NamedValues& values);
  std::optional<Checkpoint> newest() const;
  std::vector<std::string> TakeEvents();
  const TrialInfo& trial() const { return trial_; }

 private:
  void Finish(absl::Status outcome);
  // Throws if no checkpoint is accepted now.
  void CheckOpen() const;
  // Makes a temporary directory, for `step` if set, and has `write` fill it.
  std::string Fill(std::optional<std::int64_t> step,
                   const std::function<void(const std::string& directory)>& write) const;
  void Keep(Saved saved, std::optional<NamedValues> values);
  std::optional<Event> TakeEvent();

  const TrialInfo trial_;
  const runtime::Clock* const clock_;

  // Passed to the driver when there is an event; to the function when it may go on. Thread-safe.
  Baton event_, go_on_;

  mutable runtime::Mutex mutex_;
  std::optional<Event> report_ ABSL_GUARDED_BY(mutex_);  // The queue of one.
  bool reporting_ ABSL_GUARDED_BY(mutex_) = false;       // A thread is in Report().
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> outcome_ ABSL_GUARDED_BY(mutex_);
  absl::Duration began_ ABSL_GUARDED_BY(mutex_);  // Start of the iteration, monotonic.
  std::optional<Checkpoint> newest_ ABSL_GUARDED_BY(mutex_);
  std::vector<Saved> saved_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_SESSION_H_
