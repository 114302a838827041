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

// A function as the program of a trial: in a process of its own, it reports on the report channel
// in exact lock step. Code behind report N runs only after the trainer has acknowledged N, also
// over a restart of the trainer.
//
// Re-imagines the actor that Ray Tune runs a FunctionRunner in. The trainer service counts, keeps
// and decides; this is the driver of a FunctionSession, without what FunctionRunner does beyond
// that: a failure ends the process, and the service starts the next attempt. A checkpoint that the
// function saves in the run's directory is handed over with the next report, which commits it
// (`ckpt`); of several between two reports those before the last are committed first.
//
// One thread calls Run(), once.
class FunctionProcess {
 public:
  struct Options {
    std::string run_directory;  // Where checkpoints are made: YARD_LOGDIR.
    // While the function computes, a line says so often that the process is alive. Zero: never.
    absl::Duration heartbeat = absl::ZeroDuration();
    const runtime::Clock* clock = runtime::Clock::Real();  // Stamps results; not owned.
    // How long the function may take to end that is to end otherwise than by a stop (which brings
    // its own time).
    absl::Duration end_timeout = absl::Seconds(10);
    // The first attempt tells the trial's log that the function cannot checkpoint; later attempts
    // do not repeat it.
    bool is_first_attempt = true;
  };
  FunctionProcess(TrainableFunction function, ProgramChannel channel, Options options);
  ~FunctionProcess();  // A function that still runs is left to its thread.

  // Greets the trainer, and runs the function to its end. OK if it has returned, or was told to
  // stop and has ended. Its failure is the error, of which the trainer was told, too; Unavailable:
  // the channel is gone; DeadlineExceeded: it was to end and still runs.
  absl::Status Run();
  // Lets the function end at its next report, or at once if it is in one. Any thread.
  void RequestStop();
  // After Run(): the function did not end, and its thread goes on.
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
    std::optional<absl::Duration> grace;  // Set: it is to stop, within that time.
    std::string path;                     // The checkpoint that was committed.
    std::vector<std::string> events;
  };

  absl::Status RunToTheEnd();
  absl::StatusOr<Welcome> SayHello();
  absl::Status Start(const Welcome& welcome);
  // Puts `text` into the trial's log.
  absl::Status Log(std::string_view text);
  // The function's next event; heartbeats meanwhile.
  absl::StatusOr<FunctionSession::Event> Await(absl::Duration deadline);
  // Reports, and lets the function go on. Set: it has ended, with that.
  std::optional<absl::Status> Deliver(FunctionSession::Event event);
  absl::StatusOr<Answer> Report(NamedValues values, bool done, const std::vector<Saved>& saved);
  absl::StatusOr<std::string> Commit(const Saved& saved);
  // The function is to end within `timeout`, and what it saves meanwhile is kept.
  absl::Status Unwind(absl::Duration timeout);
  // It has ended by itself.
  absl::Status Finish(const FunctionSession::Event& end);
  // Tells the trainer; the error with the function's name.
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
  std::shared_ptr<FunctionSession> session_ ABSL_GUARDED_BY(mutex_);  // Once it is started.
  bool stop_requested_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_PROCESS_H_
