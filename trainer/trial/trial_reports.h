#ifndef TRAINER_TRIAL_TRIAL_REPORTS_H_
#define TRAINER_TRIAL_TRIAL_REPORTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/common_generated.h"
#include "trainer/checkpoint/checkpoint_preparation.h"
#include "trainer/checkpoint/checkpoint_row.h"
#include "trainer/report/line_receiver.h"
#include "trainer/report/result_row.h"
#include "trainer/report/stop_criteria.h"
#include "trainer/run/run_files.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"
#include "trainer/trial/report_judge.h"
#include "trainer/trial/trial_checkpoints.h"
#include "trainer/trial/trial_events.h"

namespace trainer {

// The reports of one trial: which lines count, what the answers are, and how rows get into the
// files. Use it on the loop's thread.
//
// Take() adds lines to a draft, which the caller stores in one transaction with those of other
// trials, and then calls Committed() or Abandon(): nothing is answered, or written to a file,
// before it is stored. Committed rows are fresh until the caller has written them to the files
// (WriteFiles()) and announced them (TakeFresh()), soon: many rows together cost little more than
// one.
class TrialReports {
 public:
  // Time at which a line arrived.
  struct TimeOfLine {
    absl::Time wall;
    absl::Duration monotonic;
  };
  struct Options {
    TrialStore* store = nullptr;  // Not owned; outlives it.
    std::function<void(std::string_view point)> fault = {};
    ReportJudge* judge = nullptr;  // Judges the trials of sweeps; not owned.
    // Runs slow work in the background; if unset, work runs at once.
    CheckpointPreparation::Background background = {};
    // Annotates the trial; a repeated request changes nothing. If unset, lines may not annotate.
    std::function<absl::Status(const msg::AnnotateRequestT& request)> annotate = {};
    // See TrialCheckpoints.
    std::function<bool(const std::string& directory)> is_referenced = {};
    // A line that was Unavailable can be taken now. Never called inside Take().
    std::function<void()> on_ready = {};
    // ChooseStart() can be called again.
    std::function<void()> on_start = {};
    // The run's directory was missing and was created anew: rewrite its other files.
    std::function<void()> on_made_directory = {};
  };
  // State of the trial after its lines so far.
  struct Progress {
    std::int64_t last_line = 0;           // Last line of the current attempt.
    ResultRow last_row;                   // Last row of any attempt; row 0: none yet.
    std::int64_t training_iteration = 0;  // In the current attempt, like the two below.
    std::int64_t time_total_us = 0;
    std::int64_t last_report_us = -1;  // Monotonic; -1: none yet, or unknown.
    bool done = false;                 // The program has reported done.
    std::string failure;               // See TrialRecord, also for the three below.
    bool expelled = false;
    std::string criterion;
    std::string earlier_metrics;
    std::int64_t timesteps_total = -1;  // As in ResultRow, for the current attempt.
    std::int64_t episodes_total = -1;
    std::int64_t pid = 0;
    StopCriteria::Window window;      // Values from the trial's last reports.
    CheckpointRow newest_checkpoint;  // Newest of any attempt; number 0: none.
    // Checkpoints of the current attempt (like the two below) saved since its last report; the next
    // report decides which of the two reports each one belongs to.
    std::vector<CheckpointRow> pending;
    bool saves_first = false;  // It has saved before its first report.
    bool step_said = false;    // The last report contained its step.
    // The judge's verdict on the attempt's reports.
    Verdict verdict;
    // The attempt was told to stop; after that it may save once more.
    bool stop_told = false;
    bool saved_after_stop = false;
  };

  // Reads the stored state. Touches no file, except that for an attempt without reports it reads
  // the counters of the checkpoint that the attempt starts from.
  static absl::StatusOr<std::unique_ptr<TrialReports>> Load(const TrialRecord& trial,
                                                            Options options);

