#include "tools/yard/table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "runtime/printable.h"

namespace yard {
namespace {

// Characters, as a terminal counts them for most scripts.
std::size_t Width(const std::string& cell) {
  return static_cast<std::size_t>(std::count_if(cell.begin(), cell.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void AppendCell(const std::string& cell, std::size_t width, bool right, std::string* line) {
  const std::string padding(width - std::min(width, Width(cell)), ' ');
  *line += right ? padding + cell : cell + padding;
}

}  // namespace

Table::Table(std::vector<std::string> headers) {
  for (std::string& header : headers) {
    const bool right = !header.empty() && header[0] == '>';
    if (right) header.erase(0, header.find_first_not_of("> "));
    right_.push_back(right);
    headers_.push_back(std::move(header));
  }
}

void Table::AddRow(std::vector<std::string> cells) {
  CHECK_LE(cells.size(), headers_.size());
  cells.resize(headers_.size());
  for (std::string& cell : cells) {
    std::replace(cell.begin(), cell.end(), '\t', ' ');
    cell = runtime::Printable(cell);
  }
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<const std::vector<std::string>*> lines = {&headers_};
  for (const auto& row : rows_) lines.push_back(&row);
  std::vector<std::size_t> widths(headers_.size(), 0);
  for (const auto* cells : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], Width((*cells)[i]));
    }
  }
  std::string text;
  for (const auto* cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) line += "  ";
      AppendCell((*cells)[i], widths[i], right_[i], &line);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string ShortDuration(absl::Duration duration) {
  const double seconds = std::max(absl::ToDoubleSeconds(duration), 0.0);
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 9.95) return absl::StrFormat("%.1f s", seconds);
  if (seconds < 60) return absl::StrFormat("%d s", static_cast<int>(seconds));
  if (seconds < 3600) return absl::StrFormat("%d min", static_cast<int>(seconds / 60));
  if (seconds < 48 * 3600) return absl::StrFormat("%d h", static_cast<int>(seconds / 3600));
  return absl::StrFormat("%d d", static_cast<std::int64_t>(seconds / 86400));
}

std::string IsoTime(std::int64_t microseconds) {
  if (microseconds == 0) return "";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromUnixMicros(microseconds),
                          absl::UTCTimeZone());
}

std::string ShortNumber(double value) { return absl::StrFormat("%.6g", value); }

std::string ShortBytes(std::uint64_t bytes) {
  if (bytes < 1000) return absl::StrFormat("%d B", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"kB", "MB", "GB", "TB", "PB", "EB"}) {
    // What rounds to 1000.0 belongs to the next unit.
    if (value < 999.95) break;
    value /= 1000;
    unit = next;
  }
  return absl::StrFormat("%.1f %s", value, unit);
}

}  // namespace yard
