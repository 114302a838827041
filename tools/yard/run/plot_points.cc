#include "tools/yard/run/plot_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/smoother.h"

namespace yard {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void Include(double x, double value, PlotColumn* column) {
  column->last_x = x;
  column->last = value;
  if (!std::isfinite(value)) return;
  column->min = std::isnan(column->min) ? value : std::min(column->min, value);
  column->max = std::isnan(column->max) ? value : std::max(column->max, value);
}

PlotColumn ColumnOf(double x, double value) {
  PlotColumn column{
      .first_x = x, .last_x = x, .first = value, .last = value, .min = kNan, .max = kNan};
  Include(x, value, &column);
  return column;
}

}  // namespace

std::vector<double> Smoothed(std::span<const double> values, double weight) {
  runtime::Smoother smoother(weight);
  std::vector<double> smoothed;
  smoothed.reserve(values.size());
  for (const double value : values) {
    smoother.Add(value);
    smoothed.push_back(std::isfinite(value) ? smoother.value() : value);
  }
  return smoothed;
}

std::vector<double> SecondsSinceFirst(std::span<const double> wall_times) {
  std::vector<double> seconds;
  seconds.reserve(wall_times.size());
  for (const double time : wall_times) seconds.push_back(time - wall_times.front());
  return seconds;
}

std::vector<double> ValuesAt(std::span<const std::int64_t> steps, const PlotPoints& other) {
  std::vector<double> values;
  values.reserve(steps.size());
  double last = kNan;
  std::size_t at = 0;
  for (const std::int64_t step : steps) {
    for (; at < other.steps.size() && other.steps[at] <= step; ++at) last = other.values[at];
    values.push_back(last);
  }
  return values;
}

std::vector<PlotColumn> ColumnsOf(std::span<const double> xs, std::span<const double> values,
                                  std::size_t most) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::size_t points = 0;
  for (const double x : xs) {
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
    ++points;
  }
  // Halving the operands keeps the width of huge ranges finite.
  const double width = high / 2 - low / 2;
  const bool each = points <= most || !(width > 0);
  std::vector<PlotColumn> columns;
  std::size_t bucket = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!std::isfinite(xs[i])) continue;
    const auto in = static_cast<std::size_t>(
        width > 0 ? std::min((xs[i] / 2 - low / 2) / width * static_cast<double>(most),
                             static_cast<double>(most - 1))
                  : 0);
    if (columns.empty() || each || in != bucket) {
      columns.push_back(ColumnOf(xs[i], values[i]));
    } else {
      Include(xs[i], values[i], &columns.back());
    }
    bucket = in;
  }
  return columns;
}

std::string TextOfSeconds(double seconds) {
  if (std::abs(seconds) < 60) return absl::StrFormat("%.3gs", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours == 0) return absl::StrFormat("%dm%02ds", minutes, whole % 60);
  if (hours < 48) return absl::StrFormat("%dh%02dm", hours, minutes);
  return absl::StrFormat("%dd%02dh", hours / 24, hours % 24);
}

std::string TextOfMoment(double seconds, double from, double to, absl::TimeZone zone) {
  const auto text = [&](const char* format, double at) {
    return absl::FormatTime(format, absl::FromUnixMicros(static_cast<std::int64_t>(at * 1e6)),
                            zone);
  };
  return text(text("%F", from) == text("%F", to) ? "%H:%M:%S" : "%F %H:%M", seconds);
}

}  // namespace yard
