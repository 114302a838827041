#include "tools/yard/run/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "runtime/text/number_text.h"
#include "runtime/text/printable.h"
#include "runtime/text/utf8.h"
#include "tools/yard/text/table.h"
#include "tools/yard/text/text_width.h"

namespace yard {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxNested = 256;  // Limit of nested lists and objects in a parsed value.
constexpr std::size_t kShownEnd = 14;    // Characters kept at either end of a long value.
constexpr char kAbsent[] = "-";

// Parses JSON; invalid JSON, or JSON that is too deep for recursion, becomes a string.
json Parse(const std::string& text) {
  const auto nested =
      std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{'; });
  if (static_cast<std::size_t>(nested) > kMaxNested) return text;
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_discarded() ? json(text) : parsed;
}

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

using Values = std::vector<std::optional<std::string>>;

bool Differs(const Values& values) {
  for (const auto& value : values) {
    if (value.has_value() != values.front().has_value()) return true;
    if (value.has_value() && *value != *values.front() && Parse(*value) != Parse(*values.front())) {
      return true;
    }
  }
  return false;
}

template <typename Map>
std::set<std::string> Names(std::span<const ComparedRun> runs, Map ComparedRun::*map) {
  std::set<std::string> names;
  for (const ComparedRun& run : runs) {
    for (const auto& entry : run.*map) names.insert(entry.first);
  }
  return names;
}

std::optional<std::string> ValueOf(const std::map<std::string, std::string>& values,
                                   const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> MetricValue(const ComparedRun& run, const std::string& tag,
                                       double ComparedRun::Metric::*number) {
  const auto found = run.metrics.find(tag);
  if (found == run.metrics.end()) return std::nullopt;
  std::string text;
  runtime::AppendJsonNumber(found->second.*number, &text);
  return text;
}

// ---- Text for people.

// Number of UTF-8 characters.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// Width in terminal columns.
std::size_t Columns(std::string_view text) { return static_cast<std::size_t>(TextWidth(text)); }

// Return the first or last `count` characters of `text`, which has more.
std::string_view First(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < count; ++i) end += runtime::Utf8Bytes(text.substr(end));
  return text.substr(0, end);
}

std::string_view Last(std::string_view text, std::size_t count) {
  return text.substr(First(text, Width(text) - count).size());
}

// Returns a string without quotes, unless it would look like another JSON value.
std::string Exact(const std::optional<std::string>& value) {
  if (!value.has_value()) return kAbsent;
  const json parsed = Parse(*value);
  if (!parsed.is_string()) return runtime::Printable(Dump(parsed));
  const std::string text = parsed.get<std::string>();
  const bool as_it_is = !text.empty() && text != kAbsent && !json::accept(text);
  return runtime::Printable(as_it_is ? text : Dump(parsed));
}

std::string Short(const std::optional<std::string>& value) {
  if (value.has_value()) {
    const json parsed = Parse(*value);
    if (parsed.is_number_float()) return ShortNumber(parsed.get<double>());
  }
  const std::string text = Exact(value);
  if (Width(text) <= 2 * kShownEnd + 3) return text;
  return std::string(First(text, kShownEnd)) + "..." + std::string(Last(text, kShownEnd));
}

// Returns one cell for each run: short forms if they distinguish as many values as the exact forms.
std::vector<std::string> Cells(const Values& values) {
  std::vector<std::string> exact, shortened;
  for (const auto& value : values) {
    exact.push_back(Exact(value));
    shortened.push_back(Short(value));
  }
  const auto kinds = [](const std::vector<std::string>& cells) {
    return std::set<std::string>(cells.begin(), cells.end()).size();
  };
  return kinds(shortened) < kinds(exact) ? exact : shortened;
}

}  // namespace

RunComparison CompareRuns(std::span<const ComparedRun> runs, bool all) {
  RunComparison comparison;
  for (const ComparedRun& run : runs) comparison.runs.push_back(run.name);
  const auto add = [&](std::string name, Values values, std::size_t* same) {
    const bool differs = Differs(values);
    if (!differs) ++*same;
    if (!differs && !all) return;
    comparison.rows.push_back(
        {.name = std::move(name), .values = std::move(values), .differs = differs});
  };
  std::size_t same_said = 0;
  for (const std::string& name : Names(runs, &ComparedRun::said)) {
    Values values;
    for (const ComparedRun& run : runs) values.push_back(ValueOf(run.said, name));
    add(name + ":", std::move(values), &same_said);
  }
  for (const std::string& name : Names(runs, &ComparedRun::config)) {
    Values values;
    for (const ComparedRun& run : runs) values.push_back(ValueOf(run.config, name));
    add("config." + name, std::move(values), &comparison.same_config);
  }
  constexpr std::pair<const char*, double ComparedRun::Metric::*> kNumbers[] = {
      {"", &ComparedRun::Metric::last},
      {"min:", &ComparedRun::Metric::min},
      {"max:", &ComparedRun::Metric::max}};
  for (const std::string& tag : Names(runs, &ComparedRun::metrics)) {
    for (const auto& number : kNumbers) {
      Values values;
      for (const ComparedRun& run : runs) values.push_back(MetricValue(run, tag, number.second));
      add(number.first + tag, std::move(values), &comparison.same_metrics);
    }
  }
  return comparison;
}

namespace {

// A column of a table, with a cell for each row.
struct Column {
  std::string header;
  std::vector<std::string> cells;
};

// Formats a table whose first column is `names` (the first of them a header), in as many blocks of
// columns as the width requires.
std::string Blocks(std::vector<std::string> names, std::span<const Column> columns,
                   std::size_t width) {
  // A longer name is cut, or pushes only its own row to the right.
  const std::size_t most = width > 0 ? std::max<std::size_t>(width / 2, 20) : 100;
  std::size_t name_width = 0;
  for (std::string& name : names) {
    if (width > 0) name = FitText(name, static_cast<int>(most));
    name_width = std::max(name_width, std::min(Columns(name), most));
  }
  std::string text;
  for (std::size_t begin = 0; begin < columns.size();) {
    std::vector<std::string> headers = {names[0]};
    std::size_t used = name_width;
    std::size_t end = begin;
    for (; end < columns.size(); ++end) {
      std::size_t column = Columns(columns[end].header);
      for (const auto& cell : columns[end].cells) column = std::max(column, Columns(cell));
      if (width > 0 && end > begin && used + 2 + column > width) break;
      used += 2 + column;
      headers.push_back(">" + columns[end].header);
    }
    Table table(headers);
    for (std::size_t row = 1; row < names.size(); ++row) {
      std::vector<std::string> line = {names[row]};
      for (std::size_t i = begin; i < end; ++i) line.push_back(columns[i].cells[row - 1]);
      table.AddRow(std::move(line));
    }
    if (begin > 0) text += "\n";
    text += table.ToString();
    begin = end;
  }
  return text;
}

}  // namespace

std::string ComparisonTable(const RunComparison& comparison, std::size_t width) {
  if (comparison.rows.empty()) return "";
  std::vector<std::string> names = {""};
  std::vector<Column> columns;
  const bool are_rows = comparison.runs.size() >= kRunsAsRows;
  for (const std::string& run : comparison.runs) {
    const std::string name = runtime::Printable(run);
    are_rows ? names.push_back(name) : columns.push_back({.header = name, .cells = {}});
  }
  for (const ComparisonRow& row : comparison.rows) {
    const std::string name = runtime::Printable(row.name);
    std::vector<std::string> cells = Cells(row.values);
    if (are_rows) {
      columns.push_back({.header = name, .cells = std::move(cells)});
      continue;
    }
    names.push_back(name);
    for (std::size_t run = 0; run < columns.size(); ++run) {
      columns[run].cells.push_back(std::move(cells[run]));
    }
  }
  return Blocks(std::move(names), columns, width);
}

namespace {

// Sorts numbers by value, then everything else as text; runs without the parameter come last.
bool IsBefore(const std::optional<std::string>& a, const std::optional<std::string>& b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() && !b.has_value();
  const json x = Parse(*a), y = Parse(*b);
  if (x.is_number() != y.is_number()) return x.is_number();
  return x.is_number() ? x < y : Dump(x) < Dump(y);
}

GroupedMetric::Figures FiguresOf(std::span<const ComparedRun> runs, const RunGroup& group,
                                 const std::string& tag) {
  std::vector<double> values;
  for (const ComparedRun& run : runs) {
    const auto metric = run.metrics.find(tag);
    const bool is_member =
        std::find(group.runs.begin(), group.runs.end(), run.name) != group.runs.end();
    if (!is_member || metric == run.metrics.end()) continue;
    if (std::isfinite(metric->second.last)) values.push_back(metric->second.last);
  }
  GroupedMetric::Figures figures{.runs = values.size()};
  if (values.empty()) return figures;
  const auto count = static_cast<double>(values.size());
  figures.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2) return figures;
  double squares = 0;
  for (const double value : values) squares += (value - figures.mean) * (value - figures.mean);
  figures.deviation = std::sqrt(squares / (count - 1));
  return figures;
}

}  // namespace

