#ifndef TRAINER_FUNCTION_TRAINABLE_H_
#define TRAINER_FUNCTION_TRAINABLE_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/function/training_progress.h"

namespace trainer {

// Something that is trained step by step, as Ray Tune's Trainable. One thread calls all methods,
// and they may block: Step() for as long as the training takes, the others for the disk. Every
// implementation passes trainable_conformance.h.
//
// Checkpoints are directories in the trial's own (checkpoint_directory.h). After Stop() every other
// method returns FailedPrecondition.
class Trainable {
 public:
  virtual ~Trainable() = default;

  // Trains until the next result. The training's own failure is the error. Past its end there is
  // one duplicate of the last result, then OutOfRange.
  virtual absl::StatusOr<Result> Step() = 0;

  // The newest checkpoint, made permanent if it is a temporary one; without one the null
  // checkpoint, from which a trial starts anew. It keeps the counters of the result that it belongs
  // to.
  virtual absl::StatusOr<std::string> Save() = 0;
  // Goes on from a checkpoint, or from a path inside of one, with its counters. A checkpoint of
  // another trial is copied, so it may be deleted afterwards. NotFound, DataLoss: nothing has
  // changed.
  virtual absl::Status Restore(const std::string& path) = 0;

  // Save(), as one string of bytes that another trial, or another host, restores.
  virtual absl::StatusOr<std::string> SaveToObject() = 0;
  // InvalidArgument or DataLoss for what SaveToObject() has not made: nothing has changed.
  virtual absl::Status RestoreFromObject(std::string_view object) = 0;

  // Calls `function` between two steps, with this, and returns what it returns.
  virtual absl::Status Execute(const std::function<absl::Status(Trainable&)>& function) = 0;

  // Ends the training and cleans up: temporary checkpoints are gone afterwards. Then returns an
  // error that nobody has seen yet. Once is enough: again it does nothing.
  virtual absl::Status Stop() = 0;
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_TRAINABLE_H_
