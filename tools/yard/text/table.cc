#include "tools/yard/text/table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "runtime/text/printable.h"
#include "tools/yard/text/text_width.h"

namespace yard {
namespace {

// Limit of a column's padding: a wider cell pushes only its own row to the right.
constexpr int kMostPadding = 100;
constexpr int kLeastWidth = 8;  // Minimum width of a shortened column.

void AppendCell(const std::string& cell, int width, bool right, std::string* line) {
  const std::string padding(static_cast<std::size_t>(std::max(width - TextWidth(cell), 0)), ' ');
  *line += right ? padding + cell : cell + padding;
}

// Shrinks the widest column repeatedly until the sum is at most `room`.
void Narrow(int room, std::vector<int>* widths) {
  int sum = std::accumulate(widths->begin(), widths->end(), 0);
  for (; sum > room; --sum) {
    const auto widest = std::max_element(widths->begin(), widths->end());
    if (widest == widths->end() || *widest <= kLeastWidth) return;
    --*widest;
  }
}

}  // namespace

Table::Table(std::vector<std::string> headers) {
  for (std::string& header : headers) {
    const bool optional = header.starts_with('?');
    if (optional) header.erase(0, 1);
    optional_.push_back(optional);
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

std::string Table::ToString(int width) const {
  std::vector<const std::vector<std::string>*> lines = {&headers_};
  for (const auto& row : rows_) lines.push_back(&row);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    const auto has_text = [i](const auto& row) { return !row[i].empty(); };
    if (!optional_[i] || std::any_of(rows_.begin(), rows_.end(), has_text)) columns.push_back(i);
  }
  std::vector<int> widths(columns.size(), 0);
  for (const auto* cells : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const int most = width > 0 ? width : kMostPadding;
      widths[i] = std::max(widths[i], std::min(TextWidth((*cells)[columns[i]]), most));
    }
  }
  if (width > 0) Narrow(width - 2 * (static_cast<int>(widths.size()) - 1), &widths);
  std::string text;
  for (const auto* cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string& cell = (*cells)[columns[i]];
      AppendCell(width > 0 ? FitText(cell, widths[i]) : cell, widths[i], right_[columns[i]], &line);
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

std::string LocalTime(std::int64_t microseconds, absl::TimeZone zone) {
  const absl::Time time = absl::FromUnixMicros(microseconds);
  if (microseconds == 0 || zone.At(time).offset == 0) return IsoTime(microseconds);
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6S%Ez", time, zone);
}

std::string ShortNumber(double value) { return absl::StrFormat("%.6g", value); }

std::vector<std::string> ShortNumbers(std::span<const double> values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Limit of the rounding error: a hundredth of the range. Halving the operands keeps it finite.
  const double most = high > low ? (high / 2 - low / 2) / 50 : std::abs(high);
  std::vector<std::string> texts;
  for (int digits = 6; digits <= 17; ++digits) {
    texts.clear();
    bool is_exact = true;
    for (const double value : values) {
      texts.push_back(absl::StrFormat("%.*g", digits, value));
      if (!std::isfinite(value)) continue;
      is_exact &= std::abs(std::strtod(texts.back().c_str(), nullptr) - value) <= most;
    }
    if (is_exact) break;
  }
  return texts;
}

std::string ShortBytes(std::uint64_t bytes) {
  if (bytes < 1000) return absl::StrFormat("%d B", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"kB", "MB", "GB", "TB", "PB", "EB"}) {
    // A value that rounds to 1000.0 belongs to the next unit.
    if (value < 999.95) break;
    value /= 1000;
    unit = next;
  }
  return absl::StrFormat("%.1f %s", value, unit);
}

}  // namespace yard
