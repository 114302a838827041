#include "tools/yard/text/sparkline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace yard {
namespace {

constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// Returns the finite value farthest from `from`; NaN if no value is finite.
double Farthest(std::span<const double> values, double from) {
  double chosen = std::numeric_limits<double>::quiet_NaN();
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const bool is_farther =
        std::isnan(chosen) ||
        (std::isfinite(from) && std::abs(value - from) > std::abs(chosen - from));
    if (is_farther || !std::isfinite(from)) chosen = value;
  }
  return chosen;
}

}  // namespace

std::string Sparkline(std::span<const double> values, int width) {
  if (width < 1) return "";
  const std::size_t columns = std::min(values.size(), static_cast<std::size_t>(width));
  std::vector<double> shown;
  double before = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t first = values.size() * i / columns;
    const std::size_t last = values.size() * (i + 1) / columns;
    shown.push_back(Farthest(values.subspan(first, last - first), before));
    if (!std::isnan(shown.back())) before = shown.back();
  }
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : shown) {
    if (std::isnan(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::string line;
  for (const double value : shown) {
    if (std::isnan(value)) {
      line += ' ';
      continue;
    }
    // Halving the operands keeps the width of huge ranges finite.
    const double range = high / 2 - low / 2;
    const double share = range > 0 ? (value / 2 - low / 2) / range : 0.5;
    line += kBars[std::clamp(static_cast<int>(share * 8), 0, 7)];
  }
  return line;
}

}  // namespace yard
