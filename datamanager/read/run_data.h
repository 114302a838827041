#ifndef DATAMANAGER_READ_RUN_DATA_H_
#define DATAMANAGER_READ_RUN_DATA_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/index/index_file.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/scalar_summary.h"
#include "datamanager/series/step_view.h"
#include "datamanager/series/value_series.h"
#include "eventlog/event.h"
#include "eventlog/file_faults.h"
#include "eventlog/file_scan.h"
#include "eventlog/tag_metadata.h"
#include "eventlog/tag_table.h"

namespace datamanager {

// The form of a value's bytes in a file (ValuePlace::form): a summary's value, as
// eventlog::ReadTensor() and the like parse it, or content of an event other than a summary.
constexpr std::uint8_t FormOf(eventlog::ValueKind kind) { return static_cast<std::uint8_t>(kind); }
constexpr std::uint8_t FormOf(eventlog::EventKind kind) {
  return static_cast<std::uint8_t>(0x80 | static_cast<std::uint8_t>(kind));
}
// Return null for a form of the other kind.
std::optional<eventlog::ValueKind> ValueKindOf(std::uint8_t form);
std::optional<eventlog::EventKind> EventKindOf(std::uint8_t form);

// A file of a run, and how far it was read.
struct RunFileData {
  ListedFile listed;
  std::uint32_t age = 0;  // Larger is newer, according to the names.
  eventlog::FilePosition position;
  eventlog::FileFaults faults;
  std::uint64_t records = 0;  // Number of intact events.
  std::uint64_t points = 0;   // Points and other values.
  std::string version;        // "brain.Event:2"; cut to kMaxText.
  std::string writer;
  std::string bad_tag;  // Tag of the first bad value, cut likewise; empty if the value had no tag.
  // Why the file is unreadable at the moment, with its path. Each later scan retries.
  absl::Status problem;
  bool gone = false;  // The file no longer exists.

  static constexpr std::size_t kMaxText = 256;

  // True if the file does not begin with a record: it is not an event file (record_scan.h),
  // whatever its name is.
  bool IsForeign() const {
    return position.record.offset == 0 && faults.Of(eventlog::FaultKind::kBadLength).count > 0;
  }
  // Number of bytes that need not be read any more.
  std::uint64_t DoneBytes() const { return IsForeign() ? position.size : position.record.offset; }
};

// The data that was read of a run. Tags are numbered in the order in which they were seen; files
// are numbered in no particular order. Numbers stay valid until the generation increases.
//
// Knowledge of a run has three stages. Listed: only `ListedRun`. Counted: every number here, but no
// point. Cached: every point, in columns, and the place of every other value. A run must be counted
// before it can be cached; points that arrived while it was not cached are read again, in the order
// in which they were first read, so that positions of points never change.
//
// The generation increases if data that was read is no longer in the files: all data is then
// forgotten and read again, and points get new positions, from 0 on. (TensorBoard's readers mix the
// old and new contents of a replaced file; MindInsight reads the run again without notice.)
//
// Not thread safe: RunCatalog hands it out under the run's lock.
class RunData {
 public:
  using TagId = eventlog::TagTable::Id;

  // Values other than scalars.
  struct Values {
    // Covers only their steps and times; the statistics of values are meaningless.
    ScalarSummary summary;
    SeriesMarks marks;
    std::uint32_t most_blobs = 0;  // In one value, for sequences of blobs (CountBlobs()).
    ValueSeries places;            // In file order; complete if the run is cached.
  };
  struct Tag {
    const eventlog::TagKind* kind = nullptr;  // May be shared.
    ScalarSummary summary;                    // Summary of all points.
    SeriesMarks marks;
    ScalarColumns points;            // In file order; complete if the run is cached.
    std::unique_ptr<Values> values;  // Usually null. (Very few tags have both.)

    // True if the tag has neither; such a tag is not listed.
    bool empty() const { return summary.points == 0 && values == nullptr; }
    std::uint64_t value_count() const { return values == nullptr ? 0 : values->summary.points; }
    // Returns the plugin from its metadata; without metadata "scalars" if the tag has points,
    // otherwise "tensor".
    std::string_view plugin() const;

   private:
    friend class RunData;
    std::unique_ptr<eventlog::TagKind> own_kind_;  // Null: the kind is shared.
    StepView by_step_;
    std::size_t bytes_ = 0;     // Its share of cached_bytes().
    std::uint32_t round_ = 0;   // Round of its last change.
    std::uint32_t change_ = 0;  // Its index in changes_ in that round.
    bool waited_ = false;       // Values arrived before its kind was settled.
  };

