#include "trainer/report/metric_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainer/report/report_line.h"

namespace trainer {

void MetricStatistics::Add(const ResultRow& row) {
  rows_ = row.row;
  const auto leaves = FlattenMetrics(row.metrics);
  if (!leaves.ok()) return;
  for (const auto& leaf : *leaves) {
    if (!leaf.number) continue;
    auto place = places_.find(leaf.name);
    if (place == places_.end()) {
      if (metrics_.size() == kMaxMetrics) continue;
      place = places_.emplace(leaf.name, metrics_.size()).first;
      metrics_.push_back({.name = leaf.name});
    }
    Metric& metric = metrics_[place->second];
    const double value = *leaf.number;
    metric.last = value;
    if (std::isnan(value)) continue;
    metric.min = metric.count == 0 ? value : std::min(metric.min, value);
    metric.max = metric.count == 0 ? value : std::max(metric.max, value);
    metric.sum += value;
    metric.recent[metric.count++ % kRecent] = value;
  }
}

double MetricStatistics::RecentMean(const Metric& metric, std::size_t values) {
  const std::size_t count = std::min<std::size_t>(values, metric.count);
  double sum = 0;
  for (std::size_t i = 1; i <= count; ++i) sum += metric.recent[(metric.count - i) % kRecent];
  return sum / static_cast<double>(count);
}

std::vector<msg::MetricStatisticsT> MetricStatistics::Messages() const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<msg::MetricStatisticsT> messages;
  for (const Metric& metric : metrics_) {
    msg::MetricStatisticsT message;
    const bool any = metric.count > 0;
    message.name = metric.name;
    message.count = metric.count;
    message.last = metric.last;
    message.min = any ? metric.min : kNone;
    message.max = any ? metric.max : kNone;
    message.mean = any ? metric.sum / static_cast<double>(metric.count) : kNone;
    message.last_5_mean = any ? RecentMean(metric, 5) : kNone;
    message.last_10_mean = any ? RecentMean(metric, 10) : kNone;
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace trainer
