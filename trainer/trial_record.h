#ifndef TRAINER_TRIAL_RECORD_H_
#define TRAINER_TRIAL_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bus/schema/trainer_generated.h"
#include "trainer/result_files.h"

namespace trainer {

// What was asked for; never changes.
struct TrialSpec {
  std::string name;  // Of the run's directory: one path segment.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // The caller's, complete: never shown.
  std::string working_directory;
  std::string run_directory;  // Absolute.
  std::string config = "{}";  // Compact JSON object.
  std::uint32_t max_restarts = 0;
  std::uint64_t seed = 0;
  std::int64_t stop_grace_ms = 0;
};

// One trial, as it is kept.
struct TrialRecord {
  std::int64_t number = 0;  // Counts trials from 1; ties its rows to it.
  RunIdentity run;          // With the trial's id and the time of its creation.
  std::string request_id;   // Unique; of the call that made it.
  TrialSpec spec;
  std::string trace;  // Of that call; goes with what is asked of the launcher for the trial.

  msg::TrialState state = msg::TrialState::Pending;
  int attempt = 1;
  std::string nonce;           // Of the attempt.
  std::string job_request_id;  // Of the attempt: every try to launch it says the same.
  bool launching = false;      // The launcher may have been asked already.
  std::string job;             // Of the attempt; empty until the launcher has answered.
  std::int64_t started_us = 0;
  std::int64_t attempt_started_us = 0;
  std::int64_t ended_us = 0;
  bool stop_requested = false;
  std::int64_t stop_grace_ms = 0;  // Of that stop.
  std::string failure;             // What the attempt said in a `fail` line.
  std::string reason;
  std::vector<std::string> error_lines;

  const std::string& id() const { return run.trial_id; }
};

// True for Done, Stopped and Failed.
inline bool HasEnded(const TrialRecord& trial) { return trial.state >= msg::TrialState::Done; }

}  // namespace trainer

#endif  // TRAINER_TRIAL_RECORD_H_
