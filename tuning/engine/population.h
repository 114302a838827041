#ifndef TUNING_ENGINE_POPULATION_H_
#define TUNING_ENGINE_POPULATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tuning/engine/plan.h"
#include "tuning/space/space.h"

namespace tuning {

// Population-based training (Jaderberg et al. 2017), as Ray's PopulationBasedTraining without
// `synch`: at a perturbation point a member among the worst is replaced by a copy of one of the
// best, with changed values. Differences: two members are compared by their values at the last
// perturbation point that both have reached, so that being ahead is no advantage; no member takes
// over from a copy that has not reached such a point itself; numbers stay within their bounds,
// integers and steps change by at least one, and only categories that are all numbers have
// neighbours.
class Members {
 public:
  // Member `member` has reached `resource`. Returns whether it is checked now.
  bool IsDue(const Population& population, std::uint64_t member, double resource) const;
  enum class Ranking {
    kAtSharedPoints,  // As above.
    // By the members' latest values, copies included. This is how the first version ranked, which
    // stored that a trial was taken over, but not from which.
    kByLatestValues,
  };
  // Checks a member, whose `value` may be NaN (smaller is better). Returns nullopt if it continues,
  // else the member that it takes over from, which is drawn.
  std::optional<std::uint64_t> Look(const Population& population, std::uint64_t seed,
                                    std::uint64_t member, std::uint64_t generation, double resource,
                                    double value, Ranking ranking);
  // Continues `member` at the state of `donor`.
  void TakeOver(std::uint64_t member, std::uint64_t donor);
  void Remove(std::uint64_t member) { members_.erase(member); }

 private:
  struct Member {
    std::map<double, double> values = {};  // By the resource at which it was checked.
    // True if its values have changed since it was last checked.
    bool is_new = false;
  };
  static bool IsBetter(const Member& one, const Member& other);
  // Returns the comparable members, best first; ties by number.
  std::vector<std::uint64_t> Ranked() const;
  std::vector<std::uint64_t> RankedByLatestValues() const;

  std::map<std::uint64_t, Member> members_;
};

// Returns other values near those of `point`, for trial `trial`.
Point Explore(const Space& space, const Point& point, std::uint64_t seed, std::uint64_t trial,
              double resample);

}  // namespace tuning

#endif  // TUNING_ENGINE_POPULATION_H_
