#ifndef TRAINER_TABLE_TRIALS_H_
#define TRAINER_TABLE_TRIALS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/attempt/attempt_nonces.h"
#include "trainer/attempt/room_waits.h"
#include "trainer/attempt/start_holds.h"
#include "trainer/report/line_receiver.h"
#include "trainer/report/result_row.h"
#include "trainer/store/store_sync.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/attached_trials.h"
#include "trainer/table/attempt_guard.h"
#include "trainer/table/attempt_programs.h"
#include "trainer/table/launch_queue.h"
#include "trainer/table/line_intake.h"
#include "trainer/table/new_trials.h"
#include "trainer/table/system_curves.h"
#include "trainer/table/trial_aging.h"
#include "trainer/table/trial_annotations.h"
#include "trainer/table/trial_details_reader.h"
#include "trainer/table/trial_files.h"
#include "trainer/table/trial_news.h"
#include "trainer/table/trial_removals.h"
#include "trainer/table/trial_saves.h"
#include "trainer/table/trial_table.h"
#include "trainer/table/trial_view.h"
#include "trainer/trial/life.h"
#include "trainer/trial/report_judge.h"
#include "trainer/trial/trial.h"
#include "trainer/trial/trial_reports.h"

namespace trainer {

// All trials of the trainer, and the life of each:
//
//   Pending -> Running -> Done | Stopped | Failed
//      ^          |  `-> Stopping -> Stopped
//      |----------'  (a new attempt, while restarts are left)
//      `-> Paused    (from Pending or Running; Paused, Stopped and Failed can be resumed)
//
// Every action is stored before it is taken, so after a kill at any instant the next trainer
// continues: it repeats a launch under the same request id, and follows a running job again. Trials
// start in the order of trial_queue.h, one at a time, at most `slots` at once; later ones overtake
// a trial that is held back (start_holds.h). While the launcher has no room, the first trial waits,
// with the reason, and so do all after it. If an attempt fails within 10 s of its start, the next
// attempt is delayed and holds no slot: no delay the first time, then 100 ms, doubling up to 30 s.
// A longer attempt or a new trainer resets the count.
//
// A trial of an attached process runs from its creation, has no job, and takes no slot. It is
// stopped only through the answers to its reports: after its grace time it is Stopped, and its
// process is told that the trial is over. It cannot be paused or resumed, because nobody could
// start its process.
//
// While the disk of the store or of a run is full, the trial's lines are held back, so its program
// waits, and its `reason` says so. The lines are taken as soon as there is room. A stop or a pause
// takes effect at once and is stored later; all other calls that must store something return
// ResourceExhausted. Use it on the loop's thread; blocks for the disk.
class Trials : public LineReceiver {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the three below; all outlive this.
    runtime::Clock* clock = runtime::Clock::Real();
    TrialStore* store = nullptr;
    bus::JobControl* jobs = nullptr;
    std::string logdir;  // Absolute; parent of the runs unless a request names another.
    std::string relay;   // Path of the report channel's socket.
    std::string hostname;
    int slots = 1;
    MinFree min_free = {};        // Room that must be free on its disk when an attempt starts.
    std::string executable = {};  // This program, which runs its functions as trials.
    // Most ended trials that are kept; beyond that the oldest are forgotten, but not their
    // directories, and not a trial that another one is still to start from.
    std::size_t keep_trials = 10'000;
    // Runs work that waits for the disk on another thread; it accesses only files. If unset, work
    // runs at once on the loop's thread.
    std::function<void(std::function<void()> work)> background = {};
    // Runs the syncs of the store, one at a time. Separate, because a sync must not queue behind
    // other work: a power failure loses unsynced data. If unset, as above.
    std::function<void(std::function<void()> work)> sync_background = {};
    // The first report is written to the files and published at once. Further reports within this
    // time are written and published together at its end, so that a program that reports often
    // costs little. Zero: each report at once.
    absl::Duration spread_every = absl::ZeroDuration();
    // How long an attached process may be without a connection before it counts as lost.
    absl::Duration attached_patience = absl::Seconds(30);
    // Asks the launcher what the tasks of all trials use (system_curves.h). If unset, nothing is
    // measured.
    std::function<void(std::function<void(absl::StatusOr<msg::UsageReplyT>)> done)> usage = {};
    // Called with each acknowledged report, which RowsAfter() can already read, and each change of
    // state; in the order of rows, and always with the trial. Optional.
    std::function<void(msg::TrialEventT)> on_event = {};
    ReportJudge* judge = nullptr;  // Judges the trials of sweeps; outlives this.
    // Called at each named point between two durable steps, where a test may kill the process.
    std::function<void(std::string_view point)> fault = {};
  };
  // Loads the state and repairs the files of trials that have not ended. Starts nothing yet.
  static absl::StatusOr<std::unique_ptr<Trials>> Open(Options options);
  ~Trials() override;
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;