  const Progress& progress() const { return progress_; }
  // Events for the program; the answers to its reports carry them.
  TrialEvents& events() { return events_; }
  const StopCriteria& criteria() const { return criteria_; }
  // A new attempt has begun, from which nothing has arrived yet.
  void BeginAttempt();
  // Chooses where the trial's next attempt starts: its newest complete checkpoint; or else a copy
  // of a checkpoint of `from`, or of the path, that it was asked to start from; or else afresh.
  // Removes incomplete leftovers of earlier attempts. Unavailable while that work runs; call again
  // after on_start. Any other error except ResourceExhausted is permanent.
  absl::StatusOr<TrialCheckpoints::Start> ChooseStart(const TrialRecord& trial, TrialReports* from);
  // Returns true while that work runs, or its result was not fetched yet.
  bool is_choosing_start() const { return start_ != nullptr; }
  bool waits_for_start() const { return start_ != nullptr && start_->result() == nullptr; }
  void CancelStart() { start_.reset(); }
  // Returns true if its start may be a copy of that checkpoint, which is being made.
  bool MayCopy(const std::string& directory) const;
  // The attempt starts where the record says; its counters continue from there.
  void StartFrom(const TrialRecord& trial);
  // Output up to that offset belongs to earlier attempts.
  void SkipTo(std::int64_t offset) { progress_.last_line = offset; }
  // Call it after the end of its program.
  absl::Status RemoveTemporaryCheckpoints();
  // Removes them permanently; call it after the end of the trial.
  absl::Status RemoveCheckpoints();
  // Returns the directory of the newest checkpoint; empty if there is no checkpoint.
  std::string NewestCheckpoint() const;
  // Takes over from the record whether and why the attempt or trial is to end, if it was decided by
  // something other than a line.
  void Decide(const TrialRecord& trial);

  // Makes the files match the store. Creates missing files.
  absl::Status RepairFiles();
  // Writes the fresh rows that the files lack. After an error the files are behind, and
  // RepairFiles() must be called before anything else is answered.
  absl::Status WriteFiles();
  void CloseFiles() { files_.Close(); }
  bool files_behind() const { return files_.behind(); }
  // Checks whether another program has changed or removed the files; then they are behind.
  void LookAtFiles();
  bool has_fresh() const { return !fresh_.empty(); }
  // Returns true if fresh rows are so many, or so large, that they should not wait.
  bool has_much_fresh() const { return fresh_.size() >= kMuch || fresh_bytes_ >= kMuchBytes; }
  // Call it after WriteFiles(). Returns the fresh rows, oldest first.
  std::vector<ResultRow> TakeFresh();

  // Adds a line to the draft and to `batch`, and returns its answer. A line that was answered
  // before gets the same answer and does not count again. FailedPrecondition: an earlier line is
  // missing. The lines of a trial that reports by its output are numbered by their offsets there,
  // so other output may be between them; once a line is deferred, all later lines are deferred too.
  // Unavailable: the line waits for its checkpoint, until on_ready, while saves() is true.
  // ResourceExhausted: the line waits for room on the disk of the run. Neither error changes
  // anything; take the line again before later ones.
  absl::StatusOr<std::string> Take(const RelayedLine& line, const TrialRecord& trial,
                                   const TimeOfLine& now, StoreBatch& batch);
  // The draft was stored: it becomes the current state, and its rows are fresh. Returns their
  // number.
  std::size_t Committed();
  // Returns the new configuration, if a line committed since the last call has changed it.
  std::optional<std::string> TakeConfiguration() {
    return std::exchange(configuration_, std::nullopt);
  }
  // Returns true while a line waits for its checkpoint.
  bool saves() const { return preparation_ != nullptr && preparation_->result() == nullptr; }
  // Discards the draft, which the store did not accept.
  void Abandon();

 private:
  static constexpr std::size_t kMuch = 256;
  static constexpr std::size_t kMuchBytes = 256 << 10;

