#include "tools/yard/run/run_columns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tools/yard/text/table.h"

namespace yard {
namespace {

using bus::RunColumn;
using bus::RunRow;
using nlohmann::json;

RunColumn Parse(const std::string& text) {
  RunColumn column = RunColumn::Parse(text == "state" ? "trial_state" : text);
  column.text = text;
  return column;
}

bool IsNotFinite(const json& cell) {
  return cell == "NaN" || cell == "Infinity" || cell == "-Infinity";
}

std::string CellText(const json& cell, const RunColumn& column, absl::Time now) {
  if (cell.is_null()) return "-";
  if (column.kind == RunColumn::Kind::kField) {
    if (column.name == "bytes") return ShortBytes(cell.get<std::uint64_t>());
    if (column.name == "created" || column.name == "updated") {
      return ShortDuration(now - absl::FromUnixMicros(cell.get<std::int64_t>()));
    }
    if (column.name == "labels") return absl::StrJoin(cell.get<std::vector<std::string>>(), " ");
  }
  if (cell.is_string()) return cell.get<std::string>();
  return cell.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Returns the text of each row's cell. Fractions in a column have the same number of digits.
std::vector<std::string> CellTexts(std::span<const RunRow> rows, const RunColumn& column,
                                   absl::Time now, bool* is_number) {
  std::vector<std::string> texts;
  std::vector<double> numbers;
  std::vector<std::size_t> places;
  for (const RunRow& row : rows) {
    const json cell = CellOf(row, column);
    if (cell.is_number_float()) {
      numbers.push_back(cell.get<double>());
      places.push_back(texts.size());
    }
    *is_number = *is_number &&
                 (cell.is_null() || cell.is_number() || (column.IsMetric() && IsNotFinite(cell)));
    texts.push_back(CellText(cell, column, now));
  }
  std::vector<std::string> shortened = ShortNumbers(numbers);
  for (std::size_t i = 0; i < places.size(); ++i) texts[places[i]] = std::move(shortened[i]);
  return texts;
}

// Returns the name in double quotes, as queries require for names with arbitrary characters.
std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

}  // namespace

absl::StatusOr<std::vector<RunColumn>> ParseColumns(const std::string& list,
                                                    const std::string& sort) {
  std::vector<std::string> texts;
  if (!list.empty()) texts = absl::StrSplit(list, ',');
  if (!sort.empty()) {
    const std::string by = sort.substr(sort.starts_with("-") ? 1 : 0);
    if (std::find(texts.begin(), texts.end(), by) == texts.end()) texts.push_back(by);
  }
  std::vector<RunColumn> columns;
  for (const std::string& text : texts) {
    columns.push_back(Parse(text));
    if (columns.back().name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--columns: a column without a name in \"", list, list.empty() ? sort : "",
                       "\"; expected names such as config.lr,val/acc,state"));
    }
  }
  return columns;
}

std::string ColumnsTable(std::span<const RunRow> rows, std::span<const RunColumn> columns,
                         absl::Time now, int width) {
  std::vector<std::string> headers = {"RUN"};
  std::vector<std::vector<std::string>> cells(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) cells[i].push_back(rows[i].run->name);
  for (const RunColumn& column : columns) {
    if (column.name == "run" && column.kind == RunColumn::Kind::kField) continue;  // Already first.
    bool is_number = true;
    std::vector<std::string> texts = CellTexts(rows, column, now, &is_number);
    headers.push_back(absl::StrCat(is_number ? ">" : "", column.text));
    for (std::size_t i = 0; i < rows.size(); ++i) cells[i].push_back(std::move(texts[i]));
  }
  Table table(headers);
  for (auto& line : cells) table.AddRow(std::move(line));
  return table.ToString(width);
}

std::string QueryForMissing(std::span<const RunRow> rows, std::span<const RunColumn> columns) {
  std::vector<std::string> conditions;
  for (const RunColumn& column : columns) {
    if (column.kind == RunColumn::Kind::kField) continue;
    const bool is_there = std::any_of(rows.begin(), rows.end(), [&](const RunRow& row) {
      return !CellOf(row, column).is_null();
    });
    if (is_there) continue;
    conditions.push_back(
        absl::StrCat(column.IsMetric() ? "last:" : "config.", Quoted(column.name), "=0"));
  }
  return absl::StrJoin(conditions, " | ");
}

}  // namespace yard
