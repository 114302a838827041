#include "trainer/trial_message.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

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
  return message;
}

msg::TrialT WholeMessage(const TrialRecord& record, const ResultRow& last,
                         const CheckpointRow& newest) {
  msg::TrialT message = BriefMessage(record, last, newest);
  message.argv = record.spec.argv;
  message.working_directory = record.spec.working_directory;
  message.error_lines = record.error_lines;
  message.last_metrics = last.metrics;
  message.priority = record.spec.options.priority;
  message.labels = record.spec.options.labels;
  message.group = record.spec.options.group;
  return message;
}

}  // namespace trainer
