#ifndef TRAINER_FUNCTION_FUNCTION_PROCESS_H_
#define TRAINER_FUNCTION_FUNCTION_PROCESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "trainer/function/function_session.h"
#include "trainer/function/functions.h"
#include "trainer/function/program_channel.h"
#include "trainer/function/training_progress.h"

namespace trainer {

// Runs a function as the program of a trial, in its own process, and reports on the report channel
// in exact lock step: the code after report N runs only once the trainer has acknowledged N, also
// across a restart of the trainer.
//
// Corresponds to the actor in which Ray Tune runs a FunctionRunner. The trainer service counts,
// stores and decides; this class only drives a FunctionSession. Unlike FunctionRunner it does not
// restart: a failure ends the process, and the service starts the next attempt. A checkpoint that
// the function saves in the run's directory is committed by the next report (`ckpt`); if there are
// several between two reports, the earlier ones are committed first.
//
// One thread calls Run(), once.
class FunctionProcess {
 public:
  struct Options {
    std::string run_directory;  // Directory for checkpoints: YARD_LOGDIR.
    // Interval at which a line tells the trainer that the process is alive while the function
    // computes. Zero: never.
    absl::Duration heartbeat = absl::ZeroDuration();
    const runtime::Clock* clock = runtime::Clock::Real();  // Stamps results; not owned.
    // How long the function may take to end after it is to end for another reason than a stop,
    // which brings its own grace time.
    absl::Duration end_timeout = absl::Seconds(10);
    // Only the first attempt writes to the trial's log that the function cannot checkpoint.
    bool is_first_attempt = true;
  };
  FunctionProcess(TrainableFunction function, ProgramChannel channel, Options options);
  ~FunctionProcess();  // If the function still runs, its thread continues.

  // Greets the trainer and runs the function to its end. OK if the function has returned, or has
  // ended after a stop. Other errors are the function's failure, which the trainer was told too;
  // Unavailable: the channel is closed; DeadlineExceeded: the function was to end but still runs.
  absl::Status Run();
  // Ends the function at its next report, or at once if it is in one. Any thread.
  void RequestStop();
  // After Run(): true if the function did not end and its thread still runs.
  bool still_runs() const { return thread_ != nullptr && thread_->alive(); }

 private:
  using Saved = FunctionSession::Saved;
  struct Welcome {
    NamedValues config;
    std::string checkpoint;
    std::int64_t iteration = 0;
    TrialInfo trial;
  };
  struct Answer {
    std::optional<absl::Duration> grace;  // Set if the trial is to stop, within this time.
    std::string path;                     // The committed checkpoint.
    std::vector<std::string> events;
  };

  absl::Status RunToTheEnd();
  absl::StatusOr<Welcome> SayHello();
  absl::Status Start(const Welcome& welcome);
  // Writes `text` to the trial's log.
  absl::Status Log(std::string_view text);
  // Returns the function's next event; sends heartbeats while it waits.
  absl::StatusOr<FunctionSession::Event> Await(absl::Duration deadline);
  // Reports the event and resumes the function. Returns its final status if it has ended.
  std::optional<absl::Status> Deliver(FunctionSession::Event event);
  absl::StatusOr<Answer> Report(NamedValues values, bool done, const std::vector<Saved>& saved);
  absl::StatusOr<std::string> Commit(const Saved& saved);
  // Makes the function end within `timeout`; commits checkpoints that it saves meanwhile.
  absl::Status Unwind(absl::Duration timeout);
  // Handles the end of a function.
  absl::Status Finish(const FunctionSession::Event& end);
  // Tells the trainer; returns the error prefixed with the function's name.
  absl::Status Fail(const absl::Status& why);
  absl::StatusOr<Answer> Ask(const std::string& line);
  std::shared_ptr<FunctionSession> session() const;

  const TrainableFunction function_;
  const Options options_;
  ProgramChannel channel_;
  TrainingProgress progress_;
  std::int64_t seq_ = 0;  // Number of the last report.
  std::unique_ptr<runtime::Thread> thread_;

  mutable runtime::Mutex mutex_;
  std::shared_ptr<FunctionSession> session_ ABSL_GUARDED_BY(mutex_);  // Set once started.
  bool stop_requested_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_PROCESS_H_
