#ifndef TRAINER_RUN_RESULT_FILES_H_
#define TRAINER_RUN_RESULT_FILES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/text/json_value.h"
#include "trainer/report/report_line.h"
#include "trainer/report/result_row.h"

namespace trainer {

// Facts about the run itself that its files have.
struct RunIdentity {
  std::string trial_id;
  std::string experiment_id;
  std::string hostname;
  std::int64_t created_us = 0;
  std::string event_file;  // Its name in the run's directory.
  std::string name = {};   // Name of the run.
};

using FileTexts = std::array<std::string, kResultFiles>;

// The reported metrics of a row, parsed: once a report, for all that judge it and for its files.
// Views into ResultRow::metrics, which has to stay where it is meanwhile.
struct RowMetrics {
  // (They were parsed before they were stored; those of a damaged row are none.)
  explicit RowMetrics(const ResultRow& row);

  const runtime::JsonValue json;
  const std::vector<Metric> leaves;  // Flattened.
};

// The reported metrics, flattened, and behind them the fields that Ray fills in and that mean
// something here, unless they were reported. docs/trainer_files.md lists them.
std::vector<Metric> ResultFields(const RunIdentity& run, const ResultRow& row,
                                 const RowMetrics& metrics);

// Renders rows into the files of Ray Tune's layout (its JSON, CSV and TensorBoard loggers):
//
//   result.json   a line a report: what was reported, and the automatic fields. The configuration
//                 is in params.json only.
//   progress.csv  nested names joined by "/". The columns are those of the first row; what first
//                 appears in a later row comes behind them: a widening, at which the file is
//                 written anew with a wider header, and an empty cell for each new column in each
//                 earlier row. (Ray drops those columns.) After kMaxWidenings they are in
//                 result.json only.
//   event file    a record a report with its numbers and truth values, by their own flattened
//                 names. Not `step` and `training_iteration`, which are the axis. NaN and infinite
//                 numbers are written. A report without numbers has no record.
//
// Every function is pure: the same identity, first row, widenings and row give the same bytes.
class ResultFiles {
 public:
  static constexpr std::size_t kMaxWidenings = 32;
  // The table is never widened to more columns than this.
  static constexpr std::size_t kMaxColumns = 20'000;

  // Columns of the CSV for a run with this first row.
  static std::vector<std::string> ColumnsFor(const RunIdentity& run, const ResultRow& first);

  explicit ResultFiles(RunIdentity run) : run_(std::move(run)) {}
  // Before any row is rendered; the first row itself brings its columns with RenderNext().
  void SetColumns(std::vector<std::string> first_columns, std::vector<CsvWidening> widenings);

  // As Render(), for the row behind the last one. `added` is what it adds to the columns behind
  // those of the first row, nothing mostly; they count from now on.
  FileTexts RenderNext(const ResultRow& row, const RowMetrics& metrics,
                       std::vector<std::string>& added);
  // Widenings at rows after `row` count no more.
  void ForgetWideningsAfter(std::int64_t row);
  // How many columns came with exactly this row, not the first.
  std::size_t AddedAt(std::int64_t row) const;
  // The row with which the newest column came; 0: the first.
  std::int64_t LastWidening() const { return widenings_.empty() ? 0 : widenings_.back().row; }
  // The header of progress.csv as of that row.
  std::string CsvHeader(std::int64_t row) const;

  // Name of a file in the run's directory.
  std::string Name(ResultFile file) const;
  // The texts of the files before the first row.
  FileTexts Beginning() const;
  // The text that `row` appends to each file, with the columns as of row `as_of`. (The first row's
  // text begins with their header.)
  FileTexts Render(const ResultRow& row, std::int64_t as_of) const;

 private:
  struct Parsed;
  std::size_t ColumnCount(std::int64_t row) const;
  std::vector<std::string> Widen(const ResultRow& row, const Parsed& parsed);
  std::string CsvRow(const Parsed& parsed, std::int64_t as_of) const;
  FileTexts RenderParsed(const ResultRow& row, const Parsed& parsed, std::int64_t as_of) const;

  const RunIdentity run_;
  std::vector<std::string> columns_;  // All of them: those of the first row, then the widenings'.
  std::size_t first_columns_ = 0;
  std::vector<CsvWidening> widenings_;
  std::set<std::string, std::less<>> known_;  // The names in columns_.
};

// params.json for a configuration (a JSON object): names sorted, two spaces a level.
// InvalidArgument if it is no JSON object.
absl::StatusOr<std::string> RenderParams(std::string_view config);

}  // namespace trainer

#endif  // TRAINER_RUN_RESULT_FILES_H_
