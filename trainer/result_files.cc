#include "trainer/result_files.h"

#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "eventlog/event.h"
#include "runtime/string_view.h"
#include "trainer/json_text.h"
#include "trainer/report_line.h"

namespace trainer {
namespace {

using runtime::Absl;

struct AutoField {
  std::string_view name;
  std::string text;
  bool is_string;
};

std::string Seconds(std::int64_t us) {
  return absl::StrFormat("%d.%06d", us / 1'000'000, us % 1'000'000);
}

std::vector<AutoField> AutoFields(const RunIdentity& run, const ResultRow& row) {
  const absl::Time time = absl::FromUnixMicros(row.wall_time_us);
  const std::string date = absl::FormatTime(
      "%Y-%m-%d_%H-%M-%S", time, absl::FixedTimeZone(static_cast<int>(row.utc_offset_s)));
  return {{"done", row.done ? "true" : "false", false},
          {"training_iteration", absl::StrCat(row.training_iteration), false},
          {"time_this_iter_s", Seconds(row.time_this_iter_us), false},
          {"time_total_s", Seconds(row.time_total_us), false},
          {"timestamp", absl::StrCat(absl::ToUnixSeconds(time)), false},
          {"date", date, true},
          {"hostname", run.hostname, true},
          {"trial_id", run.trial_id, true},
          {"experiment_id", run.experiment_id, true}};
}

std::string ResultLine(const JsonValue& metrics, const std::vector<AutoField>& fields) {
  std::string line = "{";
  const auto append = [&](std::string_view name, std::string_view value) {
    absl::StrAppend(&line, line.size() > 1 ? "," : "", Quote(name), ":", Absl(value));
  };
  for (const auto& [name, value] : metrics.members) append(name, CompactJson(value));
  for (const AutoField& field : fields) {
    if (metrics.Find(field.name) != nullptr) continue;
    append(field.name, field.is_string ? Quote(field.text) : field.text);
  }
  return line + "}\n";
}

std::string CsvCell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    absl::StrAppend(&line, &cell == &cells.front() ? "" : ",", CsvCell(cell));
  }
  return line + "\n";
}

// Python's csv module writes numbers as Python prints them.
std::string CsvNumber(const std::string& text) {
  if (text == "NaN") return "nan";
  if (text == "Infinity") return "inf";
  return text == "-Infinity" ? "-inf" : text;
}

std::string CsvRow(const std::vector<Metric>& leaves, const std::vector<AutoField>& fields,
                   const std::vector<std::string>& columns) {
  std::unordered_map<std::string_view, std::string> texts;
  for (const AutoField& field : fields) {
    texts[field.name] =
        field.name == "done" ? (field.text == "true" ? "True" : "False") : field.text;
  }
  for (const Metric& leaf : leaves) {
    texts[leaf.name] = leaf.number ? CsvNumber(leaf.text) : leaf.text;
  }
  std::vector<std::string> cells;
  for (const std::string& column : columns) cells.push_back(texts[column]);
  return CsvLine(cells);
}

std::string EventRecord(const ResultRow& row, const std::vector<Metric>& leaves) {
  std::vector<eventlog::Scalar> scalars;
  for (const Metric& leaf : leaves) {
    const bool is_axis = leaf.name == "step" || leaf.name == "training_iteration";
    if (leaf.number && !is_axis) scalars.push_back({leaf.name, *leaf.number});
  }
  if (scalars.empty()) return "";
  return eventlog::RenderScalars(static_cast<double>(row.wall_time_us) / 1e6, row.step, scalars);
}

// A row's metrics were parsed before they were stored; a damaged row shows as an empty one.
std::vector<Metric> LeavesOf(const ResultRow& row) {
  auto leaves = FlattenMetrics(row.metrics);
  return leaves.ok() ? *std::move(leaves) : std::vector<Metric>();
}

}  // namespace

std::vector<std::string> ResultFiles::ColumnsFor(const RunIdentity& run, const ResultRow& first) {
  std::vector<std::string> columns;
  std::unordered_map<std::string_view, bool> known;
  const std::vector<Metric> leaves = LeavesOf(first);
  for (const Metric& leaf : leaves) {
    columns.push_back(leaf.name);
    known[leaf.name] = true;
  }
  for (const AutoField& field : AutoFields(run, first)) {
    if (!known[field.name]) columns.emplace_back(field.name);
  }
  return columns;
}

std::string ResultFiles::Name(ResultFile file) const {
  if (file == kEventFile) return run_.event_file;
  return file == kResultJson ? "result.json" : "progress.csv";
}

FileTexts ResultFiles::Beginning() const {
  return {"", "", eventlog::RenderFileHeader(static_cast<double>(run_.created_us) / 1e6)};
}

FileTexts ResultFiles::Render(const ResultRow& row) {
  if (row.row == 1) columns_ = ColumnsFor(run_, row);
  auto metrics = ParseJson(row.metrics);
  if (!metrics.ok()) metrics = JsonValue();
  const std::vector<Metric> leaves = LeavesOf(row);
  const std::vector<AutoField> fields = AutoFields(run_, row);
  const std::string header = row.row == 1 ? CsvLine(columns_) : "";
  return {ResultLine(*metrics, fields), header + CsvRow(leaves, fields, columns_),
          EventRecord(row, leaves)};
}

absl::StatusOr<std::string> RenderParams(std::string_view config) {
  auto json = ParseJson(config);
  if (!json.ok()) return json.status();
  if (json->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("a configuration must be a JSON object");
  }
  return PrettyJson(*json) + "\n";
}

}  // namespace trainer
