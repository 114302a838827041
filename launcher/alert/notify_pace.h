#ifndef LAUNCHER_ALERT_NOTIFY_PACE_H_
#define LAUNCHER_ALERT_NOTIFY_PACE_H_

#include <cstddef>
#include <deque>

#include "absl/time/time.h"

namespace launcher {

// Rate limit of notifications: at most `most` within `window`, each as soon as possible. Uses
// wall-clock times, since they outlive the process; a time in the future, after the clock was set
// back, counts as now. Has no side effects.
class NotifyPace {
 public:
  struct Options {
    std::size_t most = 10;
    absl::Duration window = absl::Minutes(10);
  };
  explicit NotifyPace(Options options) : options_(options) {}

  // Records a notification. Call it in the order of time.
  void Told(absl::Time when) { told_.push_back(when); }

  // Returns how long the next notification must wait; zero if it need not.
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
