#include "trainer/trial/row_events.h"

#include <cstddef>
#include <memory>
#include <utility>

namespace trainer {
namespace {

constexpr std::size_t kMostMetrics = 64 << 10;

}  // namespace

msg::ResultRowT RowMessage(const ResultRow& row) {
  msg::ResultRowT message;
  message.row = static_cast<std::uint64_t>(row.row);
  message.wall_time_us = row.wall_time_us;
  message.training_iteration = row.training_iteration;
  message.step = row.step;
  message.metrics = row.metrics;
  return message;
}

std::vector<msg::TrialEventT> RowEvents(const msg::TrialT& trial,
                                        const std::vector<ResultRow>& rows) {
  std::vector<msg::TrialEventT> events;
  std::size_t bytes = 0;
  for (const ResultRow& row : rows) {
    bytes += row.metrics.size();
    auto message = std::make_unique<msg::ResultRowT>(RowMessage(row));
    if (!events.empty() && bytes <= kMostMetrics) {
      events.back().more_rows.push_back(std::move(message));
      continue;
    }
    events.emplace_back().trial = std::make_unique<msg::TrialT>(trial);
    events.back().row = std::move(message);
    bytes = row.metrics.size();
  }
  return events;
}

}  // namespace trainer
