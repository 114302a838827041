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

// The reports of one trial: which lines count, what each is answered, and their way into the files.
// On the loop's thread.
//
// Lines are taken into a draft, which the caller stores in one transaction with those of other
// trials. Then either Committed() or Abandon(): nothing is answered, or written to a file, before
// the store has it. Committed rows are fresh until the caller has written them to the files
// (WriteFiles()) and has told them (TakeFresh()), soon: many rows together cost little more than
// one.
class TrialReports {
 public:
  // When a line came.
  struct TimeOfLine {
    absl::Time wall;
    absl::Duration monotonic;
  };
  struct Options {
    TrialStore* store = nullptr;  // Not owned; outlives it.
    std::function<void(std::string_view point)> fault = {};
    ReportJudge* judge = nullptr;  // It judges trials that belong to a sweep; not owned.
    // For what takes long; unset: here and now.
    CheckpointPreparation::Background background = {};
    // Annotates the trial; what is asked for again changes nothing. Unset: no line may.
    std::function<absl::Status(const msg::AnnotateRequestT& request)> annotate = {};
    // See TrialCheckpoints.
    std::function<bool(const std::string& directory)> is_referenced = {};
    // A line that was Unavailable may be taken now. Never called inside of Take().
    std::function<void()> on_ready = {};
    // ChooseStart() may be called again.
    std::function<void()> on_start = {};
    // The run's directory was gone, and has been made anew: what else was in it is to be written.
    std::function<void()> on_made_directory = {};
  };
  // The state of the trial after its lines so far.
  struct Progress {
    std::int64_t last_line = 0;           // Last line of the current attempt.
    ResultRow last_row;                   // Last row of any attempt; row 0: none yet.
    std::int64_t training_iteration = 0;  // In the current attempt, as the two below.
    std::int64_t time_total_us = 0;
    std::int64_t last_report_us = -1;  // Monotonic; -1: none yet, or not known.
    bool done = false;                 // The program has said so.
    std::string failure;               // See TrialRecord, as the three below.
    bool expelled = false;
    std::string criterion;
    std::string earlier_metrics;
    std::int64_t timesteps_total = -1;  // As in ResultRow, of the current attempt.
    std::int64_t episodes_total = -1;
    std::int64_t pid = 0;
    StopCriteria::Window window;      // Over the trial's last reports.
    CheckpointRow newest_checkpoint;  // Newest of any attempt; number 0: none.
    // Checkpoints of the current attempt (as the two below) that were saved since its last report;
    // the next report decides to which of the two reports each belongs.
    std::vector<CheckpointRow> pending;
    bool saves_first = false;  // It has saved before its first report.
    bool step_said = false;    // The last report said its step.
    // The judge's word on the attempt's reports.
    Verdict verdict;
    // The attempt was told to stop; after that it may save once.
    bool stop_told = false;
    bool saved_after_stop = false;
  };

  // Reads what is stored, and touches no file; but of an attempt that has reported nothing yet the
  // counters of the checkpoint that it starts from.
  static absl::StatusOr<std::unique_ptr<TrialReports>> Load(const TrialRecord& trial,
                                                            Options options);

  const Progress& progress() const { return progress_; }
  // The events that the program is told; the answers to its reports carry them.
  TrialEvents& events() { return events_; }
  const StopCriteria& criteria() const { return criteria_; }
  // A new attempt, of which nothing was heard yet.
  void BeginAttempt();
  // Where the trial's next attempt starts: its newest checkpoint that is whole; else a copy of that
  // of `from`, or of the path, that it was asked to start from; else nothing. Removes what earlier
  // attempts left half-done. Unavailable while that is under way, until on_start: ask again. Any
  // other error but ResourceExhausted stands for good.
  absl::StatusOr<TrialCheckpoints::Start> ChooseStart(const TrialRecord& trial, TrialReports* from);
  // That is under way, or done and not asked for again.
  bool is_choosing_start() const { return start_ != nullptr; }
  bool waits_for_start() const { return start_ != nullptr && start_->result() == nullptr; }
  void CancelStart() { start_.reset(); }
  // Its start may be a copy of that checkpoint, which is being made.
  bool MayCopy(const std::string& directory) const;
  // The attempt starts where the record says; its counters go on from there.
  void StartFrom(const TrialRecord& trial);
  // The output of its program up to that offset belongs to attempts before this one.
  void SkipTo(std::int64_t offset) { progress_.last_line = offset; }
  // After the end of its program.
  absl::Status RemoveTemporaryCheckpoints();
  // After the end of the trial, for good.
  absl::Status RemoveCheckpoints();
  // Directory of the newest checkpoint; empty without a checkpoint.
  std::string NewestCheckpoint() const;
  // Whether the attempt or the trial is to end, and why, was decided by something else than a line.
  void Decide(const TrialRecord& trial);

  // Makes the files agree with the store. Makes them if they are missing.
  absl::Status RepairFiles();
  // Writes the fresh rows that are not in the files. An error means that the files are behind, and
  // RepairFiles() is due before anything else is answered.
  absl::Status WriteFiles();
  void CloseFiles() { files_.Close(); }
  bool files_behind() const { return files_.behind(); }
  // Somebody may have changed or removed them since; then they are behind.
  void LookAtFiles();
  bool has_fresh() const { return !fresh_.empty(); }
  // So many, or large, fresh rows that they should not wait.
  bool has_much_fresh() const { return fresh_.size() >= kMuch || fresh_bytes_ >= kMuchBytes; }
  // After WriteFiles(); oldest first.
  std::vector<ResultRow> TakeFresh();

