#ifndef TUNING_STOP_ASHA_PROMOTION_H_
#define TUNING_STOP_ASHA_PROMOTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tuning/stop/asha.h"

namespace tuning {

// Asynchronous successive halving (Li et al. 2020), the variant that promotes: a trial pauses at
// each level, and whenever there is room the best of the highest level goes on, if it is among the
// best floor(n / eta) there. So no trial goes on only because it came first, at the price of a
// checkpoint for each that waits. Syne Tune 0.9.1 does the same; the differences:
// - A trial that would be the next to go on is not paused at all.
// - NaN is stopped at every level.
// - A trial that runs anew from nothing reports its levels for the second time, which changes
//   nothing.
// Levels are those of Asha. The trial with the lower number goes on first if values are equal. A
// value type. One thread at a time.
class AshaPromotion {
 public:
  static absl::StatusOr<AshaPromotion> Create(Asha::Options options);

  enum class Verdict { kGoesOn, kPauses, kStops };
  struct Arrival {
    Verdict verdict = Verdict::kPauses;
    double level = 0;
    std::size_t rank = 0, count = 0, keeps = 0;
  };
  // `decided`: as in StoppingRule. Unset if the trial has come to no level with this.
  std::optional<Arrival> Report(std::uint64_t trial, double resource, double value,
                                std::optional<Verdict> decided);
  // It does not go on, whatever its place is.
  void End(std::uint64_t trial) { ended_.insert(trial); }
  // The paused trial that goes on now.
  std::optional<std::uint64_t> Next();
  // From now on trials are stopped at their levels instead, as Asha does, and none goes on again.
  void StopInstead() { stops_ = true; }

  using Place = std::pair<double, std::uint64_t>;  // Value, trial.
  struct Level {
    double resource = 0;
    std::size_t arrived = 0;
    std::size_t went_on = 0;
    std::vector<Place> places = {};   // Best first; not those that are NaN.
    std::set<Place> candidates = {};  // The places that may go on.
  };
  const std::vector<Level>& levels() const { return levels_; }
  // The worst value that is among those that go on from the level; NaN: none is.
  double Cutoff(const Level& level) const;

 private:
  AshaPromotion(Asha::Options options, const Asha& asha);
  struct Candidate {
    Place place;
    std::size_t level = 0;
  };
  std::optional<Candidate> Best();
  std::size_t Keeps(const Level& level) const;

  Asha::Options options_;
  std::vector<Level> levels_;
  std::unordered_map<std::uint64_t, std::size_t> passed_;
  std::set<std::uint64_t> ended_;
  bool stops_ = false;
};

}  // namespace tuning

#endif  // TUNING_STOP_ASHA_PROMOTION_H_
