#ifndef TOOLS_YARD_CLI_PUBLISH_PACE_H_
#define TOOLS_YARD_CLI_PUBLISH_PACE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace yard {

// When the events of `yard pub --rate` are due: event i, counted from 0, at start + i / rate. So
// one that is late delays none that follow, and the mean rate is exact. Times are those of a
// monotonic clock. Pure.
class PublishPace {
 public:
  // Events that are due within this time go in one request.
  static constexpr absl::Duration kTogether = absl::Milliseconds(1);

  // `rate` is in events a second; 0: everything is due at once.
  PublishPace(double rate, absl::Duration start) : rate_(rate), start_(start) {}

  absl::Duration TimeOf(std::uint64_t event) const {
    return rate_ > 0 ? start_ + absl::Seconds(static_cast<double>(event) / rate_) : start_;
  }
  // How many events are due at `now`, all together.
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
