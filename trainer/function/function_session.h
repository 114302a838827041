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

// One run of a function in lock step with its driver: a queue of one result between them, and a
// baton each way. The function is parked in Report() whenever the driver is not waiting in Await().
//
// Run() is called on the function's thread, what is under "driver" on one other. Owned by both (the
// thread may outlive the driver's interest), so shared.
class FunctionSession {
 public:
  using Body = std::function<absl::Status(Reporter&)>;

  // A checkpoint that is not committed yet.
  struct Saved {
    std::string temporary;             // Its directory.
    std::optional<std::int64_t> step;  // Where it was named after one.
    bool as_values = false;
  };
  struct Event {
    enum class Kind { kReport, kReturned, kFailed } kind = Kind::kReport;
    NamedValues values;          // kReport.
    absl::Duration time;         // kReport: that the function has run for it, not parked.
    absl::Status error;          // kFailed.
    bool error_is_next = false;  // kReport: the function has failed meanwhile.
  };

  // `clock` measures the time of iterations; not owned.
  FunctionSession(TrialInfo trial, std::optional<Checkpoint> newest, const runtime::Clock* clock);

  // Runs the function to its end: its error, or what an exception says that leaves it (Unknown, at
  // most 4 KiB); StopTrial is a clean end. Aborted: its thread has ended in it (pthread_exit()).
  // CurrentReporter() is set meanwhile.
  void Run(const Body& body);

  // Driver. Lets the function go on behind its report.
  void Resume();
  // Waits, in real time, for the next report, then for the end, which is told again and again.
  // DeadlineExceeded: nothing yet; it may be called again.
  absl::StatusOr<Event> Await(absl::Duration timeout);
  // From now on Report() throws StopTrial; one that is parked wakes up.
  void RequestStop();
  // Nothing is taken any more from a function that has not ended.
  void Close();
  bool HasUnreadReport() const;
  // The status with which Run() has ended.
  absl::Status outcome() const;
  // The checkpoints that were saved since the last call.
  std::vector<Saved> TakeSaved();
  void SetNewest(std::optional<Checkpoint> newest);
  // For TakeEvents(); of more than 1,000 the oldest are dropped.
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
  // Throws if no checkpoint is taken now.
  void CheckOpen() const;
  // A new temporary directory, for `step` if there is one, that `write` has filled.
  std::string Fill(std::optional<std::int64_t> step,
                   const std::function<void(const std::string& directory)>& write) const;
  void Keep(Saved saved, std::optional<NamedValues> values);
  std::optional<Event> TakeEvent();

  const TrialInfo trial_;
  const runtime::Clock* const clock_;

  // Pass to the driver: there is an event; to the function: go on. Safe by themselves.
  Baton event_, go_on_;

  mutable runtime::Mutex mutex_;
  std::optional<Event> report_ ABSL_GUARDED_BY(mutex_);  // The queue of one.
  bool reporting_ ABSL_GUARDED_BY(mutex_) = false;       // A thread is in Report().
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> outcome_ ABSL_GUARDED_BY(mutex_);
  absl::Duration began_ ABSL_GUARDED_BY(mutex_);  // The iteration, monotonic.
  std::optional<Checkpoint> newest_ ABSL_GUARDED_BY(mutex_);
  std::vector<Saved> saved_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_SESSION_H_
