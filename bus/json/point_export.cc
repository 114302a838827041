#include "bus/json/point_export.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>

#include "nlohmann/json.hpp"
#include "runtime/text/number_text.h"
#include "runtime/text/printable.h"
#include "runtime/text/utf8.h"

namespace bus {
namespace {

std::string CsvField(std::string_view name, bool for_terminal) {
  const std::string field = for_terminal ? runtime::Printable(name) : runtime::ValidUtf8(name);
  // Spaces at either end are part of a CSV field, but many readers strip them unless it is quoted.
  const bool spaces = !field.empty() && (field.front() == ' ' || field.back() == ' ');
  if (field.find_first_of(",\"\r\n") == std::string::npos && !spaces) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string JsonField(std::string_view name, bool for_terminal) {
  // Replaces invalid UTF-8 here rather than in the library: one character per byte, as in CSV.
  return nlohmann::json(runtime::ValidUtf8(name)).dump(-1, ' ', for_terminal);
}

void AppendStep(std::int64_t step, std::string* text) {
  char buffer[24];
  text->append(buffer, std::to_chars(std::begin(buffer), std::end(buffer), step).ptr);
}

void AppendCsvRows(const ExportStyle& style, const ExportedPoints& points, std::size_t count,
                   std::string* text) {
  const std::string begin = CsvField(points.run, style.for_terminal) + "," +
                            CsvField(points.tag, style.for_terminal) + ",";
  for (std::size_t i = 0; i < count; ++i) {
    *text += begin;
    AppendStep(points.steps[i], text);
    *text += ',';
    runtime::AppendNumber(points.wall_times[i], text);
    *text += ',';
    runtime::AppendNumber(points.values[i], text);
    *text += "\r\n";
  }
}

void AppendJsonRows(const ExportStyle& style, const ExportedPoints& points, std::size_t count,
                    std::string* text) {
  const std::string begin = "{\"run\":" + JsonField(points.run, style.for_terminal) +
                            ",\"tag\":" + JsonField(points.tag, style.for_terminal) + ",\"step\":";
  for (std::size_t i = 0; i < count; ++i) {
    *text += begin;
    AppendStep(points.steps[i], text);
    *text += ",\"wall_time\":";
    runtime::AppendJsonNumber(points.wall_times[i], text);
    *text += ",\"value\":";
    runtime::AppendJsonNumber(points.values[i], text);
    *text += "}\n";
  }
}

}  // namespace

std::optional<ExportStyle::Format> ParseExportFormat(std::string_view name) {
  if (name == "csv") return ExportStyle::Format::kCsv;
  if (name == "jsonl") return ExportStyle::Format::kJsonLines;
  return std::nullopt;
}

std::string_view ExportHeader(ExportStyle::Format format) {
  return format == ExportStyle::Format::kCsv ? "run,tag,step,wall_time,value\r\n" : "";
}

void AppendRows(const ExportStyle& style, const ExportedPoints& points, std::string* text) {
  const std::size_t count =
      std::min({points.steps.size(), points.wall_times.size(), points.values.size()});
  if (style.format == ExportStyle::Format::kCsv) {
    AppendCsvRows(style, points, count, text);
  } else {
    AppendJsonRows(style, points, count, text);
  }
}

}  // namespace bus
