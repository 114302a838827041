#ifndef DATAMANAGER_SERIES_OVERLAP_POLICY_H_
#define DATAMANAGER_SERIES_OVERLAP_POLICY_H_

// The rules for steps that were written again: by a program that crashed and went on from a
// checkpoint, by two writers, by a resumed run. Nothing is ever dropped when points come in; these
// are the rules by which an answer leaves some of them out.
//
// Re-imagined: the purges of TensorBoard's Python backend, of its Rust data server, and of
// MindInsight, each without the sampling that goes with it there. Where TensorBoard drops points
// when an event is read, here a mark is kept of where and which, because the question comes later.
//
// KeptPoints() is pure. The rest is not thread safe, and nothing fails.

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
  kLastWrite,      // The point of a step that has the latest wall time; if several have it, the one
                   // that came last.
  kTensorBoard,    // V1 or V2, whichever TensorBoard follows when it reads those files.
  kTensorBoardV1,  // Files older than version 2: a summary whose step is before that of the run's
                   // last summary purges its own tags from its step on.
  kTensorBoardV2,  // A start of a session, but for the run's first, purges all tags from its step
                   // on.
  kRustServer,     // A point purges its own tag from its step on, the point of that step too.
  kMindInsight,    // A point purges its step, and larger steps of older files.
};

// Points that came before place `before` and have a step >= `from_step` were purged.
struct Purge {
  std::uint64_t before = 0;
  std::int64_t from_step = 0;
  // By the start of a session (V2), or else by a summary whose step went back (V1).
  bool restart = false;
  // The version of the file that was read is such that TensorBoard follows this rule.
  bool by_version = false;

  bool operator==(const Purge&) const = default;
};

// Whether `policy` follows the rule that asked for this purge.
bool Follows(const Purge& purge, Overlap policy);

// The points from place `first` on are of a file of this age: a larger number is newer.
struct FileSpan {
  std::uint64_t first = 0;
  std::uint32_t age = 0;

  bool operator==(const FileSpan&) const = default;
};

// Places of `steps` (of a series in file order) that `policy` keeps, in the order of steps; equal
// steps stay in file order. `purges` and `parts` are in the order of their places; without parts
// everything is of one file. `wall_times`, of the same points, count for kLastWrite; without any
// all are equal. Takes O(n log n), and 24 bytes a point for the moment.
std::vector<std::uint64_t> KeptPoints(std::span<const std::int64_t> steps,
                                      std::span<const Purge> purges,
                                      std::span<const FileSpan> parts, Overlap policy,
                                      std::span<const double> wall_times = {});

// Marks of one series that the policies need besides its steps; PurgeLog fills them in. 16 bytes
// for a series that comes from one file and in which nothing was purged.
struct SeriesMarks {
  struct Rare {
    std::vector<Purge> purges;
    std::vector<FileSpan> parts;  // One for each time that another file went on.
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
  // Bytes allocated, without the object itself.
  std::size_t Bytes() const;
};

// Follows the events of a run, in the order in which they are read, and marks its series.
class PurgeLog {
 public:
  // All there is to it, to be stored.
  struct State {
    struct Restart {
      std::uint32_t number = 0;
      std::int64_t step = 0;
      bool operator==(const Restart&) const = default;
    };
    double file_version = 0;
    std::int64_t recent_step = -1;    // Step of the newest summary.
    bool started = false;             // The first session has started;
    bool started_by_version = false;  // the first in a file of version 2.
    std::uint32_t restarts = 0;
    // Restarts that no later one of a smaller or equal step hides, by number; each has a larger
    // step than the one before it. All of them, and those TensorBoard follows by the version.
    std::vector<Restart> all;
    std::vector<Restart> by_version;
    bool operator==(const State&) const = default;
  };

  PurgeLog() = default;
  explicit PurgeLog(State state) : state_(std::move(state)) {}
  const State& state() const { return state_; }
  // Bytes allocated, without the object itself.
  std::size_t Bytes() const;

  // A file says its version ("brain.Event:2" is 2); -1 if it says something else.
  void FileVersion(double version) {
    state_.file_version = version;
    is_plain_ = false;
  }
  void SessionStart(std::int64_t step);
  // An event with a summary; before its values are noted.
  void Summary(std::int64_t step) {
    went_back_ = step < state_.recent_step;
    if (went_back_) [[unlikely]]
      GoBack(step);
    state_.recent_step = step;
  }
  // Goes on with what another log has followed from the middle of a file on, which began with
  // ForSecondPart(). False, and nothing is done, if that may purge what came before, or its own
  // points otherwise than behind them: then that part has to be followed anew, behind this one. If
  // true, NoteSecondPart() is due for each series of it.
  bool Append(const PurgeLog& second);
  static PurgeLog ForSecondPart() {
    PurgeLog log;
    log.state_.recent_step = std::numeric_limits<std::int64_t>::max();
    log.is_second_part_ = true;
    return log;
  }
  // Points of a tag that the other log has noted are about to be appended to those of this one.
  void NoteSecondPart(const ScalarSummary& before, std::uint32_t age, SeriesMarks* marks) const;
  // A point of a tag whose summary is `before` until this point is added to it, from a file of this
  // age. (If an event has the tag twice, the second point purges the first under V1, which it does
  // not do in TensorBoard.)
  void Note(const ScalarSummary& before, std::int64_t step, std::uint32_t age,
            SeriesMarks* marks) const {
    if (marks->restarts_seen == state_.restarts && marks->age == age && !went_back_) return;
    NoteRare(before, step, age, marks);
  }
  // Marks what has been purged of a series since its newest point; before its points are asked for.
  void CatchUp(const ScalarSummary& summary, SeriesMarks* marks) const;

 private:
  void NoteRare(const ScalarSummary& before, std::int64_t step, std::uint32_t age,
                SeriesMarks* marks) const;

  // A summary's step is before that of the last one.
  void GoBack(std::int64_t step);

  State state_;
  bool went_back_ = false;
  bool is_plain_ = true;  // No session, no version, and no step that went back.
  bool is_second_part_ = false;
  std::optional<std::int64_t> first_step_;  // Step of the first summary of a second part.
};

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_OVERLAP_POLICY_H_
