#ifndef TOOLS_YARD_EVENT_RATE_WINDOW_H_
#define TOOLS_YARD_EVENT_RATE_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

#include "absl/time/time.h"

namespace yard {

// Statistics of one topic for `yard topic hz`, `bw` and `delay`, over its events of the last
// `window`, at most the last `max_events`. Like `ros2 topic`, which has three programs for this;
// here losses are reported beside the rate rather than hidden in it. One thread.
class RateWindow {
 public:
  explicit RateWindow(absl::Duration window, std::size_t max_events = 200'000)
      : window_(window), max_events_(max_events) {}

  // Adds an event received at `at` (monotonic, never decreasing), `delay` after it was sent.
  void Add(absl::Duration at, std::size_t bytes, absl::Duration delay);
  // Counts lost events; they never leave the window.
  void AddLost(std::uint64_t events) { lost_ += events; }

  // Numbers that cannot be computed are NaN: intervals and rates need at least two events.
  struct Report {
    static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    std::uint64_t events = 0;
    std::uint64_t lost = 0;  // Since the beginning.
    double hz = kNone;
    // Intervals between events, in seconds.
    double min_interval = kNone, max_interval = kNone, interval_deviation = kNone;
    double bytes_per_second = kNone;
    double min_bytes = kNone, mean_bytes = kNone, max_bytes = kNone;
    // Latency in seconds; p99 is the 99th percentile.
    double median_delay = kNone, p99_delay = kNone, max_delay = kNone;
    // Events received before they were sent, because the sender's clock is ahead. The delays
    // exclude them.
    std::uint64_t from_the_future = 0;
  };
  // Returns the statistics of the window that ends at `now`; forgets older events.
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
