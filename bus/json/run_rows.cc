#include "bus/json/run_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "bus/json/run_json.h"
#include "bus/json/trial_and_job_json.h"

namespace bus {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 11> kFields = {
    "run",   "created", "updated", "last_step",    "points",     "tags",
    "bytes", "labels",  "note",    "display_name", "trial_state"};

json MetricCell(const RunRow& row, const RunColumn& column) {
  for (const auto& metric : row.run->metrics) {
    if (metric->tag != column.name) continue;
    if (column.kind == RunColumn::Kind::kMin) return NumberToJson(metric->min);
    if (column.kind == RunColumn::Kind::kMax) return NumberToJson(metric->max);
    return NumberToJson(metric->last);
  }
  return nullptr;
}

json ParameterCell(const RunRow& row, const std::string& name) {
  for (const auto& parameter : row.run->parameters) {
    if (parameter->key != name) continue;
    json value = json::parse(parameter->value, nullptr, /*allow_exceptions=*/false);
    return value.is_discarded() ? json(parameter->value) : value;
  }
  return nullptr;
}

json FieldCell(const RunRow& row, const std::string& name) {
  const msg::RunT& run = *row.run;
  if (name == "run") return run.name;
  if (name == "created") return run.create_us;
  if (name == "updated") return run.update_us;
  if (name == "bytes") return run.bytes;
  if (name == "trial_state") return row.trial_state.empty() ? json() : json(row.trial_state);
  if (name == "labels") return run.labels.empty() ? json() : json(run.labels);
  if (name == "note") return TextOrNull(run.note);
  if (name == "display_name") return TextOrNull(run.display_name);
  if (!IsCounted(run)) return nullptr;
  if (name == "tags") return run.tags;
  if (name == "points") return run.points;
  return run.points > 0 ? json(run.last_step) : json();
}

// Ranks a value by its type, which is compared first: numbers, texts, null.
int RankOf(const json& value) {
  if (value.is_number()) return 0;
  return value.is_null() ? 2 : 1;
}

}  // namespace

RunColumn RunColumn::Parse(std::string_view text) {
  RunColumn column = {.kind = Kind::kLast, .text = std::string(text), .name = std::string(text)};
  for (const auto& [prefix, kind] : {std::pair<std::string_view, Kind>("last:", Kind::kLast),
                                     {"min:", Kind::kMin},
                                     {"max:", Kind::kMax},
                                     {"config.", Kind::kConfig}}) {
    if (!text.starts_with(prefix)) continue;
    column.kind = kind;
    column.name = std::string(text.substr(prefix.size()));
    return column;
  }
  if (std::find(kFields.begin(), kFields.end(), text) != kFields.end()) {
    column.kind = Kind::kField;
  }
  return column;
}

json CellOf(const RunRow& row, const RunColumn& column) {
  if (column.IsMetric()) return MetricCell(row, column);
  if (column.kind == RunColumn::Kind::kField) return FieldCell(row, column.name);
  return ParameterCell(row, column.name);
}

void RequestColumns(std::span<const RunColumn> columns, msg::RunsRequestT& request) {
  std::set<std::string> metrics, parameters;
  for (const RunColumn& column : columns) {
    if (column.IsMetric()) metrics.insert(column.name);
    if (column.kind == RunColumn::Kind::kConfig) parameters.insert(column.name);
  }
  request.metrics.assign(metrics.begin(), metrics.end());
  request.parameters.assign(parameters.begin(), parameters.end());
}

void AddTrials(const msg::TrialsReplyT& trials, std::span<RunRow> rows) {
  std::unordered_map<std::string, const msg::TrialT*> by_id;
  for (const auto& trial : trials.trials) by_id[trial->id] = trial.get();
  for (RunRow& row : rows) {
    const auto found = by_id.find(row.run->trial);
    if (found == by_id.end()) continue;
    row.trial_state = StateName(found->second->state);
    row.reason = found->second->reason;
  }
}

json SortKey(json metric) {
  if (metric == "NaN") return nullptr;
  if (metric == "Infinity") return HUGE_VAL;
  if (metric == "-Infinity") return -HUGE_VAL;
  return metric;
}

bool IsKeyBefore(const json& a, const json& b, bool falling) {
  const int rank_a = RankOf(a), rank_b = RankOf(b);
  if (rank_a != rank_b) return rank_a < rank_b;
  if (rank_a == 2) return false;
  return falling ? b < a : a < b;
}

RunColumn SortColumn(std::string_view sort) {
  return RunColumn::Parse(sort.substr(sort.starts_with("-") ? 1 : 0));
}

void SortRows(std::string_view sort, std::vector<RunRow>& rows) {
  SortRows(SortColumn(sort), sort.starts_with("-"), rows);
}

std::vector<std::size_t> SortedPlaces(const RunColumn& by, bool falling,
                                      std::span<const RunRow> rows) {
  std::vector<json> keys;
  keys.reserve(rows.size());
  for (const RunRow& row : rows) {
    json cell = CellOf(row, by);
    keys.push_back(by.IsMetric() ? SortKey(std::move(cell)) : std::move(cell));
  }
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return IsKeyBefore(keys[a], keys[b], falling);
  });
  return order;
}

void SortRows(const RunColumn& by, bool falling, std::vector<RunRow>& rows) {
  std::vector<RunRow> sorted;
  sorted.reserve(rows.size());
  for (const std::size_t place : SortedPlaces(by, falling, rows)) {
    sorted.push_back(std::move(rows[place]));
  }
  rows = std::move(sorted);
}

json CellsOf(const RunRow& row, std::span<const RunColumn> columns) {
  json cells = json::object();
  for (const RunColumn& column : columns) cells[column.text] = CellOf(row, column);
  return cells;
}

json RowToJson(const RunRow& row, std::span<const RunColumn> columns) {
  json text = RunToJson(*row.run);
  text["trial_state"] = row.trial_state.empty() ? json() : json(row.trial_state);
  if (!row.reason.empty()) text["reason"] = row.reason;
  text["cols"] = CellsOf(row, columns);
  return text;
}

}  // namespace bus
