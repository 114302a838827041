#ifndef TRAINER_TABLE_TRIALS_H_
#define TRAINER_TABLE_TRIALS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "trainer/attempt/start_holds.h"
#include "trainer/report/line_receiver.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_store.h"
#include "trainer/trial/report_judge.h"

namespace trainer {

// Every trial the trainer knows, and the life of each:
//
//   Pending -> Running -> Done | Stopped | Failed
//      ^          |  `-> Stopping -> Stopped
//      |----------'  (a new attempt, while restarts are left)
//      `-> Paused    (from Pending or Running; from there, Stopped and Failed it may go on)
//
// What is to be done is stored before it is done, so a trainer killed at any instant goes on where
// the last one was: a launch is asked for again under its old request id, a running job is followed
// again. Trials start in the order of trial_queue.h, one at a time, at most `slots` at once; one
// that is held back (start_holds.h) lets those behind it go first. While the launcher has no room
// the first of them waits, with the reason, and so do all after it. After an attempt that failed
// within 10 s of its start the next one is held back, without a slot: not the first time, then 100
// ms, doubling to 30 s; a longer attempt, or a new trainer, begins the count anew.
//
// A trial of an attached process runs from its beginning, has no job, and takes no slot. It is told
// to stop by the answers to its reports alone: after its grace time it is Stopped, and its process
// hears that it is over. It cannot be paused or go on, as nobody could start it.
//
// Without room on the disk of the store, or of its run, a trial's lines are held back, so its
// program waits; its `reason` says so. They are taken as soon as there is room. A stop or a pause
// is then carried out at once, and stored later; all other calls that have to store something are
// ResourceExhausted. On the loop's thread; blocks for the disk.
class Trials : public LineReceiver {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as the three below; all outlive it.
    runtime::Clock* clock = runtime::Clock::Real();
    TrialStore* store = nullptr;
    bus::JobControl* jobs = nullptr;
    std::string logdir;  // Absolute; where runs are unless a request says otherwise.
    std::string relay;   // Path of the report channel's socket.
    std::string hostname;
    int slots = 1;
    MinFree min_free = {};        // Room that an attempt leaves on its disk when it begins.
    std::string executable = {};  // This program, which runs its functions as trials.
    // Ended trials that are known; the oldest ones beyond are forgotten, but not their directories,
    // and not one from which another trial is still to start.
    std::size_t keep_trials = 10'000;
    // Runs work that waits long for the disk on another thread; it touches nothing that the loop's
    // thread does but files. Unset: done at once, on the loop's thread.
    std::function<void(std::function<void()> work)> background = {};
    // The same for the syncs of the store, one at a time, which must not wait for such work: a loss
    // of power costs what they have not come to. Unset: as above.
    std::function<void(std::function<void()> work)> sync_background = {};
    // The first report is written to the files and published at once; the reports within this time
    // after it are written and published together at its end, so that a program that reports often
    // costs little. Zero: each at once.
    absl::Duration spread_every = absl::ZeroDuration();
    // For so long an attached process may have no connection, before it counts as lost.
    absl::Duration attached_patience = absl::Seconds(30);
    // Asks the launcher what the tasks of all trials use (system_curves.h). Unset: nobody asks.
    std::function<void(std::function<void(absl::StatusOr<msg::UsageReplyT>)> done)> usage = {};
    // An acknowledged report, readable by RowsAfter() already; a change of state. In the order of
    // rows, always with the trial. Optional.
    std::function<void(msg::TrialEventT)> on_event = {};
    ReportJudge* judge = nullptr;  // It judges the trials that belong to a sweep; it outlives this.
    // Called at each named point between two durable steps: a test kills itself there.
    std::function<void(std::string_view point)> fault = {};
  };
  // Loads the state and repairs the files of trials that have not ended. Starts nothing yet.
  static absl::StatusOr<std::unique_ptr<Trials>> Open(Options options);

  // Takes up what an earlier trainer left, and starts what waits. Call it once reports can arrive.
  virtual void Resume() = 0;

