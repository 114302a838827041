#ifndef DATAMANAGER_SERIES_SCALAR_SUMMARY_H_
#define DATAMANAGER_SERIES_SCALAR_SUMMARY_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "datamanager/series/columns.h"

namespace datamanager {

// Whether a point at `time` counts as not earlier than one at `other`, both of one step. NaN is
// earlier than any time. If both have one time, the later one in file order counts.
inline bool IsNotEarlier(double time, double other) { return time >= other || std::isnan(other); }

// The facts about a scalar series that are known without its points. They are counted as points
// come, and stay when the points are given back. All facts are the same in whichever order files
// are read, but for `last` where two points have one step and one time.
struct ScalarSummary {
  std::uint64_t points = 0;
  std::int64_t first_step = 0;  // Smallest and largest.
  std::int64_t last_step = 0;
  // Smallest and largest wall time, in seconds since 1970; those that are NaN are passed over
  // (infinity and minus infinity if all are).
  double first_time = 0;
  double last_time = std::numeric_limits<double>::quiet_NaN();  // Until there is a point.
  // Value and wall time of the newest point: that of the largest step, among equal ones of the
  // latest time.
  double last = 0;
  double last_at = 0;
  // Over finite values; NaN if the series has no finite value.
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t not_finite = 0;

  void Add(const Point& point) {
    ++points;
    // In a training nearly each is newer than all before; never the first, as last_time says.
    if (point.step > last_step && point.wall_time >= last_time) [[likely]] {
      last_step = point.step;
      last_time = last_at = point.wall_time;
      last = point.value;
      // (All before may have been NaN.)
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
    // Written so that NaN (nothing finite so far) gives way.
    if (!(min <= point.value)) min = point.value;
    if (!(max >= point.value)) max = point.value;
  }

  // Adds points that came behind and were counted apart.
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
