#ifndef TRAINER_STORE_TRIAL_RECORD_H_
#define TRAINER_STORE_TRIAL_RECORD_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bus/schema/trainer_generated.h"
#include "trainer/run/result_files.h"

namespace trainer {

// The request for a trial. Only labels, note, display name and priority change
// (TrialStore::Annotate()), and the configuration (StoreBatch::configurations).
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

// One trial, as it is kept.
struct TrialRecord {
  std::int64_t number = 0;  // Counts trials from 1; ties its rows to it.
  RunIdentity run;          // With the trial's id and the time of its creation.
  std::string request_id;   // Unique; of the call that made it.
  TrialSpec spec;
  std::string trace;  // Trace id of that call; goes with requests to the launcher for the trial.

  msg::TrialState state = msg::TrialState::Pending;
  int attempt = 1;
  std::string nonce;           // Nonce of the attempt.
  std::string job_request_id;  // Request id of the attempt: every try to launch it says the same.
  bool launching = false;      // The launcher may have been asked already.
  std::string job;             // Job of the attempt; empty until the launcher has answered.
  std::int64_t started_us = 0;
  // Monotonic: it was launched, or given the resources that it waited for. -1: not known.
  std::int64_t attempt_began_us = -1;
  std::int64_t ended_us = 0;
  bool stop_requested = false;
  bool pause_requested = false;
  std::int64_t stop_grace_ms = 0;  // Grace time of that stop or pause.
  std::uint32_t failures = 0;      // Attempts that failed and were followed by another one.
  std::string failure;             // The text of the attempt's `fail` line, or the trainer's.
  bool expelled = false;  // The attempt has failed and is to end: it broke a rule (`failure`).
  // Metrics of earlier reports that the last one lacks (newest_metrics.h); empty: none.
  std::string earlier_metrics;
  std::string criterion;  // The criterion that it has met, in words: it is to end, Done.
  // How long the attempts before this one ran, together.
  std::int64_t earlier_attempts_us = 0;
  std::string reason;
  std::vector<std::string> error_lines;
  // The directory of the checkpoint that the attempt starts from, empty: from nothing; what has
  // been done until there.
  std::string start_checkpoint;
  std::int64_t start_iteration = 0;
  std::int64_t start_time_total_us = 0;

  const std::string& id() const { return run.trial_id; }
  // The trainer itself has decided that the attempt is to end.
  bool is_to_end() const { return expelled || !criterion.empty(); }
};

// Its process ran already and has attached itself: nobody launches it.
inline bool IsAttached(const TrialRecord& trial) { return trial.spec.options.attached_pid != 0; }

// The launcher has its job, whose tasks wait for their resources.
inline bool WaitsForResources(const TrialRecord& trial) {
  return trial.state == msg::TrialState::Pending && !trial.job.empty();
}

// Adds the time of the attempt that ends now to earlier_attempts_us. Once an attempt, before its
// job is forgotten.
// `now_us` is monotonic.
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
