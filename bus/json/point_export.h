#ifndef BUS_JSON_POINT_EXPORT_H_
#define BUS_JSON_POINT_EXPORT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bus {

// Points as text, one row each: run, tag, step, wall_time (seconds since 1970), value. Numbers are
// the shortest that read back exactly (number_text.h).
struct ExportStyle {
  enum class Format {
    kCsv,        // RFC 4180: lines end with CR LF.
    kJsonLines,  // {"run":"a","tag":"loss","step":1,"wall_time":1.5,"value":0.1}
  };
  Format format = Format::kCsv;
  // Nothing in a name commands the terminal: csv has them Printable(), JSON in ASCII. Otherwise
  // names are exact, but for bytes that are no UTF-8, each of which becomes U+FFFD.
  bool for_terminal = false;
};

// "csv", "jsonl".
std::optional<ExportStyle::Format> ParseExportFormat(std::string_view name);

// Points of one series, or a part of them, in the order in which they are written. As many as the
// shortest list has.
struct ExportedPoints {
  std::string_view run;
  std::string_view tag;
  std::span<const std::int64_t> steps;
  std::span<const double> wall_times;
  std::span<const double> values;
};

// The line before the first row; JSON has none.
std::string_view ExportHeader(ExportStyle::Format format);

// Appends a row for each point: at most 128 bytes beside the names, so that a caller who passes
// parts of bounded size has bounded text.
void AppendRows(const ExportStyle& style, const ExportedPoints& points, std::string* text);

}  // namespace bus

#endif  // BUS_JSON_POINT_EXPORT_H_
