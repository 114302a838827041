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

// Asynchronous successive halving (Li et al. 2020), the promoting variant: a trial pauses at each
// level, and whenever there is room, the best trial of the highest level continues if it is among
// the best floor(n / eta) there. So no trial continues only because it came first, at the cost of a
// checkpoint for each paused trial. Like Syne Tune 0.9.1, with these differences:
// - A trial that would be the next to continue is not paused at all.
// - NaN is stopped at every level.
// - A trial that restarts from scratch reports its levels again, without effect.
// Levels are those of Asha. Among equal values the trial with the lower number continues first. A
// value type. Not thread-safe.
class AshaPromotion {
 public:
  // InvalidArgument names the invalid option.
  static absl::StatusOr<AshaPromotion> Create(Asha::Options options);

  enum class Verdict { kGoesOn, kPauses, kStops };
  struct Arrival {
    Verdict verdict = Verdict::kPauses;
    double level = 0;
    std::size_t rank = 0, count = 0, keeps = 0;
  };
  // `decided`: as in StoppingRule. Unset unless this report reaches a level.
  std::optional<Arrival> Report(std::uint64_t trial, double resource, double value,
                                std::optional<Verdict> decided);
  // The trial does not continue, whatever its rank.
  void End(std::uint64_t trial) { ended_.insert(trial); }
  // Returns the paused trial that continues now.
  std::optional<std::uint64_t> Next();
  // From now on stops trials at their levels instead, as Asha does, and continues no paused trial.
  void StopInstead() { stops_ = true; }

  using Place = std::pair<double, std::uint64_t>;  // Value, trial.
  struct Level {
    double resource = 0;
    std::size_t arrived = 0;
    std::size_t went_on = 0;
    std::vector<Place> places = {};   // Best first, without NaN.
    std::set<Place> candidates = {};  // The places that may continue.
  };
  const std::vector<Level>& levels() const { return levels_; }
  // Returns the worst value that is among those that continue from the level; NaN if none is.
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