  explicit RunData(std::uint64_t generation = 0);
  RunData(const RunData&) = delete;
  RunData& operator=(const RunData&) = delete;

  // --- For queries ---

  // Increases whenever data that was read is replaced; the lane of m/RUN/... .
  std::uint64_t generation() const { return generation_; }
  // True once all files were read to their end in this generation.
  bool counted() const { return counted_; }
  // True if all points should be and are in memory: nothing that was counted is missing.
  bool cached() const { return keeps_points_ && level_ && counted_; }
  bool keeps_points() const { return keeps_points_; }

  // Includes empty tags. TagId < tag_count().
  std::size_t tag_count() const { return tags_.size(); }
  const Tag& tag(TagId id) const { return *tags_[id]; }
  std::string_view tag_name(TagId id) const { return names_->name(id); }
  // Returns null if the tag does not exist or is empty.
  std::optional<TagId> FindTag(std::string_view name) const;
  // Returns the tags that are not empty, by name. Valid until the data changes.
  std::span<const TagId> TagsByName() const;

  std::span<const RunFileData> files() const { return files_; }
  const RunFileData& file(std::uint32_t number) const { return files_[number]; }

  std::uint64_t points() const { return points_; }  // Scalar points of all tags.
  std::uint64_t values() const { return values_; }  // Other values of all tags.
  // Largest step of all points and values; null without any.
  std::optional<std::int64_t> last_step() const;
  // Smallest finite wall time; NaN if no wall time is finite.
  double start_time() const { return start_time_; }
  std::uint64_t records() const;
  // Number of unreadable records, including damaged lengths. A file that is not an event file has
  // none.
  std::uint64_t bad_records() const;
  // True without damage and without an incomplete record at the end of a file.
  bool intact() const;
  // Number of bytes of the files that were read.
  std::uint64_t read_bytes() const;
  // The same, plus all bytes of files that are not event files.
  std::uint64_t done_bytes() const;

  // Returns the points of a tag ordered by step, after applying `policy`. Valid until the data
  // changes or it is called again for the tag. May copy the points, which counts as cached bytes.
  const ScalarColumns& ByStep(TagId id, Overlap policy);
  // Returns up-to-date marks, for ValueSeries::Select(). `id` must have values.
  const SeriesMarks& ValueMarks(TagId id);

  // True if the run has more tags than it may have (TagTable): values of the excess tags are
  // skipped and counted like those of tags whose names are too long.
  bool tags_overflowed() const {
    return names_->overflowed() || names_->size() == eventlog::TagTable::kMaxTags;
  }

  // Approximate memory that DropPoints() would free, and of everything. Constant time.
  std::size_t cached_bytes() const { return cached_bytes_; }
  std::size_t Bytes() const;

  // --- For the reader of the files (run_files_reader.h) ---

  eventlog::TagTable& names() { return *names_; }
  PurgeLog& purges() { return purges_; }
  const PurgeLog& purges() const { return purges_; }
  std::vector<RunFileData>& mutable_files() { return files_; }
  void set_counted() { counted_ = true; }

  // Forgets everything that was read and increases the generation. Keeps the files, but not their
  // progress.
  void BeginAnew();
  // Keeps points from now on; level() says whether all that were counted are in memory.
  void KeepPoints();
  // Frees points and values.
  void DropPoints();
  // False: new points and values are only counted, until all earlier ones were read again.
  bool level() const { return level_; }
  // Compares the counts with the points in memory. Returns false if they differ: the files have
  // changed unnoticed.
  bool SetLevel();

  // BeginFrom() starts from a run's index (index_file.h), before anything was read. TakeTag() then
  // adds its tags in the order of their numbers, with their points if it has them; returns false
  // for a repeated name.
  void BeginFrom(const IndexedRun& run);
  bool TakeTag(const IndexedTag& tag, ScalarColumns points, ValueSeries places);
  // Adds the points and values of a tag that were counted. Returns false if the name is another
  // tag's.
  bool TakePoints(TagId id, std::string_view name, ScalarColumns points, ValueSeries places);
  // Converts a tag for an index.
  IndexedTag ToIndex(TagId id) const;

  // All changes must be made between these two. EndChanges() updates the memory totals.
  void BeginChanges(bool collect);
  struct Fresh {
    TagId tag = 0;
    std::uint64_t first = 0;  // Number of the tag's earlier points.
    std::vector<Point> points;
  };
  // Returns the points added since BeginChanges(), if that call asked to collect them.
  std::vector<Fresh> EndChanges();

