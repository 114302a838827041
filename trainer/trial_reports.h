#ifndef TRAINER_TRIAL_REPORTS_H_
#define TRAINER_TRIAL_REPORTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "trainer/line_receiver.h"
#include "trainer/result_row.h"
#include "trainer/run_files.h"
#include "trainer/store.h"
#include "trainer/trial_record.h"

namespace trainer {

// The reports of one trial: which lines count, what each is answered, and their way into the files.
// On the loop's thread.
//
// Lines are taken into a draft, which the caller stores in one transaction with those of other
// trials. Then either Committed() or Abandon(): nothing is written to a file that the store lacks,
// and nothing is answered before it is in both.
class TrialReports {
 public:
  struct Options {
    Store* store = nullptr;  // Not owned; outlives it.
    std::function<void(std::string_view point)> fault = {};
  };
  // What stands of the trial's lines.
  struct Progress {
    std::int64_t last_line = 0;           // Of the current attempt.
    ResultRow last_row;                   // row 0: none yet. Of any attempt.
    std::int64_t training_iteration = 0;  // Of the current attempt, as the two below.
    std::int64_t time_total_us = 0;
    std::int64_t last_report_us = 0;  // 0: none yet.
    bool done = false;                // The program has said so.
    std::string failure;              // What it said in a `fail` line.
  };

  // Reads what is stored; touches no file.
  static absl::StatusOr<std::unique_ptr<TrialReports>> Load(const TrialRecord& trial,
                                                            Options options);

  const Progress& progress() const { return progress_; }
  // A new attempt starts from nothing.
  void BeginAttempt();

  // Makes the files agree with the store. Makes them if they are missing.
  absl::Status RepairFiles();
  void CloseFiles() { files_.Close(); }
  bool files_behind() const { return files_.behind(); }

  // Adds a line to the draft and to `batch`; returns its answer. A line that was answered before
  // gets the same answer and counts no second time. FailedPrecondition: a line before it is
  // missing.
  absl::StatusOr<std::string> Take(const RelayedLine& line, const TrialRecord& trial,
                                   absl::Time now, StoreBatch& batch);
  // The store has the draft: it is what stands now, and its rows go to the files. An error means
  // that the files are behind and RepairFiles() is due before anything else is answered.
  absl::Status Committed();
  // The store did not take the draft.
  void Abandon();
  // Rows of the last Committed().
  const std::vector<ResultRow>& committed_rows() const { return committed_; }

 private:
  TrialReports(const TrialRecord& trial, Options options);
  Progress& Draft();
  absl::StatusOr<std::string> TakeAgain(const RelayedLine& line, const StoreBatch& batch);
  std::string TakeNew(const RelayedLine& line, const TrialRecord& trial, absl::Time now,
                      StoreBatch& batch);
  ResultRow NextRow(const struct ReportLine& report, const TrialRecord& trial, absl::Time now);

  const Options options_;
  const std::int64_t trial_;
  RunFiles files_;
  Progress progress_;
  std::optional<Progress> draft_;
  std::vector<ResultRow> draft_rows_;
  std::vector<ResultRow> committed_;
};

}  // namespace trainer

#endif  // TRAINER_TRIAL_REPORTS_H_
