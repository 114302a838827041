#ifndef DATAMANAGER_SCALAR_SERIES_H_
#define DATAMANAGER_SCALAR_SERIES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "datamanager/columns.h"

namespace datamanager {

// What is known of a series without its points.
struct SeriesSummary {
  std::uint64_t points = 0;
  std::int64_t first_step = 0;  // Smallest and largest step.
  std::int64_t last_step = 0;
  // Over finite values; NaN if there are none.
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  double last = 0;  // Of the newest point in file order.
  std::uint64_t not_finite = 0;
};

// Every point of one tag. Not thread safe.
//
// Points come in file order and are kept in the order of steps; equal steps stay in file order.
class ScalarSeries {
 public:
  void Append(const Point& point);

  const SeriesSummary& summary() const { return summary_; }
  // The points with first_step <= step <= last_step. Valid until the next call of a method that
  // is not const.
  std::span<const Point> Range(std::int64_t first_step, std::int64_t last_step);
  // Gives back the points, and keeps no later ones; the summary goes on.
  void DropPoints();
  // Memory held, in bytes.
  std::size_t Bytes() const { return points_.capacity() * sizeof(Point); }

 private:
  std::vector<Point> points_;
  bool sorted_ = true;
  bool keeps_points_ = true;
  SeriesSummary summary_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_SCALAR_SERIES_H_
