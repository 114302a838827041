#include "trainer/checkpoint/checkpoint_retention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

namespace trainer {
namespace {

bool HasScore(const RankedCheckpoint& checkpoint) {
  return checkpoint.score && !std::isnan(*checkpoint.score);
}

}  // namespace

CheckpointMetric ParseCheckpointMetric(std::string_view text) {
  constexpr std::string_view kSmaller = "min-";
  if (text.empty()) return {"training_iteration", false};
  if (text.substr(0, kSmaller.size()) != kSmaller) return {std::string(text), false};
  return {std::string(text.substr(kSmaller.size())), true};
}

std::vector<std::int64_t> SurplusCheckpoints(std::span<const RankedCheckpoint> checkpoints,
                                             int keep, bool smaller_is_better,
                                             std::uint64_t max_bytes) {
  // If no report has the metric, perhaps because it is misspelt, nothing is deleted for its lack.
  if (keep > 0 && std::none_of(checkpoints.begin(), checkpoints.end(), HasScore)) keep = -1;
  std::vector<RankedCheckpoint> ranked(checkpoints.begin(), checkpoints.end());
  // Best first; checkpoints without a score last.
  std::sort(ranked.begin(), ranked.end(),
            [&](const RankedCheckpoint& a, const RankedCheckpoint& b) {
              if (HasScore(a) != HasScore(b)) return HasScore(a);
              if (!HasScore(a) || *a.score == *b.score) return a.number > b.number;
              return smaller_is_better ? *a.score < *b.score : *a.score > *b.score;
            });
  const auto newest = std::max_element(
      ranked.begin(), ranked.end(),
      [](const RankedCheckpoint& a, const RankedCheckpoint& b) { return a.number < b.number; });
  if (newest == ranked.end()) return {};
  const std::int64_t newest_number = newest->number;
  const auto must_stay = [&](const RankedCheckpoint& checkpoint) {
    return checkpoint.in_use || checkpoint.number == newest_number;
  };
  std::uint64_t bytes = 0;
  for (const RankedCheckpoint& checkpoint : ranked) {
    if (must_stay(checkpoint)) bytes += checkpoint.bytes;
  }
  std::set<std::int64_t> surplus;
  std::int64_t place = 0;
  bool fits = true;
  for (const RankedCheckpoint& checkpoint : ranked) {
    const bool is_best = keep < 0 || (place++ < keep && HasScore(checkpoint));
    if (must_stay(checkpoint)) continue;
    // Once a checkpoint does not fit, no worse one is kept in its place.
    fits = fits && (max_bytes == 0 || checkpoint.bytes <= max_bytes - std::min(bytes, max_bytes));
    if (is_best && fits) {
      bytes += checkpoint.bytes;
    } else {
      surplus.insert(checkpoint.number);
    }
  }
  std::vector<std::int64_t> in_order;
  for (const RankedCheckpoint& checkpoint : checkpoints) {
    if (surplus.count(checkpoint.number) != 0) in_order.push_back(checkpoint.number);
  }
  return in_order;
}

}  // namespace trainer