  // Stores a new trial; it starts by itself. The same request id again answers with the same trial.
  // `trace` is logged with its starts and its end, and goes with what the launcher is asked for it.
  // InvalidArgument: the request; AlreadyExists: the name is another trial's, or its directory
  // holds results.
  virtual absl::StatusOr<msg::TrialT> Run(const std::string& request_id,
                                          const msg::RunTrialRequestT& request,
                                          const std::string& trace) = 0;
  // A trial is named by its id, its name (the live one, else the newest), or a unique prefix of
  // its id. NotFound, or FailedPrecondition listing the trials an ambiguous prefix stands for.
  virtual absl::StatusOr<std::string> Find(std::string_view name) const = 0;
  // By its exact id; NotFound.
  virtual absl::StatusOr<msg::TrialT> Get(const std::string& id) const = 0;
  struct ListOptions {
    bool live_only = false;
    std::size_t newest_ended = 0;  // How many of those that ended last; 0: all.
  };
  // Oldest first; without metrics over 4 KiB.
  virtual std::vector<msg::TrialT> List(const ListOptions& options) const = 0;
  // Visits the names of all trials: those of this trainer first, then the ended ones, newest first.
  virtual void VisitNames(const std::function<void(std::string_view id, std::string_view name,
                                                   msg::TrialState state)>& visit) const = 0;
  // Asks it to stop: its next report is answered so; after `grace` (zero: its own) it is stopped
  // from outside. At once if it waits, or has not said anything. An ended trial stays as it is.
  // `trace` goes with the order to the launcher (a later trainer, which took the stop over, uses
  // the trial's own).
  virtual absl::StatusOr<msg::TrialT> Stop(const std::string& id, absl::Duration grace,
                                           const std::string& trace) = 0;
  // The same for a reason of the caller's.
  virtual absl::StatusOr<msg::TrialT> StopBecause(const std::string& id, const std::string& why,
                                                  const std::string& trace) = 0;
  // Takes it off its slot, or out of the queue, until ResumeTrial(): its next report is answered
  // so, it may save, and is stopped from outside after its grace time. That counts as no failure.
  // A paused one stays as it is. FailedPrecondition: it has ended, or stops.
  virtual absl::StatusOr<msg::TrialT> PauseTrial(const std::string& id,
                                                 const std::string& trace) = 0;
  // Lets a paused, stopped or failed trial go on: a new attempt, in its place of the queue, with
  // all its restarts. Any other trial that has not ended stays as it is. FailedPrecondition: it is
  // done, or about to pause or stop.
  virtual absl::StatusOr<msg::TrialT> ResumeTrial(const std::string& id) = 0;
  // Forgets an ended trial, by any of its names, and moves its directory to .trash/ID beside it;
  // after a crash in between, or an error, the next trainer does. The same request id again is
  // answered the same. FailedPrecondition: it has not ended, or another trial, which waits or is
  // paused, is to start from it or from a checkpoint in its directory.
  virtual absl::StatusOr<msg::TrialT> RemoveTrial(std::string_view name,
                                                  const std::string& request_id) = 0;
  // Removes all checkpoints of an ended trial, by its exact id, for good. FailedPrecondition: it
  // has not ended, or another trial is to start from one of them.
  virtual absl::Status RemoveCheckpoints(const std::string& id) = 0;
  // Stores an event for the program (trial_events.h) and returns its number. FailedPrecondition:
  // the trial has ended.
  virtual absl::StatusOr<std::int64_t> Tell(const std::string& id, const std::string& event,
                                            const std::string& request_id) = 0;

  // Changes what people say of a trial, also of one that has ended, and the priority of one that
  // has not, by its exact id: all of what is asked for, or nothing. NotFound. InvalidArgument: what
  // would come of it is refused. FailedPrecondition: its directory takes no files, or a trial that
  // has ended is to have a priority.
  virtual absl::StatusOr<msg::TrialT> Annotate(const std::string& id,
                                               const msg::AnnotateRequestT& request) = 0;

  // Everything that is known of a trial by its exact id; NotFound. Reads its reports, a piece at a
  // time: `done` may be called later, on the loop's thread; not at all once this has gone.
  virtual void Details(const std::string& id,
                       std::function<void(absl::StatusOr<msg::TrialDetailsReplyT>)> done) = 0;

  // The environment that a trial was asked for with, by its exact id: "NAME=value" each, secrets
  // and all. NotFound.
  virtual absl::StatusOr<std::vector<std::string>> EnvironmentOf(const std::string& id) const = 0;

  // The newest `lines` of what its program said to its log, as TrialStore::LastLogs(). NotFound.
  virtual absl::StatusOr<std::vector<StoreBatch::Log>> LogOf(const std::string& id,
                                                             std::int64_t lines) const = 0;

  // Acknowledged reports after `row`, oldest first: a bounded number, none at the end.
  virtual absl::StatusOr<std::vector<ResultRow>> RowsAfter(const std::string& id,
                                                           std::int64_t row) = 0;
  // The extent of every trial, by id.
  struct Extent {
    std::int64_t reports = 0;  // Acknowledged ones: rows 1 to this one are to be read.
    // Its state did not change later; of a live trial not before this trainer's start.
    std::int64_t changed_us = 0;
  };
  virtual std::map<std::string, Extent> Extents() const = 0;
  // Calls `changed` after every report, with its row, and every change of state of a trial, with
  // null, until Forget(). The rows come in their order.
  using ObserverId = std::uint64_t;
  virtual ObserverId Observe(const std::string& id,
                             std::function<void(const ResultRow* row)> changed) = 0;
  virtual void Forget(ObserverId observer) = 0;

  // So many trials run at once from now on, until this one goes; those that run already go on.
  virtual void SetSlots(int slots) = 0;
  virtual int slots() const = 0;

  struct Stats {
    std::uint64_t trials = 0, live = 0, running = 0, reports = 0, store_errors = 0;
  };
  virtual Stats GetStats() const = 0;  // Any thread.
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIALS_H_
