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

// The form of a value's bytes in a file (ValuePlace::form): the value of a summary, as
// eventlog::ReadTensor() and its neighbours take it, or what an event holds instead of a summary.
constexpr std::uint8_t FormOf(eventlog::ValueKind kind) { return static_cast<std::uint8_t>(kind); }
constexpr std::uint8_t FormOf(eventlog::EventKind kind) {
  return static_cast<std::uint8_t>(0x80 | static_cast<std::uint8_t>(kind));
}
// Nothing for the other of the two.
std::optional<eventlog::ValueKind> ValueKindOf(std::uint8_t form);
std::optional<eventlog::EventKind> EventKindOf(std::uint8_t form);

// A file of a run, and how far it was read.
struct RunFileData {
  ListedFile listed;
  std::uint32_t age = 0;  // A larger number is newer, by what names say.
  eventlog::FilePosition position;
  eventlog::FileFaults faults;
  std::uint64_t records = 0;  // Events, sound ones.
  std::uint64_t points = 0;   // And other values.
  std::string version;        // "brain.Event:2"; only the beginning of a text longer than kMaxText.
  std::string writer;
  std::string bad_tag;  // Tag of the first bad value; likewise. Empty if the value had no tag.
  // Why it cannot be read at the moment, naming the path. It is tried again when it is looked at.
  absl::Status problem;
  bool gone = false;  // It is not there any more.

  static constexpr std::size_t kMaxText = 256;

  // It does not begin with a record: no event file (record_scan.h), whatever its name.
  bool IsForeign() const {
    return position.record.offset == 0 && faults.Of(eventlog::FaultKind::kBadLength).count > 0;
  }
  // So much of it needs no reading any more.
  std::uint64_t DoneBytes() const { return IsForeign() ? position.size : position.record.offset; }
};

// The data that were read of a run. Its tags have numbers, in the order in which they were seen; so
// have its files, in no special order. Both stay until the generation rises.
//
// Three things can be known of a run. Listed: nothing but `ListedRun`. Counted: every number here,
// but no point. Cached: every point, in columns, and the place of every other value. A run that is
// cached once had to be counted; points that came while it was not cached are read again, file by
// file in the order in which they were read first, so that places of points never change.
//
// The generation rises if data that were read are not in the files any more: all data are forgotten
// then and read anew, and points have new places, from 0 on. (TensorBoard's readers mix what a
// replaced file holds with what it held; MindInsight reads the run anew without telling.)
//
// Not thread safe: RunCatalog gives it out under the lock of the run.
class RunData {
 public:
  using TagId = eventlog::TagTable::Id;

  // Values that are no scalars.
  struct Values {
    // Covers their steps and times alone; the numbers about values mean nothing.
    ScalarSummary summary;
    SeriesMarks marks;
    std::uint32_t most_blobs = 0;  // In one value, if it is a sequence of blobs (CountBlobs()).
    ValueSeries places;            // In file order. All of them if the run is cached.
  };
  struct Tag {
    const eventlog::TagKind* kind = nullptr;  // Kind of the tag, shared.
    ScalarSummary summary;                    // Summary of all points.
    SeriesMarks marks;
    ScalarColumns points;            // In file order. All of them if the run is cached.
    std::unique_ptr<Values> values;  // Null: none. (Very few tags have both.)

    // Neither; such a tag is not listed.
    bool empty() const { return summary.points == 0 && values == nullptr; }
    std::uint64_t value_count() const { return values == nullptr ? 0 : values->summary.points; }
    // The plugin in its metadata; without metadata "scalars" if the tag has points, else "tensor".
    std::string_view plugin() const;

   private:
    friend class RunData;
    std::unique_ptr<eventlog::TagKind> own_kind_;  // Null: it is shared.
    StepView by_step_;
    std::size_t bytes_ = 0;     // Its share of cached_bytes().
    std::uint32_t round_ = 0;   // Round of the last change.
    std::uint32_t change_ = 0;  // Place in changed_ then.
    bool waited_ = false;       // Values came before its kind was settled.
  };

  explicit RunData(std::uint64_t generation = 0);
  RunData(const RunData&) = delete;
  RunData& operator=(const RunData&) = delete;

  // --- What queries see ---

  // Raised whenever what had been read was replaced; the lane of m/RUN/... .
  std::uint64_t generation() const { return generation_; }
  // All files were read as far as they went, at least once in this generation.
  bool counted() const { return counted_; }
  // It is to have all points in memory, and has them: nothing is missing that was counted.
  bool cached() const { return keeps_points_ && level_ && counted_; }
  bool keeps_points() const { return keeps_points_; }

  // Also empty ones. TagId < tag_count().
  std::size_t tag_count() const { return tags_.size(); }
  const Tag& tag(TagId id) const { return *tags_[id]; }
  std::string_view tag_name(TagId id) const { return names_->name(id); }
  // Nothing if there is no such tag, or it is empty.
  std::optional<TagId> FindTag(std::string_view name) const;
  // Tags that are not empty, in the order of their names. Valid until the data change.
  std::span<const TagId> TagsByName() const;

  std::span<const RunFileData> files() const { return files_; }
  const RunFileData& file(std::uint32_t number) const { return files_[number]; }

  std::uint64_t points() const { return points_; }  // Points of all tags, scalars alone.
  std::uint64_t values() const { return values_; }  // All others.
  // The largest of all points and values; nothing without any.
  std::optional<std::int64_t> last_step() const;
  // Smallest wall time that is finite; NaN if no wall time is finite.
  double start_time() const { return start_time_; }
  std::uint64_t records() const;
  // Records that could not be read, damaged lengths included. A file that is no event file has
  // none.
  std::uint64_t bad_records() const;
  // No damage, and no unfinished record at the end of a file.
  bool intact() const;
  // Bytes of the files, as far as they were read.
  std::uint64_t read_bytes() const;
  // The same, and all of files that are no event files.
  std::uint64_t done_bytes() const;

