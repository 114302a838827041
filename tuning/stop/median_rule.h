#ifndef TUNING_STOP_MEDIAN_RULE_H_
#define TUNING_STOP_MEDIAN_RULE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace tuning {

// Stops a trial whose best value so far is worse than the median of what others had on average by
// then (Golovin et al. 2017, as Ray's MedianStoppingRule does it; Optuna's MedianPruner compares
// values of the same step of trials that are done). The others are all trials that have come as
// far, whether they still run or have been stopped. Equal goes on. Values that are NaN are left
// out; a trial that has no other is stopped. A value type: a copy is another engine in the same
// state. One thread at a time.
class MedianRule {
 public:
  struct Options {
    std::size_t min_trials = 5;  // Others that have to have come as far.
    double warmup = 0;           // Nothing is stopped at less than this resource.
    double interval = 1;         // A trial is judged at its first report in each.
    friend bool operator==(const Options&, const Options&) = default;
  };
  struct Verdict {
    bool goes_on = true;
    double best = 0;        // Best value of this trial; NaN if it has none.
    double median = 0;      // NaN if too few others have come as far.
    std::size_t count = 0;  // How many others have.
  };

  // InvalidArgument says which option cannot be.
  static absl::StatusOr<MedianRule> Create(Options options);

  // Trial `trial` reports `value` (smaller is better) at `resource`. Unset if the trial is not
  // judged now. Values that it reports again after it began anew, up to where it was, change
  // nothing.
  std::optional<Verdict> Report(std::uint64_t trial, double resource, double value);

 private:
  struct Trial {
    std::vector<double> resources;  // Resources of its reports, ascending.
    std::vector<double> means;  // Mean of all its values up to there; NaN before the first value.
    double sum = 0;
    std::size_t count = 0;  // Values that are not NaN.
    double best = 0;
    double judged_in = -1;  // The number of the interval; -1: none.
  };
  explicit MedianRule(Options options) : options_(options) {}
  Verdict Judge(std::uint64_t number, const Trial& trial, double resource) const;

  Options options_;
  std::map<std::uint64_t, Trial> trials_;
};

}  // namespace tuning

#endif  // TUNING_STOP_MEDIAN_RULE_H_
