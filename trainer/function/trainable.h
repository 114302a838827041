#ifndef TRAINER_FUNCTION_TRAINABLE_H_
#define TRAINER_FUNCTION_TRAINABLE_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/function/training_progress.h"

namespace trainer {

// A training that runs step by step, as Ray Tune's Trainable. One thread calls all methods, which
// may block: Step() as long as training takes, the others for the disk. Every implementation passes
// trainable_conformance.h.
//
// Checkpoints are subdirectories of the trial's directory (checkpoint_directory.h). After Stop()
// every other method returns FailedPrecondition.
class Trainable {
 public:
  virtual ~Trainable() = default;

  // Trains until the next result. An error is the training's own failure. After the end it returns
  // one duplicate of the last result, then OutOfRange.
  virtual absl::StatusOr<Result> Step() = 0;

  // Returns the newest checkpoint, made permanent if it is temporary, or else the null checkpoint,
  // from which a trial starts afresh. It keeps the counters of the result that it belongs to.
  virtual absl::StatusOr<std::string> Save() = 0;
  // Continues from a checkpoint, or from a path inside one, with its counters. A checkpoint of
  // another trial is copied, so the original may be deleted afterwards. On NotFound or DataLoss
  // nothing has changed.
  virtual absl::Status Restore(const std::string& path) = 0;

  // Like Save(), but returns the checkpoint as bytes that another trial, or another host, can
  // restore.
  virtual absl::StatusOr<std::string> SaveToObject() = 0;
  // InvalidArgument or DataLoss if SaveToObject() did not make `object`; nothing has changed then.
  virtual absl::Status RestoreFromObject(std::string_view object) = 0;

  // Calls `function` with this trainable, between two steps, and returns its result.
  virtual absl::Status Execute(const std::function<absl::Status(Trainable&)>& function) = 0;

  // Ends the training, removes temporary checkpoints, and returns an error that was not reported
  // yet. Further calls do nothing.
  virtual absl::Status Stop() = 0;
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_TRAINABLE_H_
