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
// Points come, and are kept, in file order. Of a series whose steps go back a second copy is made
// in the order of steps once a range is asked for; equal steps stay in file order.
class ScalarSeries {
 public:
  void Append(const Point& point);

  const SeriesSummary& summary() const { return summary_; }
  // All points (none once they were dropped). Valid until the next call of a method that is not
  // const.
  std::span<const Point> InFileOrder() const { return points_; }
  // The points with first_step <= step <= last_step, in the order of steps. Valid as long.
  std::span<const Point> Range(std::int64_t first_step, std::int64_t last_step);
  // Orders the points by `ranks`, one for each in file order; equal ranks stay as they are. What
  // comes out is the file order from now on.
  void Reorder(std::span<const std::uint32_t> ranks);
  // Gives back the points, and keeps no later ones; the summary goes on.
  void DropPoints();
  // Memory held, in bytes.
  std::size_t Bytes() const { return (points_.capacity() + by_step_.capacity()) * sizeof(Point); }

 private:
  std::vector<Point> points_;
  bool sorted_ = true;          // Points are in the order of steps as they are.
  std::vector<Point> by_step_;  // If not; out of date if there are more points.
  bool keeps_points_ = true;
  SeriesSummary summary_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_SCALAR_SERIES_H_
