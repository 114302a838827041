#include "datamanager/scalar_series.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace datamanager {
namespace {

bool Earlier(const Point& a, const Point& b) { return a.step < b.step; }

}  // namespace

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

void ScalarSeries::Reorder(std::span<const std::uint32_t> ranks) {
  if (ranks.size() != points_.size() || std::is_sorted(ranks.begin(), ranks.end())) return;
  std::vector<std::size_t> order(points_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  std::vector<Point> points;
  points.reserve(points_.size());
  for (const std::size_t i : order) points.push_back(points_[i]);
  points_ = std::move(points);
  by_step_.clear();
  sorted_ = std::is_sorted(points_.begin(), points_.end(), Earlier);
  summary_.last = points_.back().value;
}

void ScalarSeries::DropPoints() {
  std::vector<Point>().swap(points_);
  std::vector<Point>().swap(by_step_);
  keeps_points_ = false;
}

std::span<const Point> ScalarSeries::Range(std::int64_t first_step, std::int64_t last_step) {
  if (!sorted_ && by_step_.size() != points_.size()) {
    by_step_ = points_;
    std::stable_sort(by_step_.begin(), by_step_.end(), Earlier);
  }
  if (first_step > last_step) return {};
  const std::vector<Point>& points = sorted_ ? points_ : by_step_;
  const auto begin =
      std::lower_bound(points.begin(), points.end(), Point{first_step, 0, 0}, Earlier);
  const auto end = std::upper_bound(begin, points.end(), Point{last_step, 0, 0}, Earlier);
  return {begin, end};
}

}  // namespace datamanager
