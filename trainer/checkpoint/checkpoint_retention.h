#ifndef TRAINER_CHECKPOINT_CHECKPOINT_RETENTION_H_
#define TRAINER_CHECKPOINT_CHECKPOINT_RETENTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

// Decides which checkpoints of a trial stay, as Ray Tune's checkpoint manager does: the best `keep`
// by a score and always the newest. Pure; any thread.
//
// Different on purpose: 0 may be kept besides the newest, what is in use is never deleted, and all
// together may have a limit in bytes.

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
  std::uint64_t bytes = 0;
};

// The numbers of those to delete, in the order given. `keep` is how many of the best stay besides
// the newest, which may be one of them; negative: all. If scores are equal the newer checkpoint
// stays. The worst of those that would stay go until no more than `max_bytes` are left (0: no
// limit), one without a score before all others; the newest and those in use count, and stay
// whatever their size.
std::vector<std::int64_t> SurplusCheckpoints(std::span<const RankedCheckpoint> checkpoints,
                                             int keep, bool smaller_is_better,
                                             std::uint64_t max_bytes = 0);

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_CHECKPOINT_RETENTION_H_
