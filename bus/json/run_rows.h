#ifndef BUS_JSON_RUN_ROWS_H_
#define BUS_JSON_RUN_ROWS_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bus/schema/datamanager_generated.h"
#include "bus/schema/trainer_generated.h"
#include "nlohmann/json.hpp"

namespace bus {

// The table of runs of the page and of `yard runs --columns`. Pure functions; any thread.

// A column of the table, named as in queries: "loss" or "last:loss", "min:loss", "max:loss",
// "config.lr"; or a field that every row has: "run", "created", "updated", "last_step", "points",
// "tags", "bytes", "labels", "note", "display_name", "trial_state".
struct RunColumn {
  enum class Kind { kField, kLast, kMin, kMax, kConfig };
  Kind kind = Kind::kField;
  std::string text;  // As the user wrote it.
  std::string name;  // Name of the tag, the parameter or the field.

  static RunColumn Parse(std::string_view text);
  bool IsMetric() const { return kind != Kind::kField && kind != Kind::kConfig; }
};

// The data of one row.
struct RunRow {
  // Never null; includes the metrics and parameters of the columns.
  std::unique_ptr<msg::RunT> run = {};
  // Empty: the run has no trial, or the trial is unknown.
  std::string trial_state = {};
  std::string reason = {};
};

// Returns the cell of a column; null if the run has no value.
nlohmann::json CellOf(const RunRow& row, const RunColumn& column);

// Makes `request` include the metrics and parameters of the columns.
void RequestColumns(std::span<const RunColumn> columns, msg::RunsRequestT& request);
// Fills in the states of the trials that wrote the rows' runs.
void AddTrials(const msg::TrialsReplyT& trials, std::span<RunRow> rows);

// Returns the sort key of a metric: infinities, which JSON lacks, become numbers, NaN becomes null.
nlohmann::json SortKey(nlohmann::json metric);
// Orders such keys, or the cells of a column that is not a metric: numbers before texts; null is
// last in both directions.
bool IsKeyBefore(const nlohmann::json& a, const nlohmann::json& b, bool falling);

// Parses the column of "loss" or "-loss".
RunColumn SortColumn(std::string_view sort);
// Sorts the rows by a column; "-updated" sorts by "updated", the greatest first. Rows without a
// value, or with NaN, are last in both directions; numbers come before texts; equal rows keep their
// order.
void SortRows(std::string_view sort, std::vector<RunRow>& rows);
void SortRows(const RunColumn& by, bool falling, std::vector<RunRow>& rows);
// Returns the sorted order as indices into `rows`.
std::vector<std::size_t> SortedPlaces(const RunColumn& by, bool falling,
                                      std::span<const RunRow> rows);

// Returns the row as `yard runs --json` shows it, with the trial's state and the columns' cells.
nlohmann::json RowToJson(const RunRow& row, std::span<const RunColumn> columns);
// Returns {COLUMN: cell}; the names are those that the user wrote.
nlohmann::json CellsOf(const RunRow& row, std::span<const RunColumn> columns);

}  // namespace bus

#endif  // BUS_JSON_RUN_ROWS_H_
