#ifndef TRAINER_FUNCTION_FUNCTION_CHECKPOINT_H_
#define TRAINER_FUNCTION_FUNCTION_CHECKPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/function/reporter.h"

namespace trainer {

// Loads the checkpoint from which a function goes on: the one at `path`, or at a path inside of
// one, with its values if it was saved as values. Verifies nothing but those; blocks for the disk.
// NotFound if there is no checkpoint; DataLoss if its metadata or its values are damaged.
absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path);

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_CHECKPOINT_H_
