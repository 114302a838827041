#ifndef TRAINER_TABLE_ATTACHED_TRIALS_H_
#define TRAINER_TABLE_ATTACHED_TRIALS_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/new_trials.h"
#include "trainer/table/trial_table.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Trials of attached processes, which the launcher did not start (attempt/attached_runner.h): makes
// a trial from the greeting of a shim, lets it run at once, and tracks which shims are connected.
// Use it on the loop's thread, which it may block for the disk.
class AttachedTrials {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the four below; all outlive this.
    const runtime::Clock* clock = nullptr;
    TrialStore* store = nullptr;
    TrialTable* table = nullptr;
    const NewTrials* new_trials = nullptr;
    absl::Duration patience;  // See Trials::Options::attached_patience.
    // Adds a new trial, which is stored already, to the table, at hand.
    std::function<absl::Status(TrialRecord record)> adopt;
    std::function<absl::Status(Trial&)> prepare_directory;
    // Called when LaunchDue, CannotStart or ResourcesGranted has happened to the trial. On error
    // the event could not be stored.
    std::function<absl::Status(Trial&, const LifeEvent&)> happened;
    std::function<void(Trial&, ProgramEnd)> ended;           // Its attempt has ended.
    std::function<void()> on_stored;                         // As in LineIntake::Options.
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
  };
  explicit AttachedTrials(Options options) : options_(std::move(options)) {}
  AttachedTrials(const AttachedTrials&) = delete;
  AttachedTrials& operator=(const AttachedTrials&) = delete;

  // See LineReceiver for the errors.
  absl::StatusOr<AttemptKey> Attach(const AttachRequest& request);
  // Call OnConnection() for any attempt: the runner of a launched program ignores it.
  void OnConnection(const AttemptKey& attempt, bool is_open);
  void OnOver(std::function<void(const AttemptKey&, const std::string& why)> over);

  // Gives the trial a runner, which waits for its shim unless the shim is connected.
  void TakeUp(Trial& trial);

 private:
  absl::StatusOr<AttemptKey> Begin(Trial& trial);
  void OnEnded(const AttemptKey& attempt, ProgramEnd end);

  const Options options_;
  std::set<AttemptKey> connected_;  // Attempts whose shims are connected.
  std::function<void(const AttemptKey&, const std::string&)> over_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_ATTACHED_TRIALS_H_
