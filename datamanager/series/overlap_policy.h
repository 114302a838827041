#ifndef DATAMANAGER_SERIES_OVERLAP_POLICY_H_
#define DATAMANAGER_SERIES_OVERLAP_POLICY_H_

// Rules for steps that were written more than once: by a program that crashed and continued from a
// checkpoint, by two writers, or by a resumed run. No point is dropped when it arrives; these rules
// decide which points an answer omits.
//
// Re-imagined: the purges of TensorBoard's Python backend, of its Rust data server, and of
// MindInsight, each without its sampling. Where TensorBoard drops points when it reads an event,
// this code only marks what was purged and where, because queries come later.
//
// KeptPoints() is pure. The rest is not thread safe. Nothing here fails.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "datamanager/series/scalar_summary.h"

namespace datamanager {

enum class Overlap : std::uint8_t {
  kRaw,            // Every point.
  kLastWrite,      // The point with the latest wall time of each step; among equal times the one
                   // that came last.
  kTensorBoard,    // V1 or V2, whichever TensorBoard applies to those files.
  kTensorBoardV1,  // For files older than version 2: a summary whose step is before that of the
                   // run's last summary purges its own tags from its step on.
  kTensorBoardV2,  // The start of a session, except the run's first, purges all tags from its step
                   // on.
  kRustServer,     // A point purges its own tag from its step on, including that step.
  kMindInsight,    // A point purges its own step, and larger steps of older files.
};

// A purge of the points that came before place `before` and have a step >= `from_step`.
struct Purge {
  std::uint64_t before = 0;
  std::int64_t from_step = 0;
  // True: caused by the start of a session (V2); false: by a summary whose step went back (V1).
  bool restart = false;
  // True: TensorBoard applies this rule to files of the version that was read.
  bool by_version = false;

  bool operator==(const Purge&) const = default;
};

// True if `policy` applies the rule that caused this purge.
bool Follows(const Purge& purge, Overlap policy);

// The points from place `first` on come from a file of this age: a larger number is newer.
struct FileSpan {
  std::uint64_t first = 0;
  std::uint32_t age = 0;

  bool operator==(const FileSpan&) const = default;
};

// Returns the places of `steps` (of a series in file order) that `policy` keeps, ordered by step;
// equal steps stay in file order. `purges` and `parts` must be ordered by place; empty `parts` mean
// a single file. `wall_times` of the same points matter for kLastWrite; if empty, all are equal.
// Takes O(n log n) time, and 24 bytes per point of temporary memory.
std::vector<std::uint64_t> KeptPoints(std::span<const std::int64_t> steps,
                                      std::span<const Purge> purges,
                                      std::span<const FileSpan> parts, Overlap policy,
                                      std::span<const double> wall_times = {});

// The data of a series that the policies need besides its steps; PurgeLog fills it in. 16 bytes for
// a series that comes from one file and in which nothing was purged.
struct SeriesMarks {
  struct Rare {
    std::vector<Purge> purges;
    std::vector<FileSpan> parts;  // One entry for each switch to another file.
  };
  std::unique_ptr<Rare> rare;
  std::uint32_t age = 0;  // Age of the file of the newest point.
  std::uint32_t restarts_seen = 0;

  std::span<const Purge> purges() const {
    return rare == nullptr ? std::span<const Purge>() : rare->purges;
  }
  std::span<const FileSpan> parts() const {
    return rare == nullptr ? std::span<const FileSpan>() : rare->parts;
  }
  SeriesMarks Copy() const {
    return {rare == nullptr ? nullptr : std::make_unique<Rare>(*rare), age, restarts_seen};
  }
  // Allocated bytes, without the object itself.
  std::size_t Bytes() const;
};

// Observes the events of a run, in the order in which they are read, and marks its series.
class PurgeLog {
 public:
  // The complete state, for an index.
  struct State {
    struct Restart {
      std::uint32_t number = 0;
      std::int64_t step = 0;
      bool operator==(const Restart&) const = default;
    };
    double file_version = 0;
    std::int64_t recent_step = -1;    // Step of the newest summary.
    bool started = false;             // The first session has started.
    bool started_by_version = false;  // The first session in a file of version 2 has started.
    std::uint32_t restarts = 0;
    // Restarts that are not hidden by a later one of a smaller or equal step, by number; their
    // steps increase. `all` has all of them, `by_version` those that TensorBoard applies to the
    // files' versions.
    std::vector<Restart> all;
    std::vector<Restart> by_version;
    bool operator==(const State&) const = default;
  };

  PurgeLog() = default;
  explicit PurgeLog(State state) : state_(std::move(state)) {}
  const State& state() const { return state_; }
  // Allocated bytes, without the object itself.
  std::size_t Bytes() const;

  // Notes a file's version ("brain.Event:2" is 2; -1 for other texts).
  void FileVersion(double version) {
    state_.file_version = version;
    is_plain_ = false;
  }
  void SessionStart(std::int64_t step);
  // Notes an event with a summary. Call it before its values are noted.
  void Summary(std::int64_t step) {
    went_back_ = step < state_.recent_step;
    if (went_back_) [[unlikely]]
      GoBack(step);
    state_.recent_step = step;
  }
  // Appends a log that was started with ForSecondPart() in the middle of a file. Returns false, and
  // does nothing, if the second part may purge earlier points, or purges its own points differently
  // after these: that part must then be read again after this one. If it returns true, call
  // NoteSecondPart() for each of the part's series.
  bool Append(const PurgeLog& second);
  static PurgeLog ForSecondPart() {
    PurgeLog log;
    log.state_.recent_step = std::numeric_limits<std::int64_t>::max();
    log.is_second_part_ = true;
    return log;
  }
  // Notes that points of a tag from the second part will be appended to the tag's points here.
  void NoteSecondPart(const ScalarSummary& before, std::uint32_t age, SeriesMarks* marks) const;
  // Notes a point of a tag, whose summary is `before` without this point, from a file of this age.
  // (If an event has the tag twice, the second point purges the first under V1, unlike in
  // TensorBoard.)
  void Note(const ScalarSummary& before, std::int64_t step, std::uint32_t age,
            SeriesMarks* marks) const {
    if (marks->restarts_seen == state_.restarts && marks->age == age && !went_back_) return;
    NoteRare(before, step, age, marks);
  }
  // Marks what was purged of a series since its newest point. Call it before its points are read.
  void CatchUp(const ScalarSummary& summary, SeriesMarks* marks) const;

 private:
  void NoteRare(const ScalarSummary& before, std::int64_t step, std::uint32_t age,
                SeriesMarks* marks) const;

  // Handles a summary whose step is before that of the last one.
  void GoBack(std::int64_t step);

  State state_;
  bool went_back_ = false;
  bool is_plain_ = true;  // No session, no version, and no step that went back.
  bool is_second_part_ = false;
  std::optional<std::int64_t> first_step_;  // Step of the first summary of a second part.
};

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_OVERLAP_POLICY_H_
