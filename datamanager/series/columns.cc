#include "datamanager/series/columns.h"

#include <cmath>
#include <limits>

namespace datamanager {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Column Open(const Point& point) {
  const double finite = std::isfinite(point.value) ? point.value : kNaN;
  return {.first_step = point.step,
          .last_step = point.step,
          .last_wall_time = point.wall_time,
          .first = point.value,
          .last = point.value,
          .min = finite,
          .max = finite,
          .count = 1,
          .not_finite = std::isfinite(point.value) ? 0u : 1u};
}

void Add(Column& column, const Point& point) {
  column.last_step = point.step;
  column.last_wall_time = point.wall_time;
  column.last = point.value;
  ++column.count;
  if (!std::isfinite(point.value)) {
    ++column.not_finite;
    return;
  }
  // Also true for NaN, the value before the first finite one.
  if (!(column.min <= point.value)) column.min = point.value;
  if (!(column.max >= point.value)) column.max = point.value;
}

// Returns the distance between two steps, exact for the whole range of int64.
std::uint64_t Distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

}  // namespace

std::vector<Column> ReduceToColumns(std::span<const Point> points, std::size_t limit) {
  std::vector<Column> columns;
  if (points.empty() || limit == 0) return columns;
  const bool one_each = points.size() <= limit;
  const std::int64_t origin = points.front().step;
  // At least 1, and large enough that no step falls into column `limit`.
  const std::uint64_t width = Distance(origin, points.back().step) / limit + 1;
  std::uint64_t open = 0;
  for (const Point& point : points) {
    // (A single column for the whole range of steps would have a width of 2^64.)
    const std::uint64_t index = limit == 1 ? 0 : Distance(origin, point.step) / width;
    if (columns.empty() || one_each || index != open) {
      columns.push_back(Open(point));
      open = index;
    } else {
      Add(columns.back(), point);
    }
  }
  return columns;
}

}  // namespace datamanager
