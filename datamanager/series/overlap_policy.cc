#include "datamanager/series/overlap_policy.h"

#include <numeric>
#include <utility>

namespace datamanager {
namespace {

using Restart = PurgeLog::State::Restart;

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

// The purge policies drop a point if a later purge begins at or before its step; scanning from the
// end, that means: if its step is not below the smallest `from_step` so far. (No step is larger
// than kNone; `any_` distinguishes a purge from kNone on from no purge at all.)
class SmallestPurge {
 public:
  void Add(std::int64_t from_step) {
    any_ = true;
    smallest_ = std::min(smallest_, from_step);
  }
  bool Drops(std::int64_t step) const { return any_ && step >= smallest_; }

 private:
  bool any_ = false;
  std::int64_t smallest_ = kNone;
};

std::vector<bool> PurgedByMarks(std::span<const std::int64_t> steps, std::span<const Purge> purges,
                                Overlap policy) {
  std::vector<bool> dropped(steps.size());
  SmallestPurge later;
  std::size_t left = purges.size();
  for (std::size_t i = steps.size(); i-- > 0;) {
    for (; left > 0 && purges[left - 1].before > i; --left) {
      if (Follows(purges[left - 1], policy)) later.Add(purges[left - 1].from_step);
    }
    dropped[i] = later.Drops(steps[i]);
  }
  return dropped;
}

std::vector<bool> PurgedByPoints(std::span<const std::int64_t> steps) {
  std::vector<bool> dropped(steps.size());
  SmallestPurge later;
  for (std::size_t i = steps.size(); i-- > 0;) {
    dropped[i] = later.Drops(steps[i]);
    later.Add(steps[i]);
  }
  return dropped;
}

// The smallest steps of later points by the age of their files: a Fenwick tree over ages.
class SmallestOfNewer {
 public:
  explicit SmallestOfNewer(std::span<const FileSpan> parts) {
    for (const FileSpan& part : parts) ages_.push_back(part.age);
    std::sort(ages_.begin(), ages_.end());
    ages_.erase(std::unique(ages_.begin(), ages_.end()), ages_.end());
    smallest_.resize(ages_.size() + 1, kNone);
  }
  void Add(std::uint32_t age, std::int64_t step) {
    for (std::size_t i = FromTheNewest(age); i < smallest_.size(); i += i & (0 - i)) {
      smallest_[i] = std::min(smallest_[i], step);
    }
  }
  // Returns the smallest step in files newer than `age`.
  std::int64_t Smallest(std::uint32_t age) const {
    std::int64_t smallest = kNone;
    for (std::size_t i = FromTheNewest(age) - 1; i > 0; i -= i & (0 - i)) {
      smallest = std::min(smallest, smallest_[i]);
    }
    return smallest;
  }