absl::StatusOr<GroupComparison> CompareGroups(std::span<const ComparedRun> runs,
                                              const std::string& parameter) {
  constexpr std::string_view kConfig = "config.";
  const std::string key =
      parameter.starts_with(kConfig) ? parameter.substr(kConfig.size()) : parameter;
  GroupComparison comparison{.parameter = std::string(kConfig) + key};
  for (const ComparedRun& run : runs) {
    const auto value = ValueOf(run.config, key);
    const auto group =
        std::find_if(comparison.groups.begin(), comparison.groups.end(), [&](const RunGroup& one) {
          return one.value.has_value() == value.has_value() &&
                 (!value.has_value() || Parse(*one.value) == Parse(*value));
        });
    if (group != comparison.groups.end()) {
      group->runs.push_back(run.name);
    } else {
      comparison.groups.push_back({value, {run.name}});
    }
  }
  std::stable_sort(comparison.groups.begin(), comparison.groups.end(),
                   [](const RunGroup& a, const RunGroup& b) { return IsBefore(a.value, b.value); });
  if (comparison.groups.empty() || !comparison.groups.front().value.has_value()) {
    return absl::InvalidArgumentError("no run has the parameter " + comparison.parameter);
  }
  for (const std::string& tag : Names(runs, &ComparedRun::metrics)) {
    GroupedMetric metric{.tag = tag};
    for (const RunGroup& group : comparison.groups) {
      metric.groups.push_back(FiguresOf(runs, group, tag));
    }
    comparison.metrics.push_back(std::move(metric));
  }
  return comparison;
}

