#ifndef TRAINER_TABLE_ATTEMPT_PROGRAMS_H_
#define TRAINER_TABLE_ATTEMPT_PROGRAMS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/launcher_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/store/trial_record.h"
#include "trainer/table/launch_queue.h"
#include "trainer/table/line_intake.h"
#include "trainer/table/trial_news.h"
#include "trainer/table/trial_table.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial.h"

namespace trainer {

// The programs of the attempts that the launcher runs: asks it for their jobs, follows them, and
// says what happens to them. The end of an attempt is said only once all that it left is taken: its
// output, and its last checkpoint. On the loop's thread, which it may block for the disk.
class AttemptPrograms {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the six below; all outlive this.
    const runtime::Clock* clock = nullptr;
    bus::JobControl* jobs = nullptr;
    TrialTable* table = nullptr;
    LaunchQueue* queue = nullptr;
    TrialNews* news = nullptr;
    LineIntake* intake = nullptr;
    std::string relay;  // As in Trials::Options, as the next.
    std::string executable;
    // LaunchAnswered, LaunchRefused, JobWaits, ResourcesGranted or AttemptEnded has happened to the
    // trial.
    std::function<void(Trial&, const LifeEvent&)> happened;
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
  };
  explicit AttemptPrograms(Options options) : options_(std::move(options)) {}
  AttemptPrograms(const AttemptPrograms&) = delete;
  AttemptPrograms& operator=(const AttemptPrograms&) = delete;

  // Asks for a job, under the record's request id. The trial's slot counts as used.
  void Launch(Trial& trial);
  // Takes up the record's job, which the launcher has started already.
  void Follow(Trial& trial);
  // Asks the program to end, from outside. Its output is waited for only for `grace`, too: without
  // room on the disk it could be for ever.
  void Stop(Trial& trial, const action::SendStop& stop);
  // The attempt, of an attached process perhaps, has ended: AttemptEnded follows, perhaps later.
  void OnEnded(Trial& trial, ProgramEnd end);
  // A checkpoint of the trial was read and, if anybody waited for that, committed: its attempt may
  // have waited for that with its end.
  void OnCheckpointRead(std::int64_t trial);

 private:
  void MakeRunner(Trial& trial);
  void OnLaunched(Trial& trial, absl::StatusOr<std::string> job);
  void OnNoRoom(Trial& trial, const absl::Status& status);
  void OnJobChanged(Trial& trial, const msg::JobT& job);
  void GiveUpOutputAfter(Trial& trial, absl::Duration grace);
  const TrialRecord* TrialOf(const std::string& job) const;

  const Options options_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_ATTEMPT_PROGRAMS_H_
