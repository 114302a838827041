#ifndef DATAMANAGER_SERIES_SCALAR_SUMMARY_H_
#define DATAMANAGER_SERIES_SCALAR_SUMMARY_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "datamanager/series/columns.h"

namespace datamanager {

// True if a point at `time` replaces one at `other` with the same step. NaN is earlier than any
// time. If both times are equal, the later point in file order wins.
inline bool IsNotEarlier(double time, double other) { return time >= other || std::isnan(other); }

// Facts about a scalar series that are known without its points. They are updated as points arrive,
// and stay when the points are freed. They do not depend on the order in which files are read,
// except `last` if two points have the same step and time.
struct ScalarSummary {
  std::uint64_t points = 0;
  std::int64_t first_step = 0;  // Smallest and largest step.
  std::int64_t last_step = 0;
  // Smallest and largest wall time, in seconds since 1970, ignoring NaN (infinity and minus
  // infinity if all are NaN).
  double first_time = 0;
  double last_time = std::numeric_limits<double>::quiet_NaN();  // NaN before the first point.
  // Value and wall time of the newest point: the one with the largest step, among equal steps the
  // one with the latest time.
  double last = 0;
  double last_at = 0;
  // Over finite values; NaN if the series has none of these.
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t not_finite = 0;

  void Add(const Point& point) {
    ++points;
    // In a training nearly every point is newer than all before. Never true for the first point,
    // because last_time is NaN.
    if (point.step > last_step && point.wall_time >= last_time) [[likely]] {
      last_step = point.step;
      last_time = last_at = point.wall_time;
      last = point.value;
      // (All earlier times may have been NaN.)
      if (point.wall_time < first_time) [[unlikely]] {
        first_time = point.wall_time;
      }
    } else {
      Place(point);
    }
    if (!std::isfinite(point.value)) {
      ++not_finite;
      return;
    }
    // Also true for NaN, the value before the first finite one.
    if (!(min <= point.value)) min = point.value;
    if (!(max >= point.value)) max = point.value;
  }

  // Adds the summary of points that follow these and were counted separately.
  void Append(const ScalarSummary& behind) {
    if (behind.points == 0) return;
    if (points == 0) {
      *this = behind;
      return;
    }
    points += behind.points;
    first_step = std::min(first_step, behind.first_step);
    first_time = std::min(first_time, behind.first_time);
    last_time = std::max(last_time, behind.last_time);
    TakeLast(behind.last_step, behind.last_at, behind.last);
    not_finite += behind.not_finite;
    if (std::isnan(behind.min)) return;
    if (!(min <= behind.min)) min = behind.min;
    if (!(max >= behind.max)) max = behind.max;
  }

 private:
  [[gnu::noinline]] void Place(const Point& point) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (points == 1) {
      first_step = last_step = point.step;
      first_time = kInfinity;
      last_time = -kInfinity;
      last_at = std::numeric_limits<double>::quiet_NaN();
    }
    if (point.step < first_step) first_step = point.step;
    if (point.wall_time < first_time) first_time = point.wall_time;
    if (point.wall_time > last_time) last_time = point.wall_time;
    TakeLast(point.step, point.wall_time, point.value);
  }
  void TakeLast(std::int64_t step, double time, double value) {
    if (step < last_step || (step == last_step && !IsNotEarlier(time, last_at))) return;
    last_step = step;
    last_at = time;
    last = value;
  }
};

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_SCALAR_SUMMARY_H_