  // Takes over the trials of an earlier trainer and starts waiting trials. Call it once reports can
  // arrive.
  void Resume();

  // Stores a new trial, which then starts by itself. A repeated request id returns the same trial.
  // `trace` is logged with its starts and its end, and passed on with its requests to the launcher.
  // InvalidArgument if the request is invalid; AlreadyExists if another trial has the name, or the
  // directory contains results.
  absl::StatusOr<msg::TrialT> Run(const std::string& request_id,
                                  const msg::RunTrialRequestT& request, const std::string& trace);
  // Returns the id of the trial that `name` denotes: an id, a name (the live trial of that name, or
  // else the newest), or a unique prefix of an id. NotFound, or FailedPrecondition, which lists the
  // trials that an ambiguous prefix matches.
  absl::StatusOr<std::string> Find(std::string_view name) const;
  // Returns a trial by its exact id, or NotFound.
  absl::StatusOr<msg::TrialT> Get(const std::string& id) const;
  struct ListOptions {
    bool live_only = false;
    std::size_t newest_ended = 0;  // How many of the trials that ended last; 0: all.
  };
  // Returns the trials, oldest first, without metrics over 4 KiB.
  std::vector<msg::TrialT> List(const ListOptions& options) const;
  // Visits the names of all trials: those at hand, then those put aside, each newest first.
  void VisitNames(const std::function<void(std::string_view id, std::string_view name,
                                           msg::TrialState state)>& visit) const;
  // Stops a trial: the answer to its next report says so, and after `grace` (zero: its own grace
  // time) it is stopped from outside. A trial that waits, or whose program has sent nothing, is
  // stopped at once. An ended trial is unchanged. `trace` is passed on with the stop to the
  // launcher (a later trainer that takes the stop over uses the trial's own trace).
  absl::StatusOr<msg::TrialT> Stop(const std::string& id, absl::Duration grace,
                                   const std::string& trace);
  // Does the same with the reason `why`.
  absl::StatusOr<msg::TrialT> StopBecause(const std::string& id, const std::string& why,
                                          const std::string& trace);
  // Removes it from its slot, or from the queue, until ResumeTrial(): the answer to its next report
  // says so, the program may save, and after its grace time it is stopped from outside. A pause is
  // not a failure. A paused trial is unchanged. FailedPrecondition if it has ended or is stopping.
  absl::StatusOr<msg::TrialT> PauseTrial(const std::string& id, const std::string& trace);
  // Resumes a paused, stopped or failed trial with a new attempt, in its old place of the queue,
  // and with all its restarts. Any other live trial is unchanged. FailedPrecondition if it is done,
  // or is about to pause or stop.
  absl::StatusOr<msg::TrialT> ResumeTrial(const std::string& id);
  // Forgets an ended trial, by any of its names, and moves its directory to .trash/ID beside it;
  // after a crash or an error the next trainer finishes this. A repeated request id returns the
  // same answer. FailedPrecondition if it has not ended, or if a waiting or paused trial is to
  // start from it or from a checkpoint in its directory.
  absl::StatusOr<msg::TrialT> RemoveTrial(std::string_view name, const std::string& request_id);
  // Permanently removes all checkpoints of an ended trial, by its exact id. FailedPrecondition if
  // it has not ended, or another trial is to start from one of them.
  absl::Status RemoveCheckpoints(const std::string& id);
  // Stores an event for the program (trial_events.h) and returns its number. FailedPrecondition if
  // the trial has ended.
  absl::StatusOr<std::int64_t> Tell(const std::string& id, const std::string& event,
                                    const std::string& request_id);

