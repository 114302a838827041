#include "trainer/run/result_files.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "eventlog/event.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "trainer/report/report_line.h"

namespace trainer {
namespace {

using runtime::Absl;
using runtime::JsonValue;

// An automatic field. Rendered directly into the output, so that no field needs a string.
struct AutoField {
  enum class Kind { kInteger, kMicroseconds, kBool, kString, kNegated, kNull };

  std::string_view name;
  Kind kind = Kind::kInteger;
  std::int64_t number = 0;     // For the first three kinds; kMicroseconds is written as seconds.
  std::string_view text = {};  // kString: verbatim; kNegated: digits, written with a changed sign.

  void AppendJson(std::string& out) const {
    if (kind == Kind::kNull) {
      out += "null";
    } else if (kind == Kind::kBool) {
      out += number != 0 ? "true" : "false";
    } else if (kind == Kind::kString) {
      out += runtime::Quote(text);
    } else {
      AppendNumber(out);
    }
  }
  // Appends the field as table text.
  void AppendText(std::string& out) const {
    if (kind == Kind::kBool) {
      out += number != 0 ? "True" : "False";
    } else if (kind == Kind::kString) {
      out += text;
    } else if (kind != Kind::kNull) {
      AppendNumber(out);
    }
  }
  Metric AsMetric() const {
    Metric metric{std::string(name), std::nullopt, ""};
    AppendText(metric.text);
    if (kind == Kind::kBool) {
      metric.number = number;
    } else if (kind != Kind::kString && kind != Kind::kNull) {
      metric.number = std::strtod(metric.text.c_str(), nullptr);
    }
    return metric;
  }

