#ifndef DATAMANAGER_SCALAR_SUMMARY_H_
#define DATAMANAGER_SCALAR_SUMMARY_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "datamanager/columns.h"

namespace datamanager {

// What is known of a scalar series without its points. It is counted as they come, in file order,
// and stays when they are given back.
struct ScalarSummary {
  std::uint64_t points = 0;
  std::int64_t first_step = 0;  // Smallest and largest.
  std::int64_t last_step = 0;
  double first_time = 0;  // Wall times of the first and of the newest point; seconds since 1970.
  double last_time = 0;
  double last = 0;  // Value of the newest point.
  // Over finite values; NaN if there are none.
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t not_finite = 0;

  void Add(const Point& point) {
    if (points++ == 0) {
      first_step = last_step = point.step;
      first_time = point.wall_time;
    }
    if (point.step < first_step) first_step = point.step;
    if (point.step > last_step) last_step = point.step;
    last_time = point.wall_time;
    last = point.value;
    if (!std::isfinite(point.value)) {
      ++not_finite;
      return;
    }
    // Written so that NaN (nothing finite so far) gives way.
    if (!(min <= point.value)) min = point.value;
    if (!(max >= point.value)) max = point.value;
  }

  // What came behind, counted apart.
  void Append(const ScalarSummary& behind) {
    if (behind.points == 0) return;
    if (points == 0) {
      *this = behind;
      return;
    }
    points += behind.points;
    first_step = std::min(first_step, behind.first_step);
    last_step = std::max(last_step, behind.last_step);
    last_time = behind.last_time;
    last = behind.last;
    not_finite += behind.not_finite;
    if (std::isnan(behind.min)) return;
    if (!(min <= behind.min)) min = behind.min;
    if (!(max >= behind.max)) max = behind.max;
  }
};

}  // namespace datamanager

#endif  // DATAMANAGER_SCALAR_SUMMARY_H_
