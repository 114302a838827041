#ifndef TRAINER_RUN_OUTCOME_FILE_H_
#define TRAINER_RUN_OUTCOME_FILE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "bus/json/run_outcome.h"

namespace trainer {

// Makes outcome.json in a run's directory match how its trial ended; nullopt means that the trial
// continues, and removes the file. Does nothing if the file matches already or the directory is
// missing. Blocks for the disk. ResourceExhausted if the disk is full; a retry may succeed.
absl::Status BringOutcomeUpToDate(const std::string& run_directory,
                                  const std::optional<bus::RunOutcome>& outcome);

}  // namespace trainer

#endif  // TRAINER_RUN_OUTCOME_FILE_H_
