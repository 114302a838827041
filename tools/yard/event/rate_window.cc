#include "tools/yard/event/rate_window.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace yard {

void RateWindow::Add(absl::Duration at, std::size_t bytes, absl::Duration delay) {
  events_.push_back({at, bytes, delay});
  if (events_.size() > max_events_) events_.pop_front();
}

RateWindow::Report RateWindow::Describe(absl::Duration now) {
  while (!events_.empty() && events_.front().at < now - window_) events_.pop_front();
  Report report;
  report.events = events_.size();
  report.lost = lost_;
  if (events_.empty()) return report;
  const auto [least, most] =
      std::minmax_element(events_.begin(), events_.end(),
                          [](const Event& a, const Event& b) { return a.bytes < b.bytes; });
  report.min_bytes = static_cast<double>(least->bytes);
  report.max_bytes = static_cast<double>(most->bytes);
  double bytes = 0;
  for (const Event& event : events_) bytes += static_cast<double>(event.bytes);
  const auto count = static_cast<double>(events_.size());
  report.mean_bytes = bytes / count;
  const double passed = absl::ToDoubleSeconds(events_.back().at - events_.front().at);
  if (passed > 0) {
    // The measured time begins with the first event, so that event itself is not counted.
    report.hz = (count - 1) / passed;
    report.bytes_per_second = (bytes - static_cast<double>(events_.front().bytes)) / passed;
    DescribeIntervals(&report);
  }
  DescribeDelays(&report);
  return report;
}

void RateWindow::DescribeIntervals(Report* report) const {
  const double mean = 1 / report->hz;
  double squares = 0;
  for (std::size_t i = 1; i < events_.size(); ++i) {
    const double interval = absl::ToDoubleSeconds(events_[i].at - events_[i - 1].at);
    report->min_interval = std::fmin(report->min_interval, interval);
    report->max_interval = std::fmax(report->max_interval, interval);
    squares += (interval - mean) * (interval - mean);
  }
  report->interval_deviation = std::sqrt(squares / static_cast<double>(events_.size() - 1));
}

void RateWindow::DescribeDelays(Report* report) const {
  std::vector<double> delays;
  for (const Event& event : events_) {
    if (event.delay < absl::ZeroDuration()) {
      ++report->from_the_future;
    } else {
      delays.push_back(absl::ToDoubleSeconds(event.delay));
    }
  }
  if (delays.empty()) return;
  std::sort(delays.begin(), delays.end());
  // Nearest-rank percentile: always an actual value, never interpolated.
  const auto rank = [&](std::size_t percent) {
    return delays[(delays.size() * percent + 99) / 100 - 1];
  };
  report->median_delay = rank(50);
  report->p99_delay = rank(99);
  report->max_delay = delays.back();
}

}  // namespace yard
