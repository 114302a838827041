#ifndef TUNING_STOP_ASHA_H_
#define TUNING_STOP_ASHA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"

namespace tuning {

// Asynchronous successive halving (Li et al. 2020), the stopping variant: a trial that reaches a
// level continues only if it is among the best there so far. Like Ray's AsyncHyperBandScheduler and
// Optuna's SuccessiveHalvingPruner, with these differences:
// - A report counts for the highest level that it reaches, and only if the previous report was
//   below that level. (Ray records a later report at the levels that were skipped, and stops for
//   them.)
// - A trial continues iff its rank is at most max(1, n / eta), where n includes the trial. (Ray
//   interpolates a percentile of the others.) Equal values share the better rank.
// - NaN is stopped at every level, even as the only value. (In Ray it always continues.)
// A value type: a copy is another engine in the same state. Not thread-safe.
class Asha {
 public:
  struct Options {
    double min_resource = 1;        // The first level.
    double max_resource = 100;      // Levels are below it.
    double eta = 3;                 // Ratio of consecutive levels; one in `eta` trials continues.
    std::size_t warmup_trials = 0;  // Trials that must reach a level before one is stopped there.
    friend bool operator==(const Options&, const Options&) = default;
  };
  struct Verdict {
    bool goes_on = true;
    double level = 0;
    std::size_t rank = 0;   // 1 + the number of strictly better values.
    std::size_t count = 0;  // Trials that have reached the level, with this one.
    std::size_t keeps = 0;  // How many of them continue.
  };

  // InvalidArgument names the invalid option.
  static absl::StatusOr<Asha> Create(Options options);

  // Trial `trial` reports `value` (smaller is better) at `resource`. Unset unless this report
  // reaches a level. A restarted trial that reports again does not reach a level twice.
  std::optional<Verdict> Report(std::uint64_t trial, double resource, double value);
  struct Level {
    double resource = 0;
    std::size_t arrived = 0;
    std::size_t went_on = 0;
    // Values at the level, best first, NaN last.
    std::vector<double> values = {};
  };
  // Returns the levels, lowest first.
  const std::vector<Level>& levels() const { return levels_; }
  // Returns the worst value with which the next trial at the level would continue; NaN: any.
  double Cutoff(const Level& level) const;

 private:
  explicit Asha(Options options);
  // Returns how many of `arrived` trials continue.
  std::size_t Keeps(std::size_t arrived) const;

  Options options_;
  std::vector<Level> levels_;
  // By trial: how many levels it has reached or skipped.
  std::unordered_map<std::uint64_t, std::size_t> passed_;
};

}  // namespace tuning

#endif  // TUNING_STOP_ASHA_H_
