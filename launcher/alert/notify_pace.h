#ifndef LAUNCHER_ALERT_NOTIFY_PACE_H_
#define LAUNCHER_ALERT_NOTIFY_PACE_H_

#include <cstddef>
#include <deque>

#include "absl/time/time.h"

namespace launcher {

// How often a person is told: at most `most` times within `window`, as soon as possible. Times are
// of the clock on the wall, since they outlive the process; one that is later than now, because the
// clock was set, counts as now. Pure.
class NotifyPace {
 public:
  struct Options {
    std::size_t most = 10;
    absl::Duration window = absl::Minutes(10);
  };
  explicit NotifyPace(Options options) : options_(options) {}

  void Told(absl::Time when) { told_.push_back(when); }

  // How long the next one has to wait; zero: not at all.
  absl::Duration Wait(absl::Time now) {
    for (absl::Time& when : told_) {
      if (when > now) when = now;
    }
    while (!told_.empty() && now - told_.front() >= options_.window) told_.pop_front();
    while (told_.size() > options_.most) told_.pop_front();
    if (told_.size() < options_.most) return absl::ZeroDuration();
    return options_.window - (now - told_.front());
  }

 private:
  const Options options_;
  std::deque<absl::Time> told_;  // Oldest first.
};

}  // namespace launcher

#endif  // LAUNCHER_ALERT_NOTIFY_PACE_H_