  TrialReports(const TrialRecord& trial, TrialEvents events, Options options);
  Progress& Draft();
  absl::Status RefreshNewestCheckpoint();
  absl::StatusOr<std::string> BeginCheckpoint(const struct ReportLine& line,
                                              const TrialRecord& trial);
  // Commits the checkpoint that a ckpt_end or a report names; returns its directory.
  absl::StatusOr<std::string> SaveCheckpoint(const struct ReportLine& report, std::int64_t number,
                                             const TrialRecord& trial, const TimeOfLine& now,
                                             StoreBatch& batch);
  absl::StatusOr<std::string> TakeChecked(const RelayedLine& line, const TrialRecord& trial,
                                          const TimeOfLine& now, StoreBatch& batch);
  absl::StatusOr<std::string> TakeFromOutput(const RelayedLine& line, const TrialRecord& trial,
                                             const TimeOfLine& now, StoreBatch& batch);
  // Returns true if a checkpoint that is saved now may belong to the next report.
  bool MayBelongToNext(const CheckpointRow& checkpoint, const TrialRecord& trial);
  // Assigns the pending checkpoints to this report or to the previous one.
  void SettlePending(const ResultRow& row, StoreBatch& batch);
  // Assigns the pending checkpoints to the last report, because no other will follow.
  void SettleAtEnd();
  // Returns the checkpoint that was read for the report. Unavailable while it is being read.
  absl::StatusOr<PreparedCheckpoint> Prepare(const struct ReportLine& report,
                                             const TrialCheckpoints::Moment& moment,
                                             const StoreBatch& batch);
  absl::StatusOr<std::string> TakeAgain(const RelayedLine& line, const StoreBatch& batch);
  absl::StatusOr<std::string> TakeNew(const RelayedLine& line, const TrialRecord& trial,
                                      const TimeOfLine& now, StoreBatch& batch);
  // Changes the configuration in the draft.
  absl::StatusOr<std::string> TakeConfig(const struct ReportLine& line, const TrialRecord& trial,
                                         StoreBatch& batch);
  absl::StatusOr<std::string> TakeAnnotate(const struct ReportLine& line);
  absl::StatusOr<std::string> TakeSave(const struct ReportLine& report, std::int64_t number,
                                       const TrialRecord& trial, const TimeOfLine& now,
                                       StoreBatch& batch);
  // Returns true if the program reported its end, or the trainer decided it.
  static bool IsToEnd(const Progress& progress);
  static void Count(const ResultRow& row, Progress& draft);
  absl::StatusOr<std::string> TakeReport(const struct ReportLine& report, std::int64_t number,
                                         const TrialRecord& trial, const TimeOfLine& now,
                                         StoreBatch& batch);
  // Writes the notices about the run's directory to the trial's log.
  void Tell(const std::vector<std::string>& notices);
  // Returns the row, which has no place in the files yet.
  ResultRow NextRow(const struct ReportLine& report, const TrialRecord& trial,
                    const TimeOfLine& now);
  // Keeps the metrics that the last row has and this one may lack. Returns true if they must be
  // stored.
  bool KeepEarlierMetrics(const ResultRow& row);
  // Applies the criteria to this row, and records the result in the draft. An error means that the
  // report does not count.
  absl::Status Judge(const struct ReportLine& report, const ResultRow& row,
                     const RowMetrics& metrics);
  // Does the same with the judge's verdict, and adds that to the batch.
  void AskJudge(const ResultRow& row, const RowMetrics& metrics, const TrialRecord& trial,
                StoreBatch& batch);
  absl::Status LoadWindow();
  // Adds the trial's record, as changed by the draft, to the batch.
  void AddTrial(const TrialRecord& trial, StoreBatch& batch);
  // Returns the trial's record as it is once the draft is stored.
  TrialRecord Drafted(const TrialRecord& trial);

  const Options options_;
  const std::int64_t trial_;
  const RunIdentity run_;
  const std::string run_directory_;
  const StopCriteria criteria_;
  const TrialCheckpoints checkpoints_;
  RunFiles files_;
  std::string start_checkpoint_;  // Where the current attempt started.
  std::unique_ptr<Preparation<TrialCheckpoints::Choice>> start_;
  TrialCheckpoints::Candidates start_candidates_;  // The candidates for start_.
  TrialEvents events_;
  bool window_loaded_ = false;
  Progress progress_;
  std::optional<Progress> draft_;
  bool draft_saves_ = false;
  std::optional<std::string> draft_configuration_;  // Changed by a line.
  std::optional<std::string> configuration_;        // Committed, not taken yet.
  struct Settled {
    CheckpointRow checkpoint;
    ResultRow report;
  };
  std::vector<Settled> draft_settled_;                  // Their counters are to be written.
  std::unique_ptr<CheckpointPreparation> preparation_;  // For the line that commits it.
  absl::Status draft_error_;                            // Error of a line of the output.
  std::vector<std::string> draft_directories_;          // Created for it.
  std::vector<ResultRow> draft_rows_;
  std::vector<ResultRow> fresh_;
  std::size_t fresh_bytes_ = 0;    // Bytes of the metrics in fresh_.
  std::size_t fresh_written_ = 0;  // How many of fresh_, from the first, are in the files.
};

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_REPORTS_H_
