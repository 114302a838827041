#ifndef TRAINER_RESULT_FILES_H_
#define TRAINER_RESULT_FILES_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/result_row.h"

namespace trainer {

// What the files say of the run itself.
struct RunIdentity {
  std::string trial_id;
  std::string experiment_id;
  std::string hostname;
  std::int64_t created_us = 0;
  std::string event_file;  // Its name in the run's directory.
};

using FileTexts = std::array<std::string, kResultFiles>;

// Renders rows into the files of Ray Tune's layout (its JSON, CSV and TensorBoard loggers):
//
//   result.json   a line a report: what was reported, and the fields that Ray fills in and that
//                 mean something here (done, training_iteration, time_this_iter_s, time_total_s,
//                 timestamp, date, hostname, trial_id, experiment_id). A reported field wins.
//                 The configuration is in params.json only.
//   progress.csv  nested names joined by "/". The columns are those of the first row; what first
//                 appears in a later row is in result.json only (as with Ray).
//   event file    a record a report with its numbers and truth values, by their own flattened
//                 names. Not `step` and `training_iteration`, which are the axis. NaN and infinite
//                 numbers are written. A report without numbers has no record.
//
// Every function is pure: the same identity, first row and row give the same bytes.
class ResultFiles {
 public:
  // Columns of the CSV for a run with this first row.
  static std::vector<std::string> ColumnsFor(const RunIdentity& run, const ResultRow& first);

  explicit ResultFiles(RunIdentity run) : run_(std::move(run)) {}
  // Needed before any row is rendered; the first row itself brings them with it.
  void SetColumns(std::vector<std::string> columns) { columns_ = std::move(columns); }
  bool has_columns() const { return !columns_.empty(); }
  const RunIdentity& run() const { return run_; }

  // Name of a file in the run's directory.
  std::string Name(ResultFile file) const;
  // What the files hold before the first row.
  FileTexts Beginning() const;
  // What `row` appends to each file. Sets the columns if this is row 1.
  FileTexts Render(const ResultRow& row);

 private:
  const RunIdentity run_;
  std::vector<std::string> columns_;
};

// params.json for a configuration (a JSON object): names sorted, two spaces a level.
// InvalidArgument if it is no JSON object.
absl::StatusOr<std::string> RenderParams(std::string_view config);

}  // namespace trainer

#endif  // TRAINER_RESULT_FILES_H_
