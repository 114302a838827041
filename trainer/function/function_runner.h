#ifndef TRAINER_FUNCTION_FUNCTION_RUNNER_H_
#define TRAINER_FUNCTION_FUNCTION_RUNNER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/thread.h"
#include "trainer/function/function_session.h"
#include "trainer/function/functions.h"
#include "trainer/function/named_values.h"
#include "trainer/function/reporter.h"
#include "trainer/function/trainable.h"
#include "trainer/function/training_progress.h"

namespace trainer {

// A registered function as a trainable: on a thread of its own, in exact lock step, as Ray Tune's
// FunctionRunner (docs/trainables.md says what differs).
//
// Nothing runs before the first Step(). Code behind a report runs only in the next Step(), so the
// function is parked whenever its driver does anything else. Its end is a duplicate of the last
// result, the Step() behind that OutOfRange; its failure is the error of the Step() that finds no
// result before it. After either, the next Step() starts it anew from the newest checkpoint that is
// whole (a damaged one is warned of). A checkpoint given to Restore() takes effect at that start,
// too. A checkpoint that the disk refuses is the error of the Step() it would have come with, whose
// result comes with the next one.
//
// One thread calls all methods (the driver).
class FunctionRunner : public Trainable {
 public:
  struct Options {
    TrialInfo trial;  // Its directory is made when it is needed.
    NamedValues config = {};
    std::string experiment_id = {};                        // Empty: a new one.
    const runtime::Clock* clock = runtime::Clock::Real();  // Stamps results; not owned.
    // How long one Step() waits for the function, in real time. When it is over Step() returns
    // DeadlineExceeded; the next one waits for the same result.
    absl::Duration step_timeout = absl::InfiniteDuration();
    // How long Stop() waits for the function to end, in real time. A function that is not back in
    // the reporter by then is left alone on its thread.
    absl::Duration stop_timeout = absl::Seconds(2);
    // Called with warnings for the user. Unset: they are logged.
    std::function<void(const std::string&)> warn = {};
  };

  FunctionRunner(TrainableFunction function, Options options);
  // Stops it; an error is only told as a warning.
  ~FunctionRunner() override;

  absl::StatusOr<Result> Step() override;
  // While a Step() that has timed out is going on, FailedPrecondition, as the four below.
  absl::StatusOr<std::string> Save() override;
  absl::Status Restore(const std::string& path) override;
  absl::StatusOr<std::string> SaveToObject() override;
  absl::Status RestoreFromObject(std::string_view object) override;
  absl::Status Execute(const std::function<absl::Status(Trainable&)>& function) override;
  // Warns of results that nobody has read. DeadlineExceeded names a function that does not end.
  absl::Status Stop() override;

 private:
  struct Newest {
    std::string path;
    bool temporary = false;
  };

  std::string Named() const;  // "function train of trial t-abcde"
  void Warn(const std::string& text) const;
  absl::Status CheckParked(std::string_view what) const;

  absl::Status Start();
  // Makes the newest checkpoint that is whole the newest.
  void DropDamaged();
  absl::StatusOr<std::optional<Checkpoint>> LoadNewest() const;
  absl::StatusOr<Result> TakeEvent(FunctionSession::Event event);
  absl::StatusOr<Result> Deliver();
  // Commits the checkpoints that the function has saved; gives up one that cannot be committed.
  absl::Status CommitSaved();
  void SetNewest(std::string path);
  // Tells the function of the newest checkpoint.
  absl::Status TellNewest();
  // The function's thread has ended, or is about to.
  void DropSession();

  // From a checkpoint in the trial's directory.
  absl::Status Adopt(const std::string& path, bool temporary);
  absl::Status StopFunction();
  absl::Status RemoveTemporaries();

  const TrainableFunction function_;
  const Options options_;
  const std::shared_ptr<const NamedValues> config_;

  TrainingProgress progress_;
  std::optional<Result> last_;            // Since a restore.
  std::vector<std::string> earlier_;      // Permanent checkpoints before the newest, at most 16.
  std::optional<Newest> newest_;          // None: the function starts from nothing.
  bool fresh_ = false;                    // Save() has not returned the newest yet.
  std::vector<std::string> temporaries_;  // To be removed.

  std::shared_ptr<FunctionSession> session_;  // Null: the next Step() starts the function.
  std::unique_ptr<runtime::Thread> thread_;
  bool awaiting_ = false;              // The function runs: a Step() has timed out.
  bool returned_ = false;              // It has ended well, and the duplicate was delivered.
  std::optional<Result> undelivered_;  // An error came in its place.
  bool stopped_ = false;
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_RUNNER_H_
