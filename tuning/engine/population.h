#ifndef TUNING_ENGINE_POPULATION_H_
#define TUNING_ENGINE_POPULATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tuning/engine/plan.h"
#include "tuning/space/space.h"

namespace tuning {

// Population based training (Jaderberg et al. 2017), as Ray's PopulationBasedTraining without
// `synch`: at its points of perturbation a member that is among the worst is replaced by a copy of
// one of the best with other values. The differences: two members are compared by their values at
// the last point of perturbation that both have come to, so that one is not better for being
// ahead; nobody takes over from a copy that has not come to such a point itself; numbers stay
// within their bounds, integers and steps move by at least one, and of categories only those that
// are all numbers have neighbours.
class Members {
 public:
  // Member `member` has come to `resource` with `value` (smaller is better). Whether it is looked
  // at now; `value` may be NaN.
  bool IsDue(const Population& population, std::uint64_t member, double resource) const;
  enum class Ranking {
    kAtSharedPoints,  // As above.
    // By the members' latest values, copies among them: as the first version did, which stored that
    // a trial was taken over, and not from which.
    kByLatestValues,
  };
  // It was looked at. Nothing: it goes on. Else the member that it takes over from, which is drawn.
  std::optional<std::uint64_t> Look(const Population& population, std::uint64_t seed,
                                    std::uint64_t member, std::uint64_t generation, double resource,
                                    double value, Ranking ranking);
  // It goes on where `donor` is.
  void TakeOver(std::uint64_t member, std::uint64_t donor);
  void Remove(std::uint64_t member) { members_.erase(member); }

 private:
  struct Member {
    std::map<double, double> values = {};  // By the resources at which it was looked at.
    // It has other values than it was looked at with.
    bool is_new = false;
  };
  static bool IsBetter(const Member& one, const Member& other);
  // The members that can be compared, the best first; equal ones by their numbers.
  std::vector<std::uint64_t> Ranked() const;
  std::vector<std::uint64_t> RankedByLatestValues() const;

  std::map<std::uint64_t, Member> members_;
};

// Other values near those of `point`: of trial `trial`.
Point Explore(const Space& space, const Point& point, std::uint64_t seed, std::uint64_t trial,
              double resample);

}  // namespace tuning

#endif  // TUNING_ENGINE_POPULATION_H_