 private:
  // Returns the rank of `age`; 1 for the newest.
  std::size_t FromTheNewest(std::uint32_t age) const {
    return static_cast<std::size_t>(ages_.end() -
                                    std::lower_bound(ages_.begin(), ages_.end(), age));
  }
  std::vector<std::uint32_t> ages_;
  std::vector<std::int64_t> smallest_;
};

// Marks larger steps of older files; OnlyTheLast() handles points of the same step.
std::vector<bool> PurgedByNewerFiles(std::span<const std::int64_t> steps,
                                     std::span<const FileSpan> parts) {
  std::vector<bool> dropped(steps.size());
  SmallestOfNewer later(parts);
  std::size_t part = parts.size();
  for (std::size_t i = steps.size(); i-- > 0 && part > 0;) {
    while (part > 0 && parts[part - 1].first > i) --part;
    if (part == 0) break;
    const std::uint32_t age = parts[part - 1].age;
    dropped[i] = steps[i] > later.Smallest(age);
    later.Add(age, steps[i]);
  }
  return dropped;
}

// Keeps the place of the last point of each step; `places` must be ordered by step. The last point
// is the one with the latest wall time, if there are wall times.
void OnlyTheLast(std::span<const std::int64_t> steps, std::span<const double> wall_times,
                 std::vector<std::uint64_t>* places) {
  std::size_t kept = 0;
  for (const std::uint64_t place : *places) {
    if (kept == 0 || steps[(*places)[kept - 1]] != steps[place]) {
      (*places)[kept++] = place;
      continue;
    }
    std::uint64_t& last = (*places)[kept - 1];
    if (wall_times.empty() || IsNotEarlier(wall_times[place], wall_times[last])) last = place;
  }
  places->resize(kept);
}

// Adds a restart, and removes the earlier ones that it hides.
void Push(std::vector<Restart>* restarts, Restart restart) {
  while (!restarts->empty() && restarts->back().step >= restart.step) restarts->pop_back();
  restarts->push_back(restart);
}

// Returns the restart with the smallest step among those from `number` on; null if no restart is
// left.
const Restart* Smallest(const std::vector<Restart>& restarts, std::uint32_t number) {
  const auto found =
      std::lower_bound(restarts.begin(), restarts.end(), number,
                       [](const Restart& r, std::uint32_t number) { return r.number < number; });
  return found == restarts.end() ? nullptr : &*found;
}

SeriesMarks::Rare& Of(SeriesMarks* marks) {
  if (marks->rare == nullptr) marks->rare = std::make_unique<SeriesMarks::Rare>();
  return *marks->rare;
}

// Notes that the next points come from a file of this age.
void NoteAge(const ScalarSummary& before, std::uint32_t age, SeriesMarks* marks) {
  const std::uint32_t last = std::exchange(marks->age, age);
  if (last == age || before.points == 0) return;
  std::vector<FileSpan>& parts = Of(marks).parts;
  if (parts.empty()) parts.push_back({.first = 0, .age = last});
  parts.push_back({.first = before.points, .age = age});
}

}  // namespace

bool Follows(const Purge& purge, Overlap policy) {
  switch (policy) {
    case Overlap::kTensorBoard:
      return purge.by_version;
    case Overlap::kTensorBoardV1:
      return !purge.restart;
    case Overlap::kTensorBoardV2:
      return purge.restart;
    default:
      return false;
  }
}

std::vector<std::uint64_t> KeptPoints(std::span<const std::int64_t> steps,
                                      std::span<const Purge> purges,
                                      std::span<const FileSpan> parts, Overlap policy,
                                      std::span<const double> wall_times) {
  std::vector<std::uint64_t> places(steps.size());
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  const auto earlier = [&](std::uint64_t a, std::uint64_t b) { return steps[a] < steps[b]; };
  if (!std::is_sorted(places.begin(), places.end(), earlier)) {
    std::stable_sort(places.begin(), places.end(), earlier);
  }
  std::vector<bool> dropped;
  switch (policy) {
    case Overlap::kRaw:
      return places;
    case Overlap::kLastWrite:
      OnlyTheLast(steps, wall_times, &places);
      return places;
    case Overlap::kTensorBoard:
    case Overlap::kTensorBoardV1:
    case Overlap::kTensorBoardV2:
      dropped = PurgedByMarks(steps, purges, policy);
      break;
    case Overlap::kRustServer:
      dropped = PurgedByPoints(steps);
      break;
    case Overlap::kMindInsight:
      dropped = PurgedByNewerFiles(steps, parts);
      OnlyTheLast(steps, {}, &places);
      break;
  }
  std::erase_if(places, [&](std::uint64_t place) { return dropped[place]; });
  return places;
}

std::size_t SeriesMarks::Bytes() const {
  if (rare == nullptr) return 0;
  return sizeof(Rare) + rare->purges.capacity() * sizeof(Purge) +
         rare->parts.capacity() * sizeof(FileSpan);
}

std::size_t PurgeLog::Bytes() const {
  return (state_.all.capacity() + state_.by_version.capacity()) * sizeof(Restart);
}

void PurgeLog::SessionStart(std::int64_t step) {
  is_plain_ = false;
  // The first session starts a run; later sessions restart it.
  const bool again = std::exchange(state_.started, true);
  const bool followed = state_.file_version >= 2 && std::exchange(state_.started_by_version, true);
  if (!again) return;
  const Restart restart{.number = state_.restarts++, .step = step};
  Push(&state_.all, restart);
  if (followed) Push(&state_.by_version, restart);
}

void PurgeLog::GoBack(std::int64_t step) {
  if (is_second_part_ && !first_step_.has_value()) {
    // Whether it goes back is known only when the earlier part is known: see Append().
    first_step_ = step;
    went_back_ = false;
    return;
  }
  is_plain_ = false;
}

bool PurgeLog::Append(const PurgeLog& second) {
  // (Without a first step, the part had no summary, or one at the largest step.)
  const bool fits = !went_back_ && second.is_plain_ && second.first_step_.has_value() &&
                    *second.first_step_ >= state_.recent_step;
  if (fits) state_.recent_step = second.state_.recent_step;
  return fits;
}

void PurgeLog::CatchUp(const ScalarSummary& summary, SeriesMarks* marks) const {
  const std::uint32_t from = std::exchange(marks->restarts_seen, state_.restarts);
  if (from == state_.restarts || summary.points == 0) return;
  // No point came between these restarts, so only the one with the smallest step matters.
  const Restart* const smallest = Smallest(state_.all, from);
  const Restart* const followed = Smallest(state_.by_version, from);
  if (smallest != nullptr && smallest->step <= summary.last_step) {
    const bool same = followed != nullptr && followed->number == smallest->number;
    Of(marks).purges.push_back({.before = summary.points,
                                .from_step = smallest->step,
                                .restart = true,
                                .by_version = same});
    if (same) return;
  }
  if (followed != nullptr && followed->step <= summary.last_step) {
    Of(marks).purges.push_back({.before = summary.points,
                                .from_step = followed->step,
                                .restart = true,
                                .by_version = true});
  }
}

void PurgeLog::NoteRare(const ScalarSummary& before, std::int64_t step, std::uint32_t age,
                        SeriesMarks* marks) const {
  CatchUp(before, marks);
  if (went_back_ && before.points > 0 && step <= before.last_step) {
    Of(marks).purges.push_back({.before = before.points,
                                .from_step = step,
                                .restart = false,
                                .by_version = state_.file_version < 2});
  }
  NoteAge(before, age, marks);
}

void PurgeLog::NoteSecondPart(const ScalarSummary& before, std::uint32_t age,
                              SeriesMarks* marks) const {
  CatchUp(before, marks);
  NoteAge(before, age, marks);
}

}  // namespace datamanager
