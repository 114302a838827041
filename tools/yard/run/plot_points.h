#ifndef TOOLS_YARD_RUN_PLOT_POINTS_H_
#define TOOLS_YARD_RUN_PLOT_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "tools/yard/text/braille_plot.h"

namespace yard {

// All points of a tag, in the order of steps. The functions below are pure; any thread.
struct PlotPoints {
  std::vector<std::int64_t> steps;
  std::vector<double> wall_times;  // Seconds since 1970.
  std::vector<double> values;
};

// Returns the smoothed values (runtime/smoother.h); values that are not finite stay.
std::vector<double> Smoothed(std::span<const double> values, double weight);

// Returns the seconds since the first point.
std::vector<double> SecondsSinceFirst(std::span<const double> wall_times);
// Returns, for each step, the latest value of another tag up to it; NaN before that tag's first.
std::vector<double> ValuesAt(std::span<const std::int64_t> steps, const PlotPoints& other);

// Merges neighbouring points into at most `most` columns of equal width in x; where `xs` decreases,
// columns follow the order of the points. Skips points without a finite x.
std::vector<PlotColumn> ColumnsOf(std::span<const double> xs, std::span<const double> values,
                                  std::size_t most);

// Returns "1h02m" or "3.5s" for a number of seconds.
std::string TextOfSeconds(double seconds);
// Returns "14:30:05", preceded by the date unless both ends of the axis are on the same day.
std::string TextOfMoment(double seconds, double from, double to, absl::TimeZone zone);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_PLOT_POINTS_H_
