#ifndef TOOLS_YARD_TOP_WATCHED_THINGS_H_
#define TOOLS_YARD_TOP_WATCHED_THINGS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tools/yard/follow/follow.h"

namespace yard::top {

// Limit of ended things that are kept, for each kind.
inline constexpr std::size_t kEndedKept = 10;

// The live sweeps, trials or jobs, and those that have ended since the first list. `Thing` has a
// `state` and `ended_us` (microseconds since 1970). Not thread-safe.
template <typename Thing>
class WatchedThings {
 public:
  // Takes a service's list, which has no nulls. Keeps the live things in its order, then the things
  // that ended last, newest first, at most kEndedKept.
  void Take(const std::vector<std::unique_ptr<Thing>>& listed) {
    std::vector<Thing> ended;
    all_.clear();
    for (const auto& thing : listed) (HasEnded(thing->state) ? ended : all_).push_back(*thing);
    std::stable_sort(ended.begin(), ended.end(),
                     [](const Thing& a, const Thing& b) { return a.ended_us > b.ended_us; });
    if (!before_us_.has_value()) before_us_ = ended.empty() ? 0 : ended.front().ended_us;
    std::erase_if(ended, [&](const Thing& thing) { return thing.ended_us <= *before_us_; });
    if (ended.size() > kEndedKept) ended.resize(kEndedKept);
    all_.insert(all_.end(), ended.begin(), ended.end());
  }
  const std::vector<Thing>& all() const { return all_; }

 private:
  std::optional<std::int64_t> before_us_;  // Things that ended until then are not shown.
  std::vector<Thing> all_;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_WATCHED_THINGS_H_
