#include "datamanager/scalar_series.h"

#include <algorithm>
#include <cmath>

namespace datamanager {

void ScalarSeries::Append(const Point& point) {
  if (keeps_points_) {
    if (!points_.empty() && point.step < points_.back().step) sorted_ = false;
    points_.push_back(point);
  }
  const bool first = summary_.points++ == 0;
  summary_.first_step = first ? point.step : std::min(summary_.first_step, point.step);
  summary_.last_step = first ? point.step : std::max(summary_.last_step, point.step);
  summary_.last = point.value;
  if (!std::isfinite(point.value)) {
    ++summary_.not_finite;
    return;
  }
  if (!(summary_.min <= point.value)) summary_.min = point.value;
  if (!(summary_.max >= point.value)) summary_.max = point.value;
}

void ScalarSeries::DropPoints() {
  std::vector<Point>().swap(points_);
  keeps_points_ = false;
}

std::span<const Point> ScalarSeries::Range(std::int64_t first_step, std::int64_t last_step) {
  const auto earlier = [](const Point& a, const Point& b) { return a.step < b.step; };
  if (!sorted_) {
    std::stable_sort(points_.begin(), points_.end(), earlier);
    sorted_ = true;
  }
  if (first_step > last_step) return {};
  const auto begin =
      std::lower_bound(points_.begin(), points_.end(), Point{first_step, 0, 0}, earlier);
  const auto end = std::upper_bound(begin, points_.end(), Point{last_step, 0, 0}, earlier);
  return {begin, end};
}

}  // namespace datamanager