  // Changes the annotations of a live or ended trial, and the priority of a live one, by exact id:
  // either everything that is requested, or nothing. NotFound; InvalidArgument if the result would
  // be invalid; FailedPrecondition if its directory accepts no files, or an ended trial is to get a
  // priority.
  absl::StatusOr<msg::TrialT> Annotate(const std::string& id, const msg::AnnotateRequestT& request);

  // Gathers all details of a trial by its exact id; NotFound. Reads its reports in parts: `done`
  // may be called later, on the loop's thread, but not after this object is destroyed.
  void Details(const std::string& id,
               std::function<void(absl::StatusOr<msg::TrialDetailsReplyT>)> done);

  // Returns the environment that a trial was requested with, by exact id: "NAME=value" each,
  // including secrets. NotFound.
  absl::StatusOr<std::vector<std::string>> EnvironmentOf(const std::string& id) const;

  // Returns the newest `lines` of the program's log, as TrialStore::LastLogs() does. NotFound.
  absl::StatusOr<std::vector<StoreBatch::Log>> LogOf(const std::string& id,
                                                     std::int64_t lines) const;

  // Returns a bounded number of acknowledged reports after `row`, oldest first; empty at the end.
  absl::StatusOr<std::vector<ResultRow>> RowsAfter(const std::string& id, std::int64_t row);
  // The extent of each trial, by id.
  struct Extent {
    std::int64_t reports = 0;  // Acknowledged reports: rows 1 to this one can be read.
    // No change of state is later than this; for a live trial, at least this trainer's start.
    std::int64_t changed_us = 0;
  };
  std::map<std::string, Extent> Extents() const;
  // Calls `changed` with the row after every report of a trial, and with null after every change of
  // its state, until Forget(). Rows come in order.
  using ObserverId = std::uint64_t;
  ObserverId Observe(const std::string& id, std::function<void(const ResultRow* row)> changed);
  void Forget(ObserverId observer);

  // Sets how many trials run at once until this object is destroyed. Running trials continue.
  void SetSlots(int slots);
  int slots() const;

  struct Stats {
    std::uint64_t trials = 0, live = 0, running = 0, reports = 0, store_errors = 0;
  };
  Stats GetStats() const;  // Any thread.

  // See LineReceiver.
  absl::StatusOr<AttemptKey> Greet(std::string_view nonce) override;
  absl::StatusOr<AttemptKey> Attach(const AttachRequest& attach) override;
  void OnConnection(const AttemptKey& attempt, bool is_open) override;
  void OnAlive(const AttemptKey& attempt) override;
  void OnOver(std::function<void(const AttemptKey&, const std::string& why)> over) override;
  std::vector<absl::StatusOr<std::string>> Receive(const std::vector<RelayedLine>& lines) override;
  void OnWanted(std::function<void(const AttemptKey&)> wanted) override;

 private:
  using Background = std::function<void(std::function<void()> work, std::function<void()> done)>;
  // The other live trials of its group, each with the actions that follow once it is stored
  // together with the caller's record.
  using Held = std::vector<std::pair<Trial*, std::vector<LifeAction>>>;

