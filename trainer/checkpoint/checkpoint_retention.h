#ifndef TRAINER_CHECKPOINT_CHECKPOINT_RETENTION_H_
#define TRAINER_CHECKPOINT_CHECKPOINT_RETENTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

// Decides which checkpoints of a trial to keep, as Ray Tune's checkpoint manager does: the best
// `keep` by a score, and always the newest. Pure; any thread.
//
// Deliberate differences: `keep` may be 0, so that only the newest stays; checkpoints in use are
// never deleted; and all together may have a limit in bytes.

// Parses "min-loss": metric `loss`, smaller is better; "loss": larger is better; "":
// training_iteration.
struct CheckpointMetric {
  std::string name;  // Flattened.
  bool smaller_is_better = false;
};
CheckpointMetric ParseCheckpointMetric(std::string_view text);

struct RankedCheckpoint {
  std::int64_t number = 0;  // Grows with each checkpoint of the trial.
  // Value of the metric. Without one, or with NaN, the checkpoint stays only while it is the
  // newest.
  std::optional<double> score;
  // True if a program started from it or something refers to it.
  bool in_use = false;
  std::uint64_t bytes = 0;
};

// Returns the numbers of the checkpoints to delete, in the given order. Keeps the newest and the
// `keep` best, which may include the newest; a negative `keep` keeps all. Among equal scores the
// newer checkpoint ranks higher. If the rest still exceeds `max_bytes` (0: no limit), the worst
// ones are deleted, first those without a score. The newest and those in use count towards the
// limit, but are never deleted.
std::vector<std::int64_t> SurplusCheckpoints(std::span<const RankedCheckpoint> checkpoints,
                                             int keep, bool smaller_is_better,
                                             std::uint64_t max_bytes = 0);

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_CHECKPOINT_RETENTION_H_
