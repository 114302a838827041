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

// Runs a registered function as a trainable, on its own thread in exact lock step, as Ray Tune's
// FunctionRunner does (docs/trainables.md lists the differences).
//
// Nothing runs before the first Step(). The code after a report runs only in the next Step(), so
// the function is parked whenever its driver does anything else. When the function returns, Step()
// delivers a duplicate of the last result, and the Step() after that returns OutOfRange. When it
// fails, the Step() that finds no earlier result returns the error. After either end the next
// Step() restarts the function from the newest undamaged checkpoint (with a warning for each
// damaged one). A checkpoint given to Restore() takes effect at that restart too. If a checkpoint
// cannot be written, the Step() it belongs to returns the error, and the next Step() returns the
// result.
//
// One thread, the driver, calls all methods.
class FunctionRunner : public Trainable {
 public:
  struct Options {
    TrialInfo trial;  // Its directory is created when needed.
    NamedValues config = {};
    std::string experiment_id = {};                        // Empty: generates one.
    const runtime::Clock* clock = runtime::Clock::Real();  // Stamps results; not owned.
    // How long one Step() waits for the function, in real time. After that Step() returns
    // DeadlineExceeded, and the next Step() waits for the same result.
    absl::Duration step_timeout = absl::InfiniteDuration();
    // How long Stop() waits for the function to end, in real time. A function that has not returned
    // to the reporter by then keeps running on its thread, detached.
    absl::Duration stop_timeout = absl::Seconds(2);
    // Receives warnings for the user. If unset, they are logged.
    std::function<void(const std::string&)> warn = {};
  };

  FunctionRunner(TrainableFunction function, Options options);
  // Stops the function; an error becomes a warning.
  ~FunctionRunner() override;

  absl::StatusOr<Result> Step() override;
  // The next five methods return FailedPrecondition while a Step() that timed out is unfinished.
  absl::StatusOr<std::string> Save() override;
  absl::Status Restore(const std::string& path) override;
  absl::StatusOr<std::string> SaveToObject() override;
  absl::Status RestoreFromObject(std::string_view object) override;
  absl::Status Execute(const std::function<absl::Status(Trainable&)>& function) override;
  // Warns about unread results. DeadlineExceeded names a function that does not end.
  absl::Status Stop() override;

 private:
  struct Newest {
    std::string path;
    bool temporary = false;
  };

  std::string Named() const;  // Returns "function train of trial t-abcde".
  void Warn(const std::string& text) const;
  absl::Status CheckParked(std::string_view what) const;

  absl::Status Start();
  // Replaces a damaged newest checkpoint by the newest undamaged one.
  void DropDamaged();
  absl::StatusOr<std::optional<Checkpoint>> LoadNewest() const;
  absl::StatusOr<Result> TakeEvent(FunctionSession::Event event);
  absl::StatusOr<Result> Deliver();
  // Commits the checkpoints that the function has saved; drops one that cannot be committed.
  absl::Status CommitSaved();
  void SetNewest(std::string path);
  // Passes the newest checkpoint to the function.
  absl::Status TellNewest();
  // Waits for the function's thread, which has ended or is about to, and releases it.
  void DropSession();

  // Makes a checkpoint in the trial's directory the newest, with its counters.
  absl::Status Adopt(const std::string& path, bool temporary);
  absl::Status StopFunction();
  absl::Status RemoveTemporaries();

  const TrainableFunction function_;
  const Options options_;
  const std::shared_ptr<const NamedValues> config_;

  TrainingProgress progress_;
  std::optional<Result> last_;            // Last result since a restore.
  std::vector<std::string> earlier_;      // Permanent checkpoints before the newest, at most 16.
  std::optional<Newest> newest_;          // Unset: the function starts afresh.
  bool fresh_ = false;                    // Save() has not returned the newest yet.
  std::vector<std::string> temporaries_;  // Directories to be removed.

  std::shared_ptr<FunctionSession> session_;  // Null: the next Step() starts the function.
  std::unique_ptr<runtime::Thread> thread_;
  bool awaiting_ = false;              // A Step() timed out and the function runs.
  bool returned_ = false;              // It returned OK; the duplicate was delivered.
  std::optional<Result> undelivered_;  // Result whose place an error took.
  bool stopped_ = false;
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_RUNNER_H_