  // Adds a line to the draft and to `batch`; returns its answer. A line that was answered before
  // gets the same answer and counts no second time. FailedPrecondition: a line before it is
  // missing. The lines of a trial that reports by its output are numbered by their offsets there,
  // so other output may be between them; once a line is deferred, all later lines are deferred too.
  // Unavailable: the line waits for its checkpoint, until on_ready, while saves();
  // ResourceExhausted: the line waits for room on the disk of the run. Neither error changes
  // anything; take the line again before those behind it.
  absl::StatusOr<std::string> Take(const RelayedLine& line, const TrialRecord& trial,
                                   const TimeOfLine& now, StoreBatch& batch);
  // The store has the draft: it is what stands now, and its rows are fresh. Returns their number.
  std::size_t Committed();
  // The trial's configuration, if a line that was committed since the last call has changed it.
  std::optional<std::string> TakeConfiguration() {
    return std::exchange(configuration_, std::nullopt);
  }
  // A line waits for its checkpoint.
  bool saves() const { return preparation_ != nullptr && preparation_->result() == nullptr; }
  // The store did not take the draft.
  void Abandon();

 private:
  static constexpr std::size_t kMuch = 256;
  static constexpr std::size_t kMuchBytes = 256 << 10;

  TrialReports(const TrialRecord& trial, TrialEvents events, Options options);
  Progress& Draft();
  absl::Status RefreshNewestCheckpoint();
  absl::StatusOr<std::string> BeginCheckpoint(const struct ReportLine& line,
                                              const TrialRecord& trial);
  // Commits what a ckpt_end, or a report, names; its directory.
  absl::StatusOr<std::string> SaveCheckpoint(const struct ReportLine& report, std::int64_t number,
                                             const TrialRecord& trial, const TimeOfLine& now,
                                             StoreBatch& batch);
  absl::StatusOr<std::string> TakeChecked(const RelayedLine& line, const TrialRecord& trial,
                                          const TimeOfLine& now, StoreBatch& batch);
  absl::StatusOr<std::string> TakeFromOutput(const RelayedLine& line, const TrialRecord& trial,
                                             const TimeOfLine& now, StoreBatch& batch);
  // Whether a checkpoint that is saved now may belong to the next report.
  bool MayBelongToNext(const CheckpointRow& checkpoint, const TrialRecord& trial);
  // The report decides about those that are pending.
  void SettlePending(const ResultRow& row, StoreBatch& batch);
  // No report will; the last one before them counts.
  void SettleAtEnd();
  // Returns the checkpoint that was read for the report. Unavailable while the reading is under
  // way.
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
  // Told by the program, or decided here.
  static bool IsToEnd(const Progress& progress);
  static void Count(const ResultRow& row, Progress& draft);
  absl::StatusOr<std::string> TakeReport(const struct ReportLine& report, std::int64_t number,
                                         const TrialRecord& trial, const TimeOfLine& now,
                                         StoreBatch& batch);
  // Writes the notices about the run's directory to the trial's log.
  void Tell(const std::vector<std::string>& notices);
  // Not placed in the files yet.
  ResultRow NextRow(const struct ReportLine& report, const TrialRecord& trial,
                    const TimeOfLine& now);
  // Keeps the metrics that the last row has and this one may lack. True if they are to be stored.
  bool KeepEarlierMetrics(const ResultRow& row);
  // Whether the trial goes on after this row; says so in the draft. An error: the report does not
  // count.
  absl::Status Judge(const struct ReportLine& report, const ResultRow& row,
                     const RowMetrics& metrics);
  // The same of the judge's word, and stores it.
  void AskJudge(const ResultRow& row, const RowMetrics& metrics, const TrialRecord& trial,
                StoreBatch& batch);
  absl::Status LoadWindow();
  // The trial as the draft has it.
  void AddTrial(const TrialRecord& trial, StoreBatch& batch);
  // The trial as it is once the draft is stored.
  TrialRecord Drafted(const TrialRecord& trial);

  const Options options_;
  const std::int64_t trial_;
  const RunIdentity run_;
  const std::string run_directory_;
  const StopCriteria criteria_;
  const TrialCheckpoints checkpoints_;
  RunFiles files_;
  std::string start_checkpoint_;  // Start of the current attempt.
  std::unique_ptr<Preparation<TrialCheckpoints::Choice>> start_;
  TrialCheckpoints::Candidates start_candidates_;  // Candidates for start_.
  TrialEvents events_;
  bool window_loaded_ = false;
  Progress progress_;
  std::optional<Progress> draft_;
  bool draft_saves_ = false;
  std::optional<std::string> draft_configuration_;  // Changed by a line.
  std::optional<std::string> configuration_;        // Committed, and not taken yet.
  struct Settled {
    CheckpointRow checkpoint;
    ResultRow report;
  };
  std::vector<Settled> draft_settled_;                  // Their counters are to be written.
  std::unique_ptr<CheckpointPreparation> preparation_;  // For the line that is to commit one.
  absl::Status draft_error_;                            // Error of a line of the output.
  std::vector<std::string> draft_directories_;          // Made for it.
  std::vector<ResultRow> draft_rows_;
  std::vector<ResultRow> fresh_;
  std::size_t fresh_bytes_ = 0;    // Bytes of their metrics.
  std::size_t fresh_written_ = 0;  // How many of them, from the first on, are in the files.
};

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_REPORTS_H_
