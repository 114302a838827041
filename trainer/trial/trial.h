#ifndef TRAINER_TRIAL_TRIAL_H_
#define TRAINER_TRIAL_TRIAL_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/timer.h"
#include "trainer/attempt/output_reader.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/report/metric_statistics.h"
#include "trainer/run/failure_text.h"
#include "trainer/store/trial_record.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial_queue.h"
#include "trainer/trial/trial_reports.h"
#include "trainer/trial/trial_state.h"

namespace trainer {

// A trial at hand, with all its parts: its record, as stored, and the state that only a running
// trainer has. Use it on the loop's thread.
struct Trial {
  TrialRecord record;
  AttemptStatus attempt;
  std::unique_ptr<TrialReports> reports;
  std::shared_ptr<ProgramRunner> runner;
  std::unique_ptr<OutputReader> output;  // Set while an attempt runs that reports by its output.
  std::int64_t lost_output = 0;          // Bytes of the attempt's output that were not stored.
  runtime::Timer stop_timer;
  std::string stop_trace;  // Trace id of the stop; empty: the trial's own.
  // Main processes of the attempt's tasks, as the launcher reported them.
  std::vector<pid_t> leaders;
  std::string node;  // Node of its first task, likewise; empty: this host.
  // Set while the next attempt is delayed.
  runtime::Timer restart_timer;
  bool config_behind = false;     // params.json lacks a change that is stored.
  std::optional<ProgramEnd> end;  // Set while its last checkpoint is still being read.
  // Set at the launch of the attempt; unset if another trainer launched it.
  std::optional<ErrorSizes> errors_before;
  std::int64_t changed_us = 0;
  // For the limits of an attempt: its time budget and its heartbeat.
  runtime::Timer watch_timer;
  bool asks_for_node = false;  // It is silent; asked whether its node answers.
  bool node_was_away = false;  // According to the last answer.
  // Fires shortly before max_run_time is over, to take the stacks.
  runtime::Timer stacks_timer;
  absl::Duration last_heard;                     // Monotonic; of its last line, or its start.
  std::shared_ptr<MetricStatistics> statistics;  // Kept while it lives, once requested.
  absl::Duration reported_at = -absl::InfiniteDuration();  // Monotonic time of its last row.
};

// Returns true if nothing that the program does can still change how the trial ends.
inline bool HasSaidDone(const Trial& trial) {
  return trial.reports->progress().done && trial.record.failure.empty();
}
inline bool IsToLeave(const Trial& trial) { return IsToLeave(trial.record, HasSaidDone(trial)); }

// Returns true if only slots, and the trials before it, keep it from being launched.
inline bool WaitsForTurn(const Trial& trial) {
  return trial.record.state == msg::TrialState::Pending && trial.runner == nullptr &&
         !trial.attempt.held_back && !IsAttached(trial.record);
}
// Returns true if its next attempt starts from the requested source, which must still exist.
inline bool NeedsItsStart(const Trial& trial) {
  const bool is_to_start = Waits(trial.record) || trial.record.state == msg::TrialState::Paused;
  return is_to_start && trial.reports->progress().newest_checkpoint.number == 0;
}
inline WaitingTrial InQueue(const Trial& trial) {
  return {trial.record.number, trial.record.spec.options.priority};
}

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_H_
