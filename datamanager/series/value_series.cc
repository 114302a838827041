#include "datamanager/series/value_series.h"

namespace datamanager {

std::vector<ValuePlace> ValueSeries::Select(const SeriesMarks& marks, Overlap policy,
                                            std::int64_t first_step, std::int64_t last_step) const {
  std::vector<std::int64_t> steps;
  std::vector<double> wall_times;
  steps.reserve(values_.size());
  for (const ValuePlace& value : values_) steps.push_back(value.step);
  if (policy == Overlap::kLastWrite) {
    wall_times.reserve(values_.size());
    for (const ValuePlace& value : values_) wall_times.push_back(value.wall_time);
  }
  std::vector<ValuePlace> selected;
  for (const std::uint64_t place :
       KeptPoints(steps, marks.purges(), marks.parts(), policy, wall_times)) {
    if (steps[place] < first_step || steps[place] > last_step) continue;
    selected.push_back(values_[place]);
  }
  return selected;
}

}  // namespace datamanager