  // The points of a tag in the order of steps, as `policy` leaves them. Valid until the data
  // change or it is called again for the tag. May copy the points, which counts as cached bytes.
  const ScalarColumns& ByStep(TagId id, Overlap policy);
  // Marks that have caught up, for ValueSeries::Select(). `id` has values.
  const SeriesMarks& ValueMarks(TagId id);

  // Tags came that a run cannot have beside those that it has (TagTable): values of them are left
  // out and counted as those of tags that are too long.
  bool tags_overflowed() const {
    return names_->overflowed() || names_->size() == eventlog::TagTable::kMaxTags;
  }

  // Memory that DropPoints() gives back, and all of it, nearly. In constant time.
  std::size_t cached_bytes() const { return cached_bytes_; }
  std::size_t Bytes() const;

  // --- For the reader of the files (run_files_reader.h) ---

  eventlog::TagTable& names() { return *names_; }
  PurgeLog& purges() { return purges_; }
  const PurgeLog& purges() const { return purges_; }
  std::vector<RunFileData>& mutable_files() { return files_; }
  void set_counted() { counted_ = true; }

  // Forgets what was read; the generation rises. Files stay, but for what was read of them.
  void BeginAnew();
  // From now on points are kept; level() says whether all that was counted is there.
  void KeepPoints();
  // Gives back points and values.
  void DropPoints();
  // False: points and values are counted only, until all that came before has been read again.
  bool level() const { return level_; }
  // Counts are held against what is there. False: the files have changed unnoticed.
  bool SetLevel();

  // Goes on with what was stored of a run (index_file.h), before anything was read; then with its
  // tags in the order of their numbers, with their points if it has them. False: two of a name.
  void BeginFrom(const IndexedRun& run);
  bool TakeTag(const IndexedTag& tag, ScalarColumns points, ValueSeries places);
  // The points and values of a tag that were counted. False: it is another tag.
  bool TakePoints(TagId id, std::string_view name, ScalarColumns points, ValueSeries places);
  // A tag as it is to be stored.
  IndexedTag ToIndex(TagId id) const;

  // Changes stand between these two. EndChanges() adds up memory.
  void BeginChanges(bool collect);
  struct Fresh {
    TagId tag = 0;
    std::uint64_t first = 0;  // So many points of the tag came before.
    std::vector<Point> points;
  };
  // The points that were added since, if BeginChanges() was told to collect them.
  std::vector<Fresh> EndChanges();

  // The kind of a tag after one more value of it.
  const eventlog::TagKind& KindWith(TagId id, const eventlog::SummaryValue& value) {
    while (tags_.size() <= id) [[unlikely]] AddTag();
    Tag& tag = *tags_[id];
    if (!tag.kind->settled) [[unlikely]]
      MergeKind(value, &tag);
    return *tag.kind;
  }
  // Takes the content of a value of the plugin "hparams", where content is all there is to know and
  // the newest counts. Call it before the value is added.
  static constexpr std::string_view kHParamsPlugin = "hparams";
  void TakeNewerContent(TagId id, const eventlog::SummaryValue& value, double wall_time);
  // A point or value that is new. `age`: of its file, larger is newer.
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
  // `blobs`: how many are in it, if it is a sequence of them.
  void AddValue(TagId id, const ValuePlace& value, std::uint32_t age, std::uint32_t blobs = 0);
  // Adds a point that was counted before.
  void AddPointAgain(TagId id, const Point& point) {
    Tag& tag = *tags_[id];
    ChangeOf(id, tag);
    tag.points.Append(point);
  }
  void AddValueAgain(TagId id, const ValuePlace& value);
  // Appends what was read of the next part of a file (run_part.h) into data of its own, whose
  // purges() began with PurgeLog::ForSecondPart(); `age` is the file's. Afterwards everything is as
  // if it had been read into these data. False, and nothing is done, if that cannot be: something
  // there depends on what came before it. Points and values are appended if both keep them.
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
    // Written so that NaN (none so far) gives way.
    if (!(start_time_ <= wall_time) && wall_time - wall_time == 0) start_time_ = wall_time;
  }
  Tag& AddTag();
  void MergeKind(const eventlog::SummaryValue& value, Tag* tag);
  // The same kind that is there already, or this one.
  const eventlog::TagKind* Share(eventlog::TagKind kind);
  // The tag has this one for itself.
  void SetOwnKind(eventlog::TagKind kind, Tag* tag);
  // The tag of a part fits behind what is known of the tag.
  bool Fits(const Tag& part, std::string_view name) const;
  // Adds up the tag's memory anew.
  void Weigh(Tag& tag);

  std::uint64_t generation_;
  bool counted_ = false;
  bool keeps_points_ = false;
  bool level_ = true;
  std::unique_ptr<eventlog::TagTable> names_;
  // By TagId. (To find a place in a deque takes four times the instructions, for each record.)
  std::vector<std::unique_ptr<Tag>> tags_;
  // Kinds that tags share; stay where they are. unsettled_ is that of a tag without metadata.
  const eventlog::TagKind unsettled_;
  std::deque<eventlog::TagKind> kinds_;
  std::size_t kind_bytes_ = 0;
  // Tags by name, all but the empty ones, if it is up to date.
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
