#ifndef TOOLS_YARD_CLI_PUBLISH_PACE_H_
#define TOOLS_YARD_CLI_PUBLISH_PACE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace yard {

// Computes when events of `yard pub --rate` are due: event i, from 0, at start + i / rate. So a
// late event does not delay later ones, and the mean rate is exact. Times are from a monotonic
// clock. Pure.
class PublishPace {
 public:
  // Events due within this time share a request.
  static constexpr absl::Duration kTogether = absl::Milliseconds(1);

  // `rate` is in events per second; 0 makes everything due at once.
  PublishPace(double rate, absl::Duration start) : rate_(rate), start_(start) {}

  // Returns the time at which event `event`, counted from 0, is due.
  absl::Duration TimeOf(std::uint64_t event) const {
    return rate_ > 0 ? start_ + absl::Seconds(static_cast<double>(event) / rate_) : start_;
  }
  // Returns the total number of events that are due at `now`.
  std::uint64_t DueBy(absl::Duration now) const {
    if (rate_ <= 0) return std::numeric_limits<std::uint64_t>::max();
    const double passed = absl::ToDoubleSeconds(now - start_ + kTogether);
    if (passed < 0) return 0;
    return static_cast<std::uint64_t>(std::min(std::floor(passed * rate_), 1e15)) + 1;
  }

 private:
  double rate_;
  absl::Duration start_;
};

}  // namespace yard

#endif  // TOOLS_YARD_CLI_PUBLISH_PACE_H_
