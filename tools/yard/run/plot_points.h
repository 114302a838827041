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

// Every point of a tag, in the order of steps. Pure functions; any thread.
struct PlotPoints {
  std::vector<std::int64_t> steps;
  std::vector<double> wall_times;  // Seconds since 1970.
  std::vector<double> values;
};

// The smoothed values (runtime/smoother.h); values that are not finite stay.
std::vector<double> Smoothed(std::span<const double> values, double weight);

// Seconds since the first point.
std::vector<double> SecondsSinceFirst(std::span<const double> wall_times);
// The last value of another tag until each step; NaN before its first one.
std::vector<double> ValuesAt(std::span<const std::int64_t> steps, const PlotPoints& other);

// Neighbouring points put together into at most `most` columns, each as wide as the others; in the
// order of the points where `xs` runs back. Points without a finite x are left out.
std::vector<PlotColumn> ColumnsOf(std::span<const double> xs, std::span<const double> values,
                                  std::size_t most);

// "1h02m", "3.5s" of seconds.
std::string TextOfSeconds(double seconds);
// "14:30:05", with the date in front unless both ends of the axis are of one day.
std::string TextOfMoment(double seconds, double from, double to, absl::TimeZone zone);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_PLOT_POINTS_H_
