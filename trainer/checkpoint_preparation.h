#ifndef TRAINER_CHECKPOINT_PREPARATION_H_
#define TRAINER_CHECKPOINT_PREPARATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/checkpoint_directory.h"

namespace trainer {

// What a commit of a checkpoint needs and takes long to get: a gigabyte is read, and perhaps
// copied, in seconds.
struct PreparedCheckpoint {
  std::optional<CheckpointManifest> manifest;  // Unset: nothing was prepared.
  std::string copy;  // The temporary checkpoint that was made; empty: none was.
};

// That work for one line of a program, away from the loop's thread, so that other trials are
// answered meanwhile. Ray Tune copies and uploads checkpoints beside its loop in the same way; here
// the program waits for its answer, so what it saved is not changed on the way.
//
// On the loop's thread. One that goes away removes the copy that it made, as soon as that is done;
// if the copy was committed it does not have that name any more.
class CheckpointPreparation {
 public:
  // Touches nothing but the run's directory.
  using Work = std::function<absl::StatusOr<PreparedCheckpoint>()>;
  // Runs `work` on a thread of its own choice and then `done` on the loop's thread; neither runs
  // before it returns. Either may be dropped, at the end of the process.
  using Background = std::function<void(std::function<void()> work, std::function<void()> done)>;

  // Begins. Without a Background it is done when this returns, and `done` is not called.
  CheckpointPreparation(int attempt, std::int64_t line, Work work, const Background& background,
                        std::function<void()> done);
  CheckpointPreparation(const CheckpointPreparation&) = delete;
  CheckpointPreparation& operator=(const CheckpointPreparation&) = delete;

  bool IsFor(int attempt, std::int64_t line) const { return attempt == attempt_ && line == line_; }
  // Nothing while it is under way.
  const absl::StatusOr<PreparedCheckpoint>* result() const;

 private:
  struct State;
  const int attempt_;
  const std::int64_t line_;
  const std::shared_ptr<State> state_;
};

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_PREPARATION_H_
