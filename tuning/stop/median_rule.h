#ifndef TUNING_STOP_MEDIAN_RULE_H_
#define TUNING_STOP_MEDIAN_RULE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace tuning {

// Stops a trial whose best value so far is worse than the median of the running means of the others
// up to that resource (Golovin et al. 2017, as in Ray's MedianStoppingRule; Optuna's MedianPruner
// compares values at the same step of completed trials). The others are all trials that have come
// as far, running or stopped. A trial equal to the median continues. NaN values are ignored; a
// trial with only NaN is stopped. A value type: a copy is another engine in the same state. Not
// thread-safe.
class MedianRule {
 public:
  struct Options {
    std::size_t min_trials = 5;  // Others that must have come as far.
    double warmup = 0;           // No trial is stopped below this resource.
    double interval = 1;         // A trial is judged at its first report in each.
    friend bool operator==(const Options&, const Options&) = default;
  };
  struct Verdict {
    bool goes_on = true;
    double best = 0;        // Best value of this trial; NaN if it has none.
    double median = 0;      // NaN if too few others have come as far.
    std::size_t count = 0;  // How many others have come as far.
  };

  // InvalidArgument names the invalid option.
  static absl::StatusOr<MedianRule> Create(Options options);

  // Trial `trial` reports `value` (smaller is better) at `resource`. Unset if the trial is not
  // judged now. Values that a restarted trial reports again, up to its old resource, have no
  // effect.
  std::optional<Verdict> Report(std::uint64_t trial, double resource, double value);

 private:
  struct Trial {
    std::vector<double> resources;  // Resources of its reports, ascending.
    std::vector<double> means;      // Mean of all its values so far; NaN before the first.
    double sum = 0;
    std::size_t count = 0;  // Values that are not NaN.
    double best = 0;
    double judged_in = -1;  // Number of the interval; -1: none.
  };
  explicit MedianRule(Options options) : options_(options) {}
  Verdict Judge(std::uint64_t number, const Trial& trial, double resource) const;

  Options options_;
  std::map<std::uint64_t, Trial> trials_;
};

}  // namespace tuning

#endif  // TUNING_STOP_MEDIAN_RULE_H_
