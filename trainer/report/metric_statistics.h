#ifndef TRAINER_REPORT_METRIC_STATISTICS_H_
#define TRAINER_REPORT_METRIC_STATISTICS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "bus/schema/trainer_generated.h"
#include "trainer/report/result_row.h"

namespace trainer {

// Running statistics of each number that a trial's reports have, by its flattened name, in the
// order of appearance: count, last, smallest, largest, mean, mean of the last 5 and 10. One thread.
//
// Re-imagines the `metric_analysis` of Ray Tune's trials. Different: NaN is no value. It is shown
// as the last one, and else left out, so that one NaN does not turn every later figure into NaN; a
// metric that never had a value has count 0 and NaN for all. Infinite values are values: a mean
// over both infinities is NaN. Truth values count as 0 and 1, as there. The fields that are filled
// in automatically have none.
class MetricStatistics {
 public:
  // More names are not counted.
  static constexpr std::size_t kMaxMetrics = 1000;

  // Adds the row after rows(). A row whose metrics cannot be read counts as a row without metrics.
  void Add(const ResultRow& row);
  // The last row that was added; 0: none.
  std::int64_t rows() const { return rows_; }
  std::vector<msg::MetricStatisticsT> Messages() const;

 private:
  static constexpr std::size_t kRecent = 10;
  struct Metric {
    std::string name;
    std::uint64_t count = 0;
    double last = 0;
    double min = 0;
    double max = 0;
    double sum = 0;
    std::array<double, kRecent> recent = {};  // Value n is at (n - 1) % kRecent.
  };
  static double RecentMean(const Metric& metric, std::size_t values);

  std::int64_t rows_ = 0;
  std::vector<Metric> metrics_;
  std::unordered_map<std::string, std::size_t> places_;  // In metrics_.
};

}  // namespace trainer

#endif  // TRAINER_REPORT_METRIC_STATISTICS_H_