 private:
  void AppendNumber(std::string& out) const {
    if (kind == Kind::kInteger) {
      absl::StrAppend(&out, number);
    } else if (kind == Kind::kMicroseconds) {
      absl::StrAppend(&out, number / 1'000'000, ".",
                      absl::Dec(number % 1'000'000, absl::kZeroPad6));
    } else if (text == "NaN" || text == "0") {
      out += text;
    } else if (text.starts_with('-')) {
      out += text.substr(1);
    } else {
      absl::StrAppend(&out, "-", Absl(text));
    }
  }
};

// Returns the formatted date. Caches the last one, because all reports of one second share it.
// Valid until the thread's next call.
std::string_view DateOf(std::int64_t second, std::int64_t utc_offset_s) {
  struct Last {
    std::int64_t second = 0, offset = 0;
    std::string text;
  };
  static thread_local Last last;
  if (last.text.empty() || last.second != second || last.offset != utc_offset_s) {
    last = {second, utc_offset_s,
            absl::FormatTime("%Y-%m-%d_%H-%M-%S", absl::FromUnixSeconds(second),
                             absl::FixedTimeZone(static_cast<int>(utc_offset_s)))};
  }
  return last.text;
}

AutoField TotalOrNull(std::string_view name, std::int64_t total) {
  return {name, total < 0 ? AutoField::Kind::kNull : AutoField::Kind::kInteger, total};
}

// Returns true for rows with a step, whose event file records are also written in full precision.
// False for rows of earlier versions.
bool HasStep(const ResultRow& row) { return row.monotonic_us >= 0; }

// Returns views into the arguments, valid until the thread's next call.
std::vector<AutoField> AutoFields(const RunIdentity& run, const ResultRow& row,
                                  const std::vector<Metric>& leaves) {
  using Kind = AutoField::Kind;
  const std::int64_t second = absl::ToUnixSeconds(absl::FromUnixMicros(row.wall_time_us));
  std::vector<AutoField> fields;
  fields.reserve(18);
  if (HasStep(row)) fields.push_back({"step", Kind::kInteger, row.step});
  fields.push_back({"done", Kind::kBool, row.done});
  fields.push_back({"training_iteration", Kind::kInteger, row.training_iteration});
  fields.push_back({"time_this_iter_s", Kind::kMicroseconds, row.time_this_iter_us});
  fields.push_back({"time_total_s", Kind::kMicroseconds, row.time_total_us});
  fields.push_back({"timestamp", Kind::kInteger, second});
  fields.push_back({"date", Kind::kString, 0, DateOf(second, row.utc_offset_s)});
  fields.push_back({"hostname", Kind::kString, 0, run.hostname});
  fields.push_back({"trial_id", Kind::kString, 0, run.trial_id});
  fields.push_back({"experiment_id", Kind::kString, 0, run.experiment_id});
  if (row.iterations_since_restore == 0) return fields;
  fields.push_back({"experiment_tag", Kind::kString, 0, run.name});
  fields.push_back({"time_since_restore", Kind::kMicroseconds, row.time_since_restore_us});
  fields.push_back({"timesteps_since_restore", Kind::kInteger, row.timesteps_since_restore});
  fields.push_back({"iterations_since_restore", Kind::kInteger, row.iterations_since_restore});
  fields.push_back(TotalOrNull("timesteps_total", row.timesteps_total));
  fields.push_back(TotalOrNull("episodes_total", row.episodes_total));
  if (row.pid > 0) fields.push_back({"pid", Kind::kInteger, row.pid});
  for (const Metric& leaf : leaves) {
    const bool is_loss = leaf.name == "mean_loss" && leaf.number;
    if (!is_loss || leaf.text == "True" || leaf.text == "False") continue;
    fields.push_back({"neg_mean_loss", Kind::kNegated, 0, leaf.text});
  }
  return fields;
}

// `text` holds the metrics as compact JSON; empty if they were damaged.
std::string ResultLine(std::string_view text, const JsonValue& metrics,
                       const std::vector<AutoField>& fields) {
  constexpr std::size_t kUsualFields = 512;
  std::string line;
  line.reserve(text.size() + kUsualFields);
  line += text.empty() ? "{" : text.substr(0, text.size() - 1);
  for (const AutoField& field : fields) {
    if (metrics.Find(field.name) != nullptr) continue;
    // (The names need no escaping.)
    line += line.size() > 1 ? ",\"" : "\"";
    line += field.name;
    line += "\":";
    field.AppendJson(line);
  }
  line += "}\n";
  return line;
}

void AppendCsvCell(std::string_view text, std::string& line) {
  const bool is_plain = std::none_of(text.begin(), text.end(), [](char c) {
    return c == ',' || c == '"' || c == '\r' || c == '\n';
  });
  if (is_plain) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

// Python's csv module writes numbers in Python's own format.
std::string_view CsvNumber(std::string_view text) {
  if (text == "NaN") return "nan";
  if (text == "Infinity") return "inf";
  return text == "-Infinity" ? "-inf" : text;
}

// A cell of a table row: either `leaf` or `field` is set.
struct Cell {
  std::string_view name;
  const Metric* leaf = nullptr;
  const AutoField* field = nullptr;

  void AppendTo(std::string& line) const {
    if (leaf != nullptr) {
      AppendCsvCell(leaf->number ? CsvNumber(leaf->text) : std::string_view(leaf->text), line);
    } else if (field->kind == AutoField::Kind::kInteger ||
               field->kind == AutoField::Kind::kMicroseconds) {
      field->AppendText(line);
    } else {
      std::string text;
      field->AppendText(text);
      const bool is_number = field->kind == AutoField::Kind::kNegated;
      AppendCsvCell(is_number ? CsvNumber(text) : std::string_view(text), line);
    }
  }
};

// Returns the metrics, followed by the fields that were not reported. Holds views into both.
std::vector<Cell> CellsOf(const std::vector<Metric>& leaves, const std::vector<AutoField>& fields) {
  std::vector<Cell> cells;
  cells.reserve(leaves.size() + fields.size());
  std::vector<bool> reported(fields.size(), false);
  for (const Metric& leaf : leaves) {
    cells.push_back({leaf.name, &leaf});
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name == leaf.name) reported[i] = true;
    }
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!reported[i]) cells.push_back({fields[i].name, nullptr, &fields[i]});
  }
  return cells;
}

