#ifndef TRAINER_SWEEP_SWEEPS_H_
#define TRAINER_SWEEP_SWEEPS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/report/report_line.h"
#include "trainer/report/result_row.h"
#include "trainer/store/sweep_rows.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"
#include "trainer/sweep/optimiser.h"
#include "trainer/sweep/optimiser_lines.h"
#include "trainer/sweep/sweep.h"
#include "trainer/sweep/sweep_news.h"
#include "trainer/sweep/sweep_questions.h"
#include "trainer/table/trials.h"
#include "trainer/trial/report_judge.h"
#include "tuning/engine/conversation.h"
#include "tuning/engine/engine.h"
#include "tuning/engine/engine_event.h"
#include "tuning/engine/question.h"
#include "tuning/space/config.h"

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
  ~Sweeps() override;
  Sweeps(const Sweeps&) = delete;
  Sweeps& operator=(const Sweeps&) = delete;

  // Takes over the sweeps of an earlier trainer. Call it after Trials::Resume(), in the same turn
  // of the loop. `trials` is not owned and outlives this.
  void Resume(Trials* trials);

  // Stores a new sweep, which then starts by itself. A repeated request id returns the same sweep.
  // InvalidArgument for the plan or the trial template; AlreadyExists if another sweep has the
  // name, or a directory that it needs contains results.
  absl::StatusOr<msg::SweepT> Run(const std::string& request_id,
                                  const msg::RunSweepRequestT& request, const std::string& trace);
  // Returns the id of the sweep that `name` denotes, by the rules of Trials::Find().
  absl::StatusOr<std::string> Find(std::string_view name) const;
  // Returns a sweep by its exact id, or NotFound.
  absl::StatusOr<msg::SweepT> Get(const std::string& id) const;
  std::vector<msg::SweepT> List(bool live_only) const;  // Oldest first.
  // Returns details by exact id, or NotFound. Reads the events of an ended sweep.
  absl::StatusOr<msg::SweepDetailsReplyT> Details(const std::string& id);
  // Returns the sweep, and those of its trials that changed after its event number `event`.
  absl::StatusOr<msg::FollowSweepReplyT> Since(const std::string& id, std::uint64_t event);

  // Executes any order but Remove: stops, pauses, resumes or changes the sweep, or sets what it
  // tries next. A repeated request id changes nothing. InvalidArgument and FailedPrecondition name
  // the conflict.
  absl::StatusOr<msg::SweepT> Change(const std::string& id, const msg::ChangeSweepRequestT& request,
                                     const std::string& request_id, const std::string& trace);
  // Removes the sweep's trials, a few at a time, and then the sweep; returns its last state.
  // FailedPrecondition if it has not ended, or one of its trials cannot be removed; the trials
  // before that one are removed then. `done` may be called later, on the loop's thread, but not
  // after this object is destroyed.
  void Remove(const std::string& id, const std::string& request_id,
              std::function<void(absl::StatusOr<msg::SweepT>)> done);

  // Calls `changed` after every change of the sweep until Forget().
  using ObserverId = std::uint64_t;
  ObserverId Observe(const std::string& id, std::function<void()> changed);
  void Forget(ObserverId observer);

  // See ReportJudge.
  Verdict Judge(const TrialRecord& trial, const ResultRow& row, const std::vector<Metric>& fields,
                bool saves, StoreBatch& batch) override;
  void Committed() override;
  void Abandon() override;
  void Changed(const TrialRecord& trial) override;

 private:
  struct Entry {
    SweepRecord record;
    // Null if the sweep has ended, and after an error of the store.
    std::shared_ptr<Sweep> sweep;
    bool is_lost = false;  // It must be taken over once it is loaded.
    std::deque<tuning::Action> todo;
    std::vector<tuning::Action> drafted;   // Caused by reports that are not stored yet.
    bool acts = false;                     // Act() is running or scheduled.
    std::shared_ptr<Optimiser> optimiser;  // Null unless the plan has an external one.
    std::uint64_t epochs = 0;              // Number of reports of all its trials.
    runtime::Timer retry_timer, budget_timer;
  };

  explicit Sweeps(Options options);
  absl::Status Load();
  static absl::Status NoSweep(const std::string& id);
  std::int64_t NowMicros() const;
  void Fault(std::string_view point);
  void Post(std::function<void()> work);
  Entry* EntryOf(const std::string& id);
  std::string FreeId() const;
  static msg::SweepT Shown(const Entry& entry);
  absl::StatusOr<std::shared_ptr<Sweep>> AtHand(const Entry& entry);
  void LoadEngine(Entry& entry);
  absl::Status CheckTemplate(const SweepRecord& record, const tuning::Engine& engine) const;
  void TakeUp(Entry& entry);
  void Lose(Entry& entry);
  void RetryLater(Entry& entry);
  void Order(Entry& entry, const std::vector<tuning::Action>& actions);
  void Take(Entry& entry, tuning::EngineEvent event);
  void Act(Entry& entry);
  absl::Status Do(Entry& entry, const tuning::Action& action);
  absl::Status StartTrial(Entry& entry, const tuning::Action& action);
  absl::Status ResumeTrial(Entry& entry, const tuning::Action& action);
  bool IsPausing(const Entry& entry, std::uint64_t trial) const;
  absl::Status TakeRefusal(Entry& entry, const tuning::Action& action, const absl::Status& why);
  void LookAt(Entry& entry, std::uint64_t number);
  absl::Status Ask(Entry& entry, const tuning::Action& action);
  void TakeSuggestion(const std::string& id, const tuning::Question& question,
                      const std::optional<tuning::Config>& config);
  bool CanRunOptimisers() const;
  void AskOptimiser(Entry& entry);
  Optimiser::Options OptimiserOptionsOf(const Entry& entry);
  bool CountEpoch(Entry& entry, StoreBatch& batch);
  void CountEpochs(Entry& entry);
  void TakeAnswer(const std::string& id, const tuning::Conversation::Answer& answer);
  void EndOptimiser(Entry& entry);
  absl::Status Finish(Entry& entry);
  void WatchBudget(Entry& entry);
  void RemoveTrials(const std::string& id, const std::string& request_id,
                    std::deque<std::string> trials,
                    std::function<void(absl::StatusOr<msg::SweepT>)> done);
  std::optional<SweepNews::Changes> ChangesOf(const std::string& id, std::int64_t after);

  const Options options_;
  Trials* trials_ = nullptr;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> order_;  // Ids, oldest first.
  std::set<std::string> drafts_;    // Sweeps with reports that are not stored yet.
  std::set<std::pair<std::string, std::uint64_t>> changed_;  // Trials to be checked.
  std::map<std::string, msg::SweepT> removed_;               // By request id.
  std::vector<std::shared_ptr<Optimiser>> leaving_;          // Until their programs have ended.
  SweepNews news_;
  SweepQuestions questions_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEPS_H_
