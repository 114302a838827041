#ifndef TUNING_STOP_ASHA_H_
#define TUNING_STOP_ASHA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"

namespace tuning {

// Asynchronous successive halving (Li et al. 2020), the variant that stops: a trial that comes to a
// level goes on only if it is among the best there so far. Ray's AsyncHyperBandScheduler and
// Optuna's SuccessiveHalvingPruner do the same; the differences:
// - A report counts for the highest level that it reaches, and only if the report before it was
// below that
//   level. (Ray records a later report at the levels that were jumped over, and stops for them.)
// - A trial goes on iff its rank is at most max(1, n / eta), with itself in n. (Ray interpolates a
//   percentile of the others.) Equal values share the better rank.
// - NaN is stopped at every level, also alone there. (With Ray it always goes on.)
// A value type: a copy is another engine in the same state. One thread at a time.
class Asha {
 public:
  struct Options {
    double min_resource = 1;    // The first level.
    double max_resource = 100;  // Levels are below it.
    double eta = 3;  // Each level is so many times the one before it, and one in so many goes on.
    std::size_t warmup_trials = 0;  // Nothing is stopped at a level before so many have come to it.
    friend bool operator==(const Options&, const Options&) = default;
  };
  struct Verdict {
    bool goes_on = true;
    double level = 0;
    std::size_t rank = 0;   // 1 is the best; how many are strictly better, and 1.
    std::size_t count = 0;  // Trials that have come to the level, with this one.
    std::size_t keeps = 0;  // So many of them go on.
  };

  // InvalidArgument says which option cannot be.
  static absl::StatusOr<Asha> Create(Options options);

  // Trial `trial` reports `value` (smaller is better) at `resource`. Unset if it has come to no
  // level with it. A trial that begins anew and reports again comes to no level for the second
  // time.
  std::optional<Verdict> Report(std::uint64_t trial, double resource, double value);
  struct Level {
    double resource = 0;
    std::size_t arrived = 0;
    std::size_t went_on = 0;
    // The values there, best first, NaN last.
    std::vector<double> values = {};
  };
  const std::vector<Level>& levels() const { return levels_; }
  // The worst value with which the next trial to come to the level goes on; NaN: any.
  double Cutoff(const Level& level) const;

 private:
  explicit Asha(Options options);
  // So many of `arrived` trials go on.
  std::size_t Keeps(std::size_t arrived) const;

  Options options_;
  std::vector<Level> levels_;
  // By trial: how many levels it has come to or jumped over.
  std::unordered_map<std::uint64_t, std::size_t> passed_;
};

}  // namespace tuning

#endif  // TUNING_STOP_ASHA_H_
