#ifndef TRAINER_SWEEP_SWEEPS_H_
#define TRAINER_SWEEP_SWEEPS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "trainer/store/trial_store.h"
#include "trainer/sweep/optimiser_lines.h"
#include "trainer/table/trials.h"
#include "trainer/trial/report_judge.h"

namespace trainer {

// Every sweep the trainer knows: hosts the engines (tuning/engine/engine.h), carries out what they
// order, and answers for them.
//
//   Running <-> Paused          -> Stopping -> Done | Stopped | Failed
//      ^------- (resumed) ------------------------'
//
// An event is stored before its actions are carried out; all actions can be carried out twice. So a
// trainer killed at any instant goes on where the last one was: it applies the stored events, does
// again what may not have been done, and looks at what its trials have become. The verdict on a
// report is stored with the report (ReportJudge). Suggestions are computed in the background, one
// at a time for each sweep, or come from a program that the launcher runs (optimiser.h).
//
// A trial of a sweep is a trial as any other: it is NAME-0007, in the group of the sweep's id, and
// labelled sweep=NAME. Somebody may stop, pause and resume it.
//
// Without room on the disk a sweep waits, and goes on when there is some. On the loop's thread;
// blocks for the disk.
class Sweeps : public ReportJudge {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as the two below; all outlive it.
    runtime::Clock* clock = runtime::Clock::Real();
    TrialStore* store = nullptr;
    // For external optimisers. Neither is owned; both outlive it. Null: sweeps with one fail.
    bus::JobControl* jobs = nullptr;
    OptimiserLines* lines = nullptr;
    std::string logdir;  // As in Trials::Options, as the next.
    std::string relay = {};
    // Runs work that takes long on another thread. Unset: at once, on the loop's thread.
    std::function<void(std::function<void()> work)> background = {};
    // A sweep has changed: as it is, with those of its trials that have. Optional.
    std::function<void(msg::SweepEventT)> on_event = {};
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
  };
  // Loads the state. Starts nothing yet.
  static absl::StatusOr<std::unique_ptr<Sweeps>> Open(Options options);

  // Takes up what an earlier trainer left. After Trials::Resume(), in the same turn of the loop.
  // `trials` is not owned and outlives it.
  virtual void Resume(Trials* trials) = 0;

  // Stores a new sweep; it starts by itself. The same request id again answers with the same sweep.
  // InvalidArgument: the plan, or the template of its trials; AlreadyExists: the name is another
  // sweep's, or a directory that it needs holds results.
  virtual absl::StatusOr<msg::SweepT> Run(const std::string& request_id,
                                          const msg::RunSweepRequestT& request,
                                          const std::string& trace) = 0;
  // Names a sweep as Trials::Find() does a trial.
  virtual absl::StatusOr<std::string> Find(std::string_view name) const = 0;
  // By its exact id; NotFound.
  virtual absl::StatusOr<msg::SweepT> Get(const std::string& id) const = 0;
  virtual std::vector<msg::SweepT> List(bool live_only) const = 0;  // Oldest first.
  // By its exact id; NotFound. Reads the events of a sweep that has ended.
  virtual absl::StatusOr<msg::SweepDetailsReplyT> Details(const std::string& id) = 0;
  // The sweep, and its trials that have changed after its event `event`.
  virtual absl::StatusOr<msg::FollowSweepReplyT> Since(const std::string& id,
                                                       std::uint64_t event) = 0;

  // Stops, pauses, resumes, changes it, or says what it tries next; all but Remove. The same
  // request id again changes nothing. InvalidArgument, FailedPrecondition say what does not fit.
  virtual absl::StatusOr<msg::SweepT> Change(const std::string& id,
                                             const msg::ChangeSweepRequestT& request,
                                             const std::string& request_id,
                                             const std::string& trace) = 0;
  // Removes its trials, a few at a time, and then the sweep, as it was. FailedPrecondition: it has
  // not ended, or one of its trials cannot be removed; those before it are gone then. `done` may be
  // called later, on the loop's thread; not at all once this has gone.
  virtual void Remove(const std::string& id, const std::string& request_id,
                      std::function<void(absl::StatusOr<msg::SweepT>)> done) = 0;

  // Calls `changed` after every change of a sweep until Forget().
  using ObserverId = std::uint64_t;
  virtual ObserverId Observe(const std::string& id, std::function<void()> changed) = 0;
  virtual void Forget(ObserverId observer) = 0;
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEPS_H_