// Finds the cells of a row by name. Fastest when asked in the order of the cells.
class CellFinder {
 public:
  explicit CellFinder(const std::vector<Cell>& cells) : cells_(cells) {}
  // Returns null if no cell has that name.
  const Cell* Find(std::string_view name) {
    if (next_ < cells_.size() && cells_[next_].name == name) return &cells_[next_++];
    if (places_.empty()) {
      for (std::size_t i = 0; i < cells_.size(); ++i) places_[cells_[i].name] = i;
    }
    const auto found = places_.find(name);
    if (found == places_.end()) return nullptr;
    next_ = found->second + 1;
    return &cells_[found->second];
  }

 private:
  const std::vector<Cell>& cells_;
  std::size_t next_ = 0;
  std::unordered_map<std::string_view, std::size_t> places_;
};

std::string EventRecord(const ResultRow& row, const std::vector<Metric>& leaves) {
  std::vector<eventlog::Scalar> scalars;
  for (const Metric& leaf : leaves) {
    const bool is_axis = leaf.name == "step" || leaf.name == "training_iteration";
    if (leaf.number && !is_axis) scalars.push_back({leaf.name, *leaf.number});
  }
  if (scalars.empty()) return "";
  const auto width = HasStep(row) ? eventlog::ScalarWidth::kDouble : eventlog::ScalarWidth::kFloat;
  return eventlog::RenderScalars(static_cast<double>(row.wall_time_us) / 1e6, row.step, scalars,
                                 width);
}

JsonValue JsonOf(const ResultRow& row) {
  auto metrics = runtime::ParseJson(row.metrics);
  return metrics.ok() ? *std::move(metrics) : JsonValue();
}

}  // namespace

RowMetrics::RowMetrics(const ResultRow& row) : json(JsonOf(row)), leaves(FlattenObject(json)) {}

std::vector<Metric> ResultFields(const RunIdentity& run, const ResultRow& row,
                                 const RowMetrics& metrics) {
  const std::vector<Metric>& leaves = metrics.leaves;
  const std::vector<AutoField> fields = AutoFields(run, row, leaves);
  std::unordered_set<std::string_view> reported;
  for (const Metric& leaf : leaves) reported.insert(leaf.name);
  std::vector<Metric> result = leaves;
  for (const AutoField& field : fields) {
    if (reported.count(field.name) == 0) result.push_back(field.AsMetric());
  }
  return result;
}

std::vector<std::string> ResultFiles::ColumnsFor(const RunIdentity& run, const ResultRow& first) {
  std::vector<std::string> columns;
  for (Metric& field : ResultFields(run, first, RowMetrics(first))) {
    columns.push_back(std::move(field.name));
  }
  return columns;
}

void ResultFiles::SetColumns(std::vector<std::string> first_columns,
                             std::vector<CsvWidening> widenings) {
  columns_ = std::move(first_columns);
  first_columns_ = columns_.size();
  widenings_ = std::move(widenings);
  for (const CsvWidening& widening : widenings_) {
    columns_.insert(columns_.end(), widening.columns.begin(), widening.columns.end());
  }
  known_ = {columns_.begin(), columns_.end()};
}

// Holds views into the row and its metrics.
struct ResultFiles::Parsed {
  Parsed(const RunIdentity& run, const ResultRow& row, const RowMetrics& row_metrics)
      : metrics(row_metrics),
        fields(AutoFields(run, row, metrics.leaves)),
        cells(CellsOf(metrics.leaves, fields)) {}

  const RowMetrics& metrics;
  const std::vector<AutoField> fields;
  const std::vector<Cell> cells;
};

