#include "trainer/trial/trial_message.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/json/trial_and_job_json.h"
#include "trainer/report/newest_metrics.h"

namespace trainer {

msg::TrialT BriefMessage(const TrialRecord& record, const ResultRow& last,
                         const CheckpointRow& newest) {
  msg::TrialT message;
  message.id = record.id();
  message.name = record.spec.name;
  message.state = record.state;
  message.log_directory = record.spec.run_directory;
  message.job = record.job;
  message.attempt = static_cast<std::uint32_t>(record.attempt);
  message.created_us = record.run.created_us;
  message.started_us = record.started_us;
  message.ended_us = record.ended_us;
  message.reports = static_cast<std::uint64_t>(last.row);
  message.training_iteration = last.training_iteration;
  message.reason = record.reason;
  message.stop_requested = record.stop_requested;
  if (newest.number > 0) {
    message.checkpoint = absl::StrCat(record.spec.run_directory, "/", newest.name);
  }
  message.checkpoint_iteration = newest.iteration;
  message.pause_requested = record.pause_requested;
  message.attached_pid = record.spec.options.attached_pid;
  message.pool = record.spec.options.pool;
  return message;
}

msg::TrialT WholeMessage(const TrialRecord& record, const ResultRow& last,
                         const CheckpointRow& newest) {
  msg::TrialT message = BriefMessage(record, last, newest);
  message.argv = record.spec.argv;
  message.working_directory = record.spec.working_directory;
  message.error_lines = record.error_lines;
  message.last_metrics = MergedMetrics(record.earlier_metrics, last.metrics);
  message.priority = record.spec.options.priority;
  message.labels = record.spec.options.labels;
  message.group = record.spec.options.group;
  message.note = record.spec.options.note;
  message.display_name = record.spec.options.display_name;
  return message;
}

std::optional<bus::RunOutcome> OutcomeOf(const TrialRecord& record) {
  if (!HasEnded(record)) return std::nullopt;
  return bus::RunOutcome{
      .state = bus::StateName(record.state), .reason = record.reason, .ended_us = record.ended_us};
}

msg::TrialDetailsReplyT DetailsMessage(const TrialRecord& record, msg::TrialT shown,
                                       const MetricStatistics& statistics,
                                       std::span<const CheckpointRow> checkpoints,
                                       std::int64_t events_waiting) {
  const TrialSpec& spec = record.spec;
  msg::TrialDetailsReplyT details;
  details.trial = std::make_unique<msg::TrialT>(std::move(shown));
  details.options = std::make_unique<msg::TrialOptionsT>(spec.options);
  details.max_restarts = spec.max_restarts;
  details.seed = spec.seed;
  details.config = spec.config;
  for (msg::MetricStatisticsT& metric : statistics.Messages()) {
    details.statistics.push_back(std::make_unique<msg::MetricStatisticsT>(std::move(metric)));
  }
  for (const CheckpointRow& row : checkpoints) {
    auto checkpoint = std::make_unique<msg::CheckpointT>();
    checkpoint->directory = absl::StrCat(spec.run_directory, "/", row.name);
    checkpoint->training_iteration = row.iteration;
    checkpoint->created_us = row.wall_time_us;
    checkpoint->bytes = static_cast<std::uint64_t>(row.bytes);
    checkpoint->has_score = row.score.has_value();
    checkpoint->score = row.score.value_or(0);
    details.checkpoints.push_back(std::move(checkpoint));
  }
  details.events_waiting = static_cast<std::uint64_t>(events_waiting);
  return details;
}

}  // namespace trainer
