#ifndef BUS_JSON_POINT_EXPORT_H_
#define BUS_JSON_POINT_EXPORT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bus {

// Writes points as text, one row each: run, tag, step, wall_time (seconds since 1970), value.
// Numbers are the shortest that read back exactly (number_text.h).
struct ExportStyle {
  enum class Format {
    kCsv,        // RFC 4180: lines end with CR LF.
    kJsonLines,  // {"run":"a","tag":"loss","step":1,"wall_time":1.5,"value":0.1}
  };
  Format format = Format::kCsv;
  // True: names contain nothing that controls a terminal: CSV names are Printable(), JSON is ASCII.
  // False: names are exact, except that each byte that is not UTF-8 becomes U+FFFD.
  bool for_terminal = false;
};

// Parses "csv" or "jsonl".
std::optional<ExportStyle::Format> ParseExportFormat(std::string_view name);

// Points of one series, or a range of them, in output order. Their number is the length of the
// shortest list.
struct ExportedPoints {
  std::string_view run;
  std::string_view tag;
  std::span<const std::int64_t> steps;
  std::span<const double> wall_times;
  std::span<const double> values;
};

// Returns the line before the first row; empty for JSON.
std::string_view ExportHeader(ExportStyle::Format format);

// Appends a row for each point. A row has at most 128 bytes besides the names, so that the text of
// a bounded range is bounded.
void AppendRows(const ExportStyle& style, const ExportedPoints& points, std::string* text);

}  // namespace bus

#endif  // BUS_JSON_POINT_EXPORT_H_
