#ifndef TRAINER_RUN_OUTCOME_FILE_H_
#define TRAINER_RUN_OUTCOME_FILE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "bus/json/run_outcome.h"

namespace trainer {

// Makes outcome.json in a run's directory say how its trial has ended; nothing: the trial goes on,
// and has no such file. Writes nothing if the file says so already, or there is no directory.
// Blocks for the disk. ResourceExhausted: the disk is full; it may be tried again.
absl::Status BringOutcomeUpToDate(const std::string& run_directory,
                                  const std::optional<bus::RunOutcome>& outcome);

}  // namespace trainer

#endif  // TRAINER_RUN_OUTCOME_FILE_H_