  // Returns the kind of a tag after one more value of it.
  const eventlog::TagKind& KindWith(TagId id, const eventlog::SummaryValue& value) {
    while (tags_.size() <= id) [[unlikely]] AddTag();
    Tag& tag = *tags_[id];
    if (!tag.kind->settled) [[unlikely]]
      MergeKind(value, &tag);
    return *tag.kind;
  }
  // Replaces the content with that of a newer value of the plugin "hparams", whose values have only
  // content. Call it before the value is added.
  static constexpr std::string_view kHParamsPlugin = "hparams";
  void TakeNewerContent(TagId id, const eventlog::SummaryValue& value, double wall_time);
  // Adds a new point. `age`: of its file, larger is newer.
  void AddPoint(TagId id, const Point& point, std::uint32_t age) {
    Tag& tag = *tags_[id];
    Change& change = ChangeOf(id, tag);
    purges_.Note(tag.summary, point.step, age, &tag.marks);
    tag.summary.Add(point);
    ++points_;
    NoteStep(point.step, point.wall_time);
    if (keeps_points_ && level_) tag.points.Append(point);
    if (collect_) change.fresh.push_back(point);
  }
  // Adds a new value. `blobs`: number of blobs, if it is a sequence of blobs.
  void AddValue(TagId id, const ValuePlace& value, std::uint32_t age, std::uint32_t blobs = 0);
  // Adds a point that was counted before.
  void AddPointAgain(TagId id, const Point& point) {
    Tag& tag = *tags_[id];
    ChangeOf(id, tag);
    tag.points.Append(point);
  }
  void AddValueAgain(TagId id, const ValuePlace& value);
  // Appends the data of the next part of a file (run_part.h), which was read into a RunData of its
  // own whose purges() began with PurgeLog::ForSecondPart(); `age` is the file's. The result is as
  // if the part had been read into this object. Returns false, and does nothing, if that is
  // impossible, because something in the part depends on earlier data. Points and values are
  // appended if both keep them.
  bool Append(RunData&& part, std::uint32_t age);

 private:
  struct Change {
    TagId tag = 0;
    std::uint64_t first = 0;
    std::vector<Point> fresh;
  };

  Change& ChangeOf(TagId id, Tag& tag) {
    if (tag.round_ != round_) {
      tag.round_ = round_;
      tag.change_ = static_cast<std::uint32_t>(changes_.size());
      if (tag.empty()) sorted_ = false;
      changes_.push_back({id, tag.summary.points, {}});
    }
    return changes_[tag.change_];
  }
  void NoteStep(std::int64_t step, double wall_time) {
    if (step > last_step_) last_step_ = step;
    // Also true for NaN, the initial value.
    if (!(start_time_ <= wall_time) && wall_time - wall_time == 0) start_time_ = wall_time;
  }
  Tag& AddTag();
  void MergeKind(const eventlog::SummaryValue& value, Tag* tag);
  // Returns an equal existing kind, or stores this one.
  const eventlog::TagKind* Share(eventlog::TagKind kind);
  // Gives the tag a kind of its own.
  void SetOwnKind(eventlog::TagKind kind, Tag* tag);
  // True if the tag of a part can follow this run's tag of the same name.
  bool Fits(const Tag& part, std::string_view name) const;
  // Recomputes the tag's memory.
  void Weigh(Tag& tag);

  std::uint64_t generation_;
  bool counted_ = false;
  bool keeps_points_ = false;
  bool level_ = true;
  std::unique_ptr<eventlog::TagTable> names_;
  // By TagId. (A deque would need four times the instructions for each record.)
  std::vector<std::unique_ptr<Tag>> tags_;
  // Kinds that tags share; their addresses are stable. unsettled_ is that of a tag without
  // metadata.
  const eventlog::TagKind unsettled_;
  std::deque<eventlog::TagKind> kinds_;
  std::size_t kind_bytes_ = 0;
  // Non-empty tags by name, if sorted_.
  mutable std::vector<TagId> by_name_;
  mutable bool sorted_ = true;
  std::vector<RunFileData> files_;
  PurgeLog purges_;
  std::uint64_t points_ = 0;
  std::uint64_t values_ = 0;
  std::int64_t last_step_ = std::numeric_limits<std::int64_t>::min();
  double start_time_ = std::numeric_limits<double>::quiet_NaN();
  std::size_t cached_bytes_ = 0;

  bool collect_ = false;
  std::uint32_t round_ = 0;
  std::vector<Change> changes_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_READ_RUN_DATA_H_
