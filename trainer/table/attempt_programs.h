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

// The programs of the attempts that the launcher runs: requests their jobs, follows them, and
// reports their events. The end of an attempt is reported only once all its output and its last
// checkpoint are taken. Use it on the loop's thread, which it may block for the disk.
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
    std::string relay;  // As in Trials::Options, like the next.
    std::string executable;
    // Called when LaunchAnswered, LaunchRefused, JobWaits, ResourcesGranted or AttemptEnded has
    // happened to the trial.
    std::function<void(Trial&, const LifeEvent&)> happened;
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
  };
  explicit AttemptPrograms(Options options) : options_(std::move(options)) {}
  AttemptPrograms(const AttemptPrograms&) = delete;
  AttemptPrograms& operator=(const AttemptPrograms&) = delete;

  // Requests a job with the record's request id. The trial's slot counts as used.
  void Launch(Trial& trial);
  // Follows the record's job, which the launcher has started already.
  void Follow(Trial& trial);
  // Asks the launcher to stop the program. Its output is also awaited only for `grace`, because on
  // a full disk it might never be taken.
  void Stop(Trial& trial, const action::SendStop& stop);
  // The attempt, perhaps of an attached process, has ended: AttemptEnded follows, now or later.
  void OnEnded(Trial& trial, ProgramEnd end);
  // A checkpoint of the trial was read and, if a line asked for it, committed. The end of its
  // attempt may have waited for that.
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