std::string GroupTable(const GroupComparison& comparison) {
  std::vector<std::string> headers = {runtime::Printable(comparison.parameter)};
  std::vector<std::string> counts = {"runs"};
  for (const RunGroup& group : comparison.groups) {
    headers.push_back(">" + Short(group.value));
    counts.push_back(std::to_string(group.runs.size()));
  }
  Table table(headers);
  table.AddRow(std::move(counts));
  for (const GroupedMetric& metric : comparison.metrics) {
    std::vector<std::string> line = {runtime::Printable(metric.tag)};
    for (const GroupedMetric::Figures& figures : metric.groups) {
      std::string text = figures.runs == 0 ? kAbsent : ShortNumber(figures.mean);
      if (figures.runs > 1) text += " +- " + ShortNumber(figures.deviation);
      line.push_back(std::move(text));
    }
    table.AddRow(std::move(line));
  }
  return table.ToString();
}

std::vector<json> GroupsToJson(const GroupComparison& comparison) {
  const auto figure = [](double value) { return std::isnan(value) ? json() : json(value); };
  std::vector<json> rows;
  for (const GroupedMetric& metric : comparison.metrics) {
    for (std::size_t i = 0; i < comparison.groups.size(); ++i) {
      const RunGroup& group = comparison.groups[i];
      rows.push_back({{"name", metric.tag},
                      {"group", comparison.parameter},
                      {"value", group.value.has_value() ? Parse(*group.value) : json()},
                      {"runs", group.runs},
                      {"mean", figure(metric.groups[i].mean)},
                      {"deviation", figure(metric.groups[i].deviation)}});
    }
  }
  return rows;
}

json RowToJson(const RunComparison& comparison, const ComparisonRow& row) {
  json values = json::object();
  for (std::size_t run = 0; run < comparison.runs.size(); ++run) {
    const auto& value = row.values[run];
    values[comparison.runs[run]] = value.has_value() ? Parse(*value) : json();
  }
  return {{"name", row.name}, {"values", std::move(values)}};
}

}  // namespace yard