std::vector<std::string> ResultFiles::Widen(const ResultRow& row, const Parsed& parsed) {
  if (row.row == 1) {
    std::vector<std::string> columns;
    for (const Cell& cell : parsed.cells) columns.emplace_back(cell.name);
    SetColumns(std::move(columns), {});
  }
  if (widenings_.size() == kMaxWidenings) return {};
  std::vector<std::string> added;
  for (std::size_t i = 0; i < parsed.cells.size(); ++i) {
    const std::string_view name = parsed.cells[i].name;
    const bool is_in_its_place = i < columns_.size() && columns_[i] == name;
    if (!is_in_its_place && known_.count(name) == 0) added.emplace_back(name);
  }
  if (added.empty() || columns_.size() + added.size() > kMaxColumns) return {};
  widenings_.push_back({row.row, added});
  columns_.insert(columns_.end(), added.begin(), added.end());
  known_.insert(added.begin(), added.end());
  return added;
}

void ResultFiles::ForgetWideningsAfter(std::int64_t row) {
  while (LastWidening() > row) {
    for (const std::string& column : widenings_.back().columns) known_.erase(column);
    columns_.resize(columns_.size() - widenings_.back().columns.size());
    widenings_.pop_back();
  }
}

std::size_t ResultFiles::AddedAt(std::int64_t row) const {
  return ColumnCount(row) - ColumnCount(row - 1);
}

std::size_t ResultFiles::ColumnCount(std::int64_t row) const {
  std::size_t count = first_columns_;
  for (const CsvWidening& widening : widenings_) {
    if (widening.row <= row) count += widening.columns.size();
  }
  return count;
}

std::string ResultFiles::CsvHeader(std::int64_t row) const {
  std::string line;
  const std::size_t count = ColumnCount(row);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) line += ',';
    AppendCsvCell(columns_[i], line);
  }
  return line + "\n";
}

std::string ResultFiles::CsvRow(const Parsed& parsed, std::int64_t as_of) const {
  constexpr std::size_t kUsualRow = 256;
  std::string line;
  line.reserve(kUsualRow);
  CellFinder cells(parsed.cells);
  const std::size_t count = ColumnCount(as_of);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) line += ',';
    if (const Cell* const cell = cells.Find(columns_[i]); cell != nullptr) cell->AppendTo(line);
  }
  line += '\n';
  return line;
}

std::string ResultFiles::Name(ResultFile file) const {
  if (file == kEventFile) return run_.event_file;
  return file == kResultJson ? "result.json" : "progress.csv";
}

FileTexts ResultFiles::Beginning() const {
  return {"", "", eventlog::RenderFileHeader(static_cast<double>(run_.created_us) / 1e6)};
}

FileTexts ResultFiles::Render(const ResultRow& row, std::int64_t as_of) const {
  const RowMetrics metrics(row);
  return RenderParsed(row, Parsed(run_, row, metrics), as_of);
}

FileTexts ResultFiles::RenderNext(const ResultRow& row, const RowMetrics& metrics,
                                  std::vector<std::string>& added) {
  const Parsed parsed(run_, row, metrics);
  added = Widen(row, parsed);
  return RenderParsed(row, parsed, row.row);
}

FileTexts ResultFiles::RenderParsed(const ResultRow& row, const Parsed& parsed,
                                    std::int64_t as_of) const {
  std::string table = CsvRow(parsed, as_of);
  if (row.row == 1) table = CsvHeader(as_of) + table;
  const JsonValue& json = parsed.metrics.json;
  const bool is_whole = json.kind == JsonValue::Kind::kObject;
  return {ResultLine(is_whole ? row.metrics : "", json, parsed.fields), std::move(table),
          EventRecord(row, parsed.metrics.leaves)};
}

absl::StatusOr<std::string> RenderParams(std::string_view config) {
  auto json = runtime::ParseJson(config);
  if (!json.ok()) return json.status();
  if (json->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("a configuration must be a JSON object");
  }
  return runtime::PrettyJson(*json) + "\n";
}

}  // namespace trainer
