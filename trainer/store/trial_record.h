#ifndef TRAINER_STORE_TRIAL_RECORD_H_
#define TRAINER_STORE_TRIAL_RECORD_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bus/schema/trainer_generated.h"
#include "trainer/run/result_files.h"

namespace trainer {

// The request for a trial. Afterwards only labels, note, display name and priority
// (TrialStore::Annotate()) and the configuration (StoreBatch::configurations) change.
struct TrialSpec {
  std::string name;  // Name of the run's directory: one path segment.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // The caller's, complete: never shown.
  std::string working_directory;
  std::string run_directory;  // Absolute.
  std::string config = "{}";  // Compact JSON object.
  std::uint32_t max_restarts = 0;
  std::uint64_t seed = 0;
  std::int64_t stop_grace_ms = 0;
  msg::TrialOptionsT options;
};

// One trial, as stored. The store writes a changed record as a whole, except for its spec. Points
// in time are in microseconds since 1970 unless a field says that it is monotonic.
struct TrialRecord {
  std::int64_t number = 0;  // Numbers trials from 1; its rows refer to it.
  RunIdentity run;          // Includes the trial's id and creation time.
  std::string request_id;   // Unique; request id of the call.
  TrialSpec spec;
  std::string trace;  // Trace id of that call; the trainer's calls to the launcher carry it.

  msg::TrialState state = msg::TrialState::Pending;
  int attempt = 1;
  std::string nonce;           // Nonce of the attempt.
  std::string job_request_id;  // Request id of the attempt's launch; every retry uses it.
  bool launching = false;      // The launcher may have been called already.
  std::string job;             // Job of the attempt; empty until the launcher has answered.
  std::int64_t started_us = 0;
  // Monotonic time when it was launched, or got the resources that it waited for. -1: unknown.
  std::int64_t attempt_began_us = -1;
  std::int64_t ended_us = 0;
  bool stop_requested = false;
  bool pause_requested = false;
  std::int64_t stop_grace_ms = 0;  // Grace time of the stop or pause.
  std::uint32_t failures = 0;      // Failed attempts that were followed by another.
  std::string failure;             // Text of the attempt's `fail` line, or of the trainer.
  bool expelled = false;           // The attempt broke a rule (`failure`) and is to end as failed.
  // Metrics of earlier reports that the last one lacks (newest_metrics.h); empty: none.
  std::string earlier_metrics;
  std::string criterion;  // Criterion that it has met, as text: the trial is to end as Done.
  // Total running time of the earlier attempts.
  std::int64_t earlier_attempts_us = 0;
  std::string reason;
  std::vector<std::string> error_lines;
  // Directory of the checkpoint that the attempt starts from (empty: none), and the totals up to
  // that checkpoint.
  std::string start_checkpoint;
  std::int64_t start_iteration = 0;
  std::int64_t start_time_total_us = 0;

  const std::string& id() const { return run.trial_id; }
  // Returns true if the trainer itself has decided to end the attempt.
  bool is_to_end() const { return expelled || !criterion.empty(); }
};

// Returns true if the process was already running and attached itself: nobody launches it.
inline bool IsAttached(const TrialRecord& trial) { return trial.spec.options.attached_pid != 0; }

// Returns true if the launcher has its job, whose tasks wait for resources.
inline bool WaitsForResources(const TrialRecord& trial) {
  return trial.state == msg::TrialState::Pending && !trial.job.empty();
}

// Adds the running time of the ending attempt to earlier_attempts_us. Call it once for each
// attempt, before its job is cleared. `now_us` is monotonic.
inline void CountAttempt(TrialRecord& trial, std::int64_t now_us) {
  if (trial.job.empty() || WaitsForResources(trial) || trial.attempt_began_us < 0) return;
  trial.earlier_attempts_us += std::max<std::int64_t>(0, now_us - trial.attempt_began_us);
}

// True for Done, Stopped and Failed.
inline bool HasEnded(msg::TrialState state) {
  return state >= msg::TrialState::Done && state != msg::TrialState::Paused;
}
inline bool HasEnded(const TrialRecord& trial) { return HasEnded(trial.state); }

}  // namespace trainer

#endif  // TRAINER_STORE_TRIAL_RECORD_H_
