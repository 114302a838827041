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

// All sweeps of the trainer: hosts their engines (tuning/engine/engine.h), executes the engines'
// actions, and answers calls about sweeps.
//
//   Running <-> Paused          -> Stopping -> Done | Stopped | Failed
//      ^------- (resumed) ------------------------'
//
// An event is stored before its actions run, and all actions are idempotent. So after a kill at any
// instant the next trainer continues: it applies the stored events, repeats actions that may not
// have run, and checks the states of its trials. The verdict on a report is stored with the report
// (ReportJudge). Suggestions are computed in the background, one at a time for each sweep, or come
// from a program that the launcher runs (optimiser.h).
//
// A sweep's trial is an ordinary trial: it is called NAME-0007, belongs to the group of the sweep's
// id, and has the label sweep=NAME. Users may stop, pause and resume it.
//
// While the disk is full, a sweep waits, and it continues once there is room. Use it on the loop's
// thread; blocks for the disk.
class Sweeps : public ReportJudge {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the two below; all outlive this.
    runtime::Clock* clock = runtime::Clock::Real();
    TrialStore* store = nullptr;
    // For external optimisers. Neither is owned; both outlive this. If null, sweeps with one fail.
    bus::JobControl* jobs = nullptr;
    OptimiserLines* lines = nullptr;
    std::string logdir;  // As in Trials::Options, like the next.
    std::string relay = {};
    // Runs long work on another thread. If unset, work runs at once on the loop's thread.
    std::function<void(std::function<void()> work)> background = {};
    // Called when a sweep has changed, with the sweep and its changed trials. Optional.
    std::function<void(msg::SweepEventT)> on_event = {};
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
  };
  // Loads the state. Starts nothing yet.
  static absl::StatusOr<std::unique_ptr<Sweeps>> Open(Options options);

  // Takes over the sweeps of an earlier trainer. Call it after Trials::Resume(), in the same turn
  // of the loop. `trials` is not owned and outlives this.
  virtual void Resume(Trials* trials) = 0;

  // Stores a new sweep, which then starts by itself. A repeated request id returns the same sweep.
  // InvalidArgument for the plan or the trial template; AlreadyExists if another sweep has the
  // name, or a directory that it needs contains results.
  virtual absl::StatusOr<msg::SweepT> Run(const std::string& request_id,
                                          const msg::RunSweepRequestT& request,
                                          const std::string& trace) = 0;
  // Returns the id of the sweep that `name` denotes, by the rules of Trials::Find().
  virtual absl::StatusOr<std::string> Find(std::string_view name) const = 0;
  // Returns a sweep by its exact id, or NotFound.
  virtual absl::StatusOr<msg::SweepT> Get(const std::string& id) const = 0;
  virtual std::vector<msg::SweepT> List(bool live_only) const = 0;  // Oldest first.
  // Returns details by exact id, or NotFound. Reads the events of an ended sweep.
  virtual absl::StatusOr<msg::SweepDetailsReplyT> Details(const std::string& id) = 0;
  // Returns the sweep, and those of its trials that changed after its event number `event`.
  virtual absl::StatusOr<msg::FollowSweepReplyT> Since(const std::string& id,
                                                       std::uint64_t event) = 0;

  // Executes any order but Remove: stops, pauses, resumes or changes the sweep, or sets what it
  // tries next. A repeated request id changes nothing. InvalidArgument and FailedPrecondition name
  // the conflict.
  virtual absl::StatusOr<msg::SweepT> Change(const std::string& id,
                                             const msg::ChangeSweepRequestT& request,
                                             const std::string& request_id,
                                             const std::string& trace) = 0;
  // Removes the sweep's trials, a few at a time, and then the sweep; returns its last state.
  // FailedPrecondition if it has not ended, or one of its trials cannot be removed; the trials
  // before that one are removed then. `done` may be called later, on the loop's thread, but not
  // after this object is destroyed.
  virtual void Remove(const std::string& id, const std::string& request_id,
                      std::function<void(absl::StatusOr<msg::SweepT>)> done) = 0;

  // Calls `changed` after every change of the sweep until Forget().
  using ObserverId = std::uint64_t;
  virtual ObserverId Observe(const std::string& id, std::function<void()> changed) = 0;
  virtual void Forget(ObserverId observer) = 0;
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEPS_H_
