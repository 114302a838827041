#ifndef TRAINER_FUNCTION_FUNCTION_CHECKPOINT_H_
#define TRAINER_FUNCTION_FUNCTION_CHECKPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/function/reporter.h"

namespace trainer {

// Loads the checkpoint that a function resumes from: the one at `path`, or the one that contains
// `path`, with its values if it was saved as values. Verifies only the metadata and values; blocks
// for the disk. NotFound if there is no checkpoint; DataLoss if the metadata or values are damaged.
absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path);

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_CHECKPOINT_H_
