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

// Running statistics of each number in a trial's reports, by flattened name and in order of first
// appearance: count, last, smallest, largest, mean, and the means of the last 5 and 10. Not
// thread-safe.
//
// Corresponds to the `metric_analysis` of Ray Tune's trials. It differs for NaN, which is shown as
// the last value but otherwise ignored, so that one NaN does not turn all later figures into NaN. A
// metric without any other value has count 0, and all its figures are NaN. Infinite values count; a
// mean over both infinities is NaN. Booleans count as 0 and 1, as in Ray. Automatic fields have no
// statistics.
class MetricStatistics {
 public:
  // Further names are ignored.
  static constexpr std::size_t kMaxMetrics = 1000;

  // Adds row rows() + 1. A row whose metrics cannot be parsed counts as a row without metrics.
  void Add(const ResultRow& row);
  // Returns the number of the last row added; 0 if none was.
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
  std::unordered_map<std::string, std::size_t> places_;  // Name to index in metrics_.
};

}  // namespace trainer

#endif  // TRAINER_REPORT_METRIC_STATISTICS_H_
