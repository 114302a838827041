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

// Facts about the run that appear in its files.
struct RunIdentity {
  std::string trial_id;
  std::string experiment_id;
  std::string hostname;
  std::int64_t created_us = 0;
  std::string event_file;  // Name of the file in the run's directory.
  std::string name = {};   // Name of the run.
};

using FileTexts = std::array<std::string, kResultFiles>;

// The metrics of a report, parsed once for everything that judges them or writes them to files.
// Holds views into ResultRow::metrics, which must not move meanwhile.
struct RowMetrics {
  // (Metrics were parsed before they were stored; a damaged row has no metrics.)
  explicit RowMetrics(const ResultRow& row);

  const runtime::JsonValue json;
  const std::vector<Metric> leaves;  // Flattened.
};

// Returns the flattened metrics, followed by those of Ray's automatic fields that apply here and
// were not reported. docs/trainer_files.md lists them.
std::vector<Metric> ResultFields(const RunIdentity& run, const ResultRow& row,
                                 const RowMetrics& metrics);

// Renders rows into the files of Ray Tune's layout (its JSON, CSV and TensorBoard loggers):
//
//   result.json   one line for each report: its metrics and the automatic fields. The
//                 configuration is only in params.json.
//   progress.csv  nested names joined by "/". The columns are those of the first row; names that
//                 first appear in a later row follow them: at such a widening the file is rewritten
//                 with a wider header, and with an empty cell for each new column in each earlier
//                 row. (Ray drops those columns.) After kMaxWidenings new names appear only in
//                 result.json.
//   event file    one record for each report, with its numbers and booleans under their flattened
//                 names, except `step` and `training_iteration`, which are the axis. NaN and
//                 infinite numbers are written. A report without numbers has no record.
//
// Every function is pure: the same identity, first row, widenings and row give the same bytes.
class ResultFiles {
 public:
  static constexpr std::size_t kMaxWidenings = 32;
  // Limit of columns in the table.
  static constexpr std::size_t kMaxColumns = 20'000;

  // Returns the CSV columns of a run with this first row.
  static std::vector<std::string> ColumnsFor(const RunIdentity& run, const ResultRow& first);

  explicit ResultFiles(RunIdentity run) : run_(std::move(run)) {}
  // Call it before rendering a row. Otherwise RenderNext() takes the columns from the first row.
  void SetColumns(std::vector<std::string> first_columns, std::vector<CsvWidening> widenings);

  // Like Render(), for the row after the last one. Sets `added` to the columns that this row adds,
  // usually none; they are part of the table from now on.
  FileTexts RenderNext(const ResultRow& row, const RowMetrics& metrics,
                       std::vector<std::string>& added);
  // Discards the widenings at rows after `row`.
  void ForgetWideningsAfter(std::int64_t row);
  // Returns how many columns were added at this row; 0 for the first row.
  std::size_t AddedAt(std::int64_t row) const;
  // Returns the row that added the newest column; 0 if only the first row has.
  std::int64_t LastWidening() const { return widenings_.empty() ? 0 : widenings_.back().row; }
  // Returns the header of progress.csv as of that row.
  std::string CsvHeader(std::int64_t row) const;

  // Returns the name of a file in the run's directory.
  std::string Name(ResultFile file) const;
  // Returns the text of each file before the first row.
  FileTexts Beginning() const;
  // Returns the text that `row` appends to each file, with the columns as of row `as_of`. (The
  // first row's text begins with the header.)
  FileTexts Render(const ResultRow& row, std::int64_t as_of) const;

 private:
  struct Parsed;
  std::size_t ColumnCount(std::int64_t row) const;
  std::vector<std::string> Widen(const ResultRow& row, const Parsed& parsed);
  std::string CsvRow(const Parsed& parsed, std::int64_t as_of) const;
  FileTexts RenderParsed(const ResultRow& row, const Parsed& parsed, std::int64_t as_of) const;

  const RunIdentity run_;
  std::vector<std::string> columns_;  // Columns of the first row, then of the widenings.
  std::size_t first_columns_ = 0;
  std::vector<CsvWidening> widenings_;
  std::set<std::string, std::less<>> known_;  // The names in columns_.
};

// Renders params.json for a configuration (a JSON object): names sorted, indented by two spaces.
// InvalidArgument if it is no JSON object.
absl::StatusOr<std::string> RenderParams(std::string_view config);

}  // namespace trainer

#endif  // TRAINER_RUN_RESULT_FILES_H_
