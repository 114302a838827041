#include "trainer/checkpoint_retention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

namespace trainer {

CheckpointMetric ParseCheckpointMetric(std::string_view text) {
  constexpr std::string_view kSmaller = "min-";
  if (text.empty()) return {"training_iteration", false};
  if (text.substr(0, kSmaller.size()) != kSmaller) return {std::string(text), false};
  return {std::string(text.substr(kSmaller.size())), true};
}

std::vector<std::int64_t> SurplusCheckpoints(std::span<const RankedCheckpoint> checkpoints,
                                             int keep, bool smaller_is_better) {
  if (keep < 0 || checkpoints.empty()) return {};
  std::int64_t newest = checkpoints.front().number;
  std::vector<RankedCheckpoint> ranked;
  for (const RankedCheckpoint& checkpoint : checkpoints) {
    newest = std::max(newest, checkpoint.number);
    if (checkpoint.score && !std::isnan(*checkpoint.score)) ranked.push_back(checkpoint);
  }
  // A metric that no report has, perhaps for its spelling, must not cost any of them.
  if (keep > 0 && ranked.empty()) return {};
  std::sort(ranked.begin(), ranked.end(),
            [&](const RankedCheckpoint& a, const RankedCheckpoint& b) {
              if (*a.score == *b.score) return a.number > b.number;
              return smaller_is_better ? *a.score < *b.score : *a.score > *b.score;
            });
  ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(keep)));
  std::set<std::int64_t> stay = {newest};
  for (const RankedCheckpoint& best : ranked) stay.insert(best.number);
  std::vector<std::int64_t> surplus;
  for (const RankedCheckpoint& checkpoint : checkpoints) {
    const bool stays = checkpoint.in_use || stay.count(checkpoint.number) != 0;
    if (!stays) surplus.push_back(checkpoint.number);
  }
  return surplus;
}

}  // namespace trainer
