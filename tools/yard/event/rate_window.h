#ifndef TOOLS_YARD_EVENT_RATE_WINDOW_H_
#define TOOLS_YARD_EVENT_RATE_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

#include "absl/time/time.h"

namespace yard {

// Figures that `yard topic hz`, `bw` and `delay` print of one topic: of its events of the last
// `window`, or of the last `max_events` of them. As `ros2 topic`, which has three programs for it;
// here what was lost is told beside the rate rather than hidden in it. One thread.
class RateWindow {
 public:
  explicit RateWindow(absl::Duration window, std::size_t max_events = 200'000)
      : window_(window), max_events_(max_events) {}

  // An event has come at `at` (monotonic, never less than before), `delay` after it was sent.
  void Add(absl::Duration at, std::size_t bytes, absl::Duration delay);
  void AddLost(std::uint64_t events) { lost_ += events; }

  // Numbers that cannot be computed are NaN: intervals and rates need two events.
  struct Report {
    static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    std::uint64_t events = 0;
    std::uint64_t lost = 0;  // Since the beginning.
    double hz = kNone;
    // Between two events, seconds.
    double min_interval = kNone, max_interval = kNone, interval_deviation = kNone;
    double bytes_per_second = kNone;
    double min_bytes = kNone, mean_bytes = kNone, max_bytes = kNone;
    // Seconds from sending to hearing; p99: the one that 99 of 100 do not exceed.
    double median_delay = kNone, p99_delay = kNone, max_delay = kNone;
    // Events heard before they were sent: their sender's clock is ahead. No delay counts these
    // events.
    std::uint64_t from_the_future = 0;
  };
  Report Describe(absl::Duration now);

 private:
  struct Event {
    absl::Duration at;
    std::size_t bytes;
    absl::Duration delay;
  };
  void DescribeIntervals(Report* report) const;
  void DescribeDelays(Report* report) const;

  const absl::Duration window_;
  const std::size_t max_events_;
  std::deque<Event> events_;
  std::uint64_t lost_ = 0;
};

}  // namespace yard

#endif  // TOOLS_YARD_EVENT_RATE_WINDOW_H_
