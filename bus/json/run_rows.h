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

// The table of runs that the page and `yard runs --columns` show. Pure functions; any thread.

// A column of it, by the names that queries have: "loss" or "last:loss", "min:loss",
// "max:loss", "config.lr"; and fields that every row has: "run", "created", "updated", "last_step",
// "points", "tags", "bytes", "labels", "note", "display_name", "trial_state".
struct RunColumn {
  enum class Kind { kField, kLast, kMin, kMax, kConfig };
  Kind kind = Kind::kField;
  std::string text;  // As it was asked for.
  std::string name;  // The tag, the parameter or the field.

  static RunColumn Parse(std::string_view text);
  bool IsMetric() const { return kind != Kind::kField && kind != Kind::kConfig; }
};

// Facts about a run that the table shows.
struct RunRow {
  // Never null; with the metrics and parameters of the columns.
  std::unique_ptr<msg::RunT> run = {};
  // Empty: no trial wrote the run, or the trial is not known any more.
  std::string trial_state = {};
  std::string reason = {};
};

// The value of a column: null where the run has none.
nlohmann::json CellOf(const RunRow& row, const RunColumn& column);

// Makes `request` ask for the metrics and parameters of the columns.
void RequestColumns(std::span<const RunColumn> columns, msg::RunsRequestT& request);
// Tells the rows how the trials that wrote their runs stand.
void AddTrials(const msg::TrialsReplyT& trials, std::span<RunRow> rows);

// A metric's value as it is sorted: infinities, which JSON lacks, are numbers; NaN is nothing.
nlohmann::json SortKey(nlohmann::json metric);
// The order of such keys, or of a column's other cells: numbers come before texts, and nothing is
// last both ways.
bool IsKeyBefore(const nlohmann::json& a, const nlohmann::json& b, bool falling);

// The column that "loss" or "-loss" sorts by.
RunColumn SortColumn(std::string_view sort);
// "-updated" sorts by that column, the greatest first. Rows without a value, or with NaN, are last
// both ways; numbers come before texts; equal rows keep their order.
void SortRows(std::string_view sort, std::vector<RunRow>& rows);
void SortRows(const RunColumn& by, bool falling, std::vector<RunRow>& rows);
// The places of the rows, in that order.
std::vector<std::size_t> SortedPlaces(const RunColumn& by, bool falling,
                                      std::span<const RunRow> rows);

// As `yard runs --json` has it, with the trial's state and the columns' cells.
nlohmann::json RowToJson(const RunRow& row, std::span<const RunColumn> columns);
// {COLUMN: value}, by what was asked for.
nlohmann::json CellsOf(const RunRow& row, std::span<const RunColumn> columns);

}  // namespace bus

#endif  // BUS_JSON_RUN_ROWS_H_
