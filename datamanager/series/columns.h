#ifndef DATAMANAGER_SERIES_COLUMNS_H_
#define DATAMANAGER_SERIES_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace datamanager {

// One point of a scalar series.
struct Point {
  std::int64_t step = 0;
  double wall_time = 0;  // Seconds since 1970.
  double value = 0;

  bool operator==(const Point&) const = default;
};

// The values that a plot draws in one pixel column. `min` and `max` cover finite values only (NaN
// if the column has none), so that neither a spike nor its opposite in the same column is lost.
struct Column {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  double last_wall_time = 0;
  // Values of the first and the last point of the column.
  double first = 0;
  double last = 0;
  double min = 0;
  double max = 0;
  std::uint32_t count = 0;
  std::uint32_t not_finite = 0;  // How many of `count` are NaN or infinite.
};

// Reduces `points`, which must be sorted by step, to at most `limit` columns of equal width in
// steps; omits empty columns. If `limit` suffices, each point becomes a column of its own.
std::vector<Column> ReduceToColumns(std::span<const Point> points, std::size_t limit);

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_COLUMNS_H_
