#ifndef TRAINER_FUNCTION_FUNCTION_CHECKPOINT_H_
#define TRAINER_FUNCTION_FUNCTION_CHECKPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/function/reporter.h"

namespace trainer {

// What a function goes on from: the checkpoint at `path`, or at a path inside of one, with its
// values if it was saved as such. Verifies nothing but those; blocks for the disk. NotFound if
// there is no checkpoint; DataLoss if its metadata or its values are damaged.
absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path);

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_CHECKPOINT_H_
