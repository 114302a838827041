#ifndef TRAINER_CHECKPOINT_RETENTION_H_
#define TRAINER_CHECKPOINT_RETENTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

// Which checkpoints of a trial stay, as Ray Tune's checkpoint manager decides it: the best `keep`
// by a score and always the newest. Pure; any thread.
//
// Different on purpose: 0 may be kept besides the newest, and what is in use is never deleted.

// "min-loss": `loss`, smaller is better; "loss": larger is better; "": training_iteration.
struct CheckpointMetric {
  std::string name;  // Flattened.
  bool smaller_is_better = false;
};
CheckpointMetric ParseCheckpointMetric(std::string_view text);

struct RankedCheckpoint {
  std::int64_t number = 0;  // Grows with each checkpoint of the trial.
  // Unset, or NaN: it had none, and stays only while it is the newest.
  std::optional<double> score;
  // A program started from it, or somebody refers to it.
  bool in_use = false;
};

// The numbers of those to delete, in the order given. `keep` is how many of the best stay besides
// the newest, which may be one of them; negative: all. Of equal scores the newer one stays.
std::vector<std::int64_t> SurplusCheckpoints(std::span<const RankedCheckpoint> checkpoints,
                                             int keep, bool smaller_is_better);

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_RETENTION_H_