  explicit Trials(Options options);
  absl::Status Load();
  absl::StatusOr<msg::TrialT> Stop(const std::string& id, absl::Duration grace,
                                   const std::string& why, const std::string& trace);
  absl::StatusOr<std::unique_ptr<TrialReports>> LoadReports(const TrialRecord& record);
  bool IsBeingCopied(const std::string& checkpoint) const;
  absl::Status Adopt(TrialRecord record);
  absl::Status AdoptEnded(TrialRecord record);
  bool MayReportLate(const TrialRecord& record) const;
  absl::Status AnnotateByItself(std::int64_t number, const msg::AnnotateRequestT& request);
  void TryStoreLater();
  static Background BackgroundOf(Trials* self,
                                 const std::function<void(std::function<void()>)>& run);
  std::int64_t NowMicros() const;
  Moment Now() const;
  void Want(const AttemptKey& attempt);
  void ReportsComplete(const AttemptKey& key, const std::string& how);
  AttemptFacts FactsOf(const Trial& trial) const;
  LifeDecision DecideOn(const Trial& trial, TrialRecord record, const LifeEvent& event) const;
  LifeDecision DecideOn(const Trial& trial, const LifeEvent& event) const;
  absl::Status Feed(Trial& trial, const LifeEvent& event);
  absl::Status CarryOutOrder(Trial& trial, LifeDecision decision, const std::string& trace);
  absl::Status CarryOut(Trial& trial, LifeDecision decision,
                        const std::vector<AnsweredLine>& lines = {});
  // Each overload executes one kind of action.
  void Carry(Trial& trial, const LifeAction& action);
  void Carry(Trial&, const action::StoreTrial&);
  void Carry(Trial&, const action::PauseGroup&);
  void Carry(Trial& trial, const action::UpdateFiles&);
  void Carry(Trial& trial, const action::RecordFailure& failed);
  void Carry(Trial& trial, const action::WriteOutcome&);
  void Carry(Trial& trial, const action::Launch&);
  void Carry(Trial& trial, const action::Follow&);
  void Carry(Trial& trial, const action::SendStop& stop);
  void Carry(Trial& trial, const action::TakeStacks&);
  static runtime::Timer& TimerOf(Trial& trial, TrialTimer timer);
  void Carry(Trial& trial, const action::SetTrialTimer& set);
  void Carry(Trial& trial, const action::CancelTrialTimer& cancel);
  void Carry(Trial& trial, const action::Watch&);
  void Carry(Trial& trial, const action::EndWatch&);
  void Carry(Trial& trial, const action::OverruleReports&);
  void Carry(Trial& trial, const action::FreeSlot&);
  void Carry(Trial& trial, const action::CloseFiles&);
  void Carry(Trial& trial, const action::LeaveQueue&);
  void Carry(Trial& trial, const action::ChangeNonce& change);
  void Carry(Trial& trial, const action::BeginAttempt&);
  void Carry(Trial& trial, const action::Retire&);
  void Carry(Trial&, const action::Revive&);
  void Carry(Trial& trial, const action::Log& log);
  void Carry(Trial& trial, const action::Announce&);
  void Carry(Trial&, const action::StartNext&);
  void Start(Trial& trial);
  absl::Status Prepare(Trial& trial, TrialRecord& changed);
  absl::Status PrepareDirectory(Trial& trial);
  void WaitNoMoreForRoom(Trial& trial);
  void Retire(Trial& trial);
  Held PauseItsGroup(const TrialRecord& failed);
  void Drop(std::int64_t number);
  void StartNextLater();
  void Fault(std::string_view point);

  const Options options_;
  TrialTable table_;
  const NewTrials new_trials_;
  AttemptNonces nonces_;
  StoreSync sync_;
  TrialSaves saves_;
  RoomWaits room_waits_;
  StartHolds holds_;
  const TrialView view_;
  LaunchQueue queue_;
  TrialNews news_;
  TrialFiles files_;
  AttemptGuard guard_;
  LineIntake intake_;
  TrialAnnotations annotations_;
  TrialDetailsReader details_;
  SystemCurves curves_;
  AttemptPrograms programs_;
  TrialRemovals removals_;
  TrialAging aging_;
  AttachedTrials attached_;
  std::function<void(const AttemptKey&)> wanted_;
  runtime::Timer store_timer_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::atomic<std::uint64_t> live_{0}, store_errors_{0};
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIALS_H_
