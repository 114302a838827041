#include "datamanager/read/run_data.h"

// Always true:
// - If a tag that is not empty has changed, sorted_ is false until TagsByName() is called.
// - cached_bytes_ is the sum of bytes_ of all tags except those in changes_.
// - With level_ and keeps_points_, tag.points has tag.summary.points points.

#include <algorithm>

namespace datamanager {
namespace {

using eventlog::FaultKind;
using eventlog::TagKind;

// How many kinds are compared to find an equal one; a run has only few, unless each tag has its own
// description.
constexpr std::size_t kKindsCompared = 8;
constexpr std::uint8_t kEventForm = 0x80;

bool Same(const TagKind& a, const TagKind& b) {
  return a.settled == b.settled && a.data_class == b.data_class && a.plugin == b.plugin &&
         a.display_name == b.display_name && a.description == b.description &&
         a.content == b.content && a.implied == b.implied;
}

std::size_t BytesOf(const TagKind& kind) {
  return sizeof(TagKind) + kind.plugin.capacity() + kind.display_name.capacity() +
         kind.description.capacity() + kind.content.capacity();
}

// A node of the tag table's hash map, with its entry.
constexpr std::size_t kTagBytes = sizeof(RunData::Tag) + 64;

}  // namespace

std::optional<eventlog::ValueKind> ValueKindOf(std::uint8_t form) {
  if (form >= kEventForm) return std::nullopt;
  return static_cast<eventlog::ValueKind>(form);
}

std::optional<eventlog::EventKind> EventKindOf(std::uint8_t form) {
  if (form < kEventForm) return std::nullopt;
  return static_cast<eventlog::EventKind>(form & ~kEventForm);
}

std::string_view RunData::Tag::plugin() const {
  if (kind->plugin.empty()) return summary.points > 0 ? "scalars" : "tensor";
  return kind->plugin;
}

RunData::RunData(std::uint64_t generation)
    : generation_(generation), names_(std::make_unique<eventlog::TagTable>()) {}

std::optional<RunData::TagId> RunData::FindTag(std::string_view name) const {
  const TagId id = names_->Find(name);
  if (id >= tags_.size() || tags_[id]->empty()) return std::nullopt;
  return id;
}

std::span<const RunData::TagId> RunData::TagsByName() const {
  if (!std::exchange(sorted_, true)) {
    by_name_.clear();
    for (TagId id = 0; id < tags_.size(); ++id) {
      if (!tags_[id]->empty()) by_name_.push_back(id);
    }
    std::sort(by_name_.begin(), by_name_.end(),
              [&](TagId a, TagId b) { return names_->name(a) < names_->name(b); });
  }
  return by_name_;
}

std::optional<std::int64_t> RunData::last_step() const {
  if (points_ + values_ == 0) return std::nullopt;
  return last_step_;
}

std::uint64_t RunData::records() const {
  std::uint64_t records = 0;
  for (const RunFileData& file : files_) records += file.records;
  return records;
}

std::uint64_t RunData::bad_records() const {
  std::uint64_t bad = 0;
  for (const RunFileData& file : files_) {
    if (file.IsForeign()) continue;
    for (const FaultKind kind : {FaultKind::kBadPayload, FaultKind::kBadLength, FaultKind::kTooLong,
                                 FaultKind::kNotAnEvent}) {
      bad += file.faults.Of(kind).count;
    }
  }
  return bad;
}

bool RunData::intact() const {
  const bool whole = std::all_of(files_.begin(), files_.end(), [](const RunFileData& file) {
    return file.faults.Of(FaultKind::kUnfinishedTail).count == 0 && file.problem.ok();
  });
  return whole && bad_records() == 0;
}

std::uint64_t RunData::read_bytes() const {
  std::uint64_t bytes = 0;
  for (const RunFileData& file : files_) bytes += file.position.record.offset;
  return bytes;
}

std::uint64_t RunData::done_bytes() const {
  std::uint64_t bytes = 0;
  for (const RunFileData& file : files_) bytes += file.DoneBytes();
  return bytes;
}

const ScalarColumns& RunData::ByStep(TagId id, Overlap policy) {
  Tag& tag = *tags_[id];
  purges_.CatchUp(tag.summary, &tag.marks);
  // The marks are ahead of the points, so a view made now must not be extended later.
  if (!level_) tag.by_step_.Drop();
  const ScalarColumns& by_step = tag.by_step_.Get(tag.points, tag.marks, policy);
  Weigh(tag);
  return by_step;
}

const SeriesMarks& RunData::ValueMarks(TagId id) {
  Values& values = *tags_[id]->values;
  purges_.CatchUp(values.summary, &values.marks);
  return values.marks;
}

std::size_t RunData::Bytes() const {
  return cached_bytes_ + tags_.size() * kTagBytes + names_->Bytes() + kind_bytes_ +
         by_name_.capacity() * sizeof(TagId) + files_.capacity() * sizeof(RunFileData) +
         purges_.Bytes();
}

RunData::Tag& RunData::AddTag() {
  tags_.push_back(std::make_unique<Tag>());
  tags_.back()->kind = &unsettled_;
  return *tags_.back();
}

void RunData::BeginAnew() {
  ++generation_;
  counted_ = false;
  level_ = true;
  changes_.clear();
  tags_.clear();
  kinds_.clear();
  kind_bytes_ = 0;
  by_name_ = {};
  sorted_ = true;
  names_ = std::make_unique<eventlog::TagTable>();
  purges_ = PurgeLog();
  points_ = values_ = 0;
  last_step_ = std::numeric_limits<std::int64_t>::min();
  start_time_ = std::numeric_limits<double>::quiet_NaN();
  cached_bytes_ = 0;
  for (RunFileData& file : files_) {
    file.position = {};
    file.faults.ForgetContent();
    file.records = file.points = 0;
    file.version.clear();
    file.writer.clear();
    file.bad_tag.clear();
  }
}

void RunData::KeepPoints() {
  keeps_points_ = true;
  level_ = points_ + values_ == 0;
}

void RunData::DropPoints() {
  keeps_points_ = false;
  level_ = true;
  for (const auto& known : tags_) {
    Tag& tag = *known;
    tag.points = ScalarColumns();
    tag.by_step_.Drop();
    if (tag.values != nullptr) tag.values->places = ValueSeries();
    tag.bytes_ = 0;
  }
  cached_bytes_ = 0;
}

bool RunData::SetLevel() {
  for (const auto& tag : tags_) {
    if (tag->by_step_.Bytes() == 0) continue;
    tag->by_step_.Drop();
    Weigh(*tag);
  }
  level_ = std::all_of(tags_.begin(), tags_.end(), [](const auto& tag) {
    return tag->points.size() == tag->summary.points &&
           (tag->values == nullptr || tag->values->places.size() == tag->values->summary.points);
  });
  return level_;
}

void RunData::BeginFrom(const IndexedRun& run) {
  generation_ = std::max(generation_, run.generation);
  start_time_ = run.start_time;
  purges_ = PurgeLog(run.purges);
}

bool RunData::TakeTag(const IndexedTag& from, ScalarColumns points, ValueSeries places) {
  if (names_->Intern(from.name) != tags_.size()) return false;
  Tag& tag = AddTag();
  if (from.settled) {
    tag.kind = Share({.plugin = from.plugin,
                      .data_class = static_cast<eventlog::DataClass>(from.data_class),
                      .display_name = from.display_name,
                      .description = from.description,
                      .content = from.content,
                      .settled = true,
                      .implied = from.implied});
  }
  tag.summary = from.summary;
  tag.marks = from.marks.Copy();
  tag.points = std::move(points);
  points_ += tag.summary.points;
  if (tag.summary.points > 0) last_step_ = std::max(last_step_, tag.summary.last_step);
  if (from.value_summary.points > 0) {
    tag.values = std::make_unique<Values>();
    tag.values->summary = from.value_summary;
    tag.values->marks = from.value_marks.Copy();
    tag.values->most_blobs = from.most_blobs;
    tag.values->places = std::move(places);
    values_ += from.value_summary.points;
    last_step_ = std::max(last_step_, from.value_summary.last_step);
  }
  sorted_ = false;
  Weigh(tag);
  return true;
}

bool RunData::TakePoints(TagId id, std::string_view name, ScalarColumns points,
                         ValueSeries places) {
  if (id >= tags_.size() || names_->name(id) != name) return false;
  Tag& tag = *tags_[id];
  tag.points = std::move(points);
  if (tag.values != nullptr) tag.values->places = std::move(places);
  Weigh(tag);
  return true;
}

IndexedTag RunData::ToIndex(TagId id) const {
  const Tag& tag = *tags_[id];
  IndexedTag index;
  index.name = names_->name(id);
  index.plugin = tag.kind->plugin;
  index.data_class = static_cast<std::int32_t>(tag.kind->data_class);
  index.display_name = tag.kind->display_name;
  index.description = tag.kind->description;
  index.content = tag.kind->content;
  index.settled = tag.kind->settled;
  index.implied = tag.kind->implied;
  index.summary = tag.summary;
  index.marks = tag.marks.Copy();
  if (tag.values != nullptr) {
    index.value_summary = tag.values->summary;
    index.value_marks = tag.values->marks.Copy();
    index.most_blobs = tag.values->most_blobs;
  }
  return index;
}

void RunData::BeginChanges(bool collect) {
  collect_ = collect;
  changes_.clear();
  ++round_;
}

std::vector<RunData::Fresh> RunData::EndChanges() {
  std::vector<Fresh> fresh;
  for (Change& change : changes_) {
    Weigh(*tags_[change.tag]);
    if (change.fresh.empty()) continue;
    fresh.push_back({change.tag, change.first, std::move(change.fresh)});
  }
  changes_.clear();
  ++round_;
  return fresh;
}

void RunData::TakeNewerContent(TagId id, const eventlog::SummaryValue& value, double wall_time) {
  Tag& tag = *tags_[id];
  if (tag.values != nullptr && !IsNotEarlier(wall_time, tag.values->summary.last_time)) return;
  TagKind newer;
  eventlog::MergeTagKind(value, &newer);
  const bool is_other = newer.plugin == kHParamsPlugin && !newer.content.empty() &&
                        newer.content != tag.kind->content;
  if (is_other) SetOwnKind(std::move(newer), &tag);
}

void RunData::AddValue(TagId id, const ValuePlace& value, std::uint32_t age, std::uint32_t blobs) {
  Tag& tag = *tags_[id];
  ChangeOf(id, tag);
  if (tag.values == nullptr) tag.values = std::make_unique<Values>();
  Values& values = *tag.values;
  purges_.Note(values.summary, value.step, age, &values.marks);
  values.summary.Add({value.step, value.wall_time, 0});
  values.most_blobs = std::max(values.most_blobs, blobs);
  ++values_;
  NoteStep(value.step, value.wall_time);
  if (keeps_points_ && level_) values.places.Append(value);
}

void RunData::AddValueAgain(TagId id, const ValuePlace& value) {
  Tag& tag = *tags_[id];
  ChangeOf(id, tag);
  if (tag.values == nullptr) tag.values = std::make_unique<Values>();
  tag.values->places.Append(value);
}

bool RunData::Append(RunData&& part, std::uint32_t age) {
  if (!names_->HasRoomFor(*part.names_)) return false;
  for (TagId id = 0; id < part.tags_.size(); ++id) {
    if (!Fits(*part.tags_[id], part.tag_name(id))) return false;
  }
  if (!purges_.Append(part.purges_)) return false;
  const bool keep = keeps_points_ && level_ && part.keeps_points_;
  for (TagId from = 0; from < part.tags_.size(); ++from) {
    Tag& more = *part.tags_[from];
    const TagId id = names_->Intern(part.tag_name(from));
    while (tags_.size() <= id) AddTag();
    Tag& tag = *tags_[id];
    if (!tag.kind->settled && more.kind->settled) tag.kind = Share(*more.kind);
    if (more.empty()) continue;
    ChangeOf(id, tag);
    if (more.summary.points > 0) {
      purges_.NoteSecondPart(tag.summary, age, &tag.marks);
      tag.summary.Append(more.summary);
      if (keep) tag.points.Append(std::move(more.points));
    }
    if (more.values == nullptr) continue;
    if (tag.values == nullptr) tag.values = std::make_unique<Values>();
    Values& values = *tag.values;
    const bool newer = values.summary.points == 0 ||
                       IsNotEarlier(more.values->summary.last_time, values.summary.last_time);
    if (newer && more.kind->plugin == kHParamsPlugin && more.kind->content != tag.kind->content) {
      SetOwnKind(*more.kind, &tag);
    }
    purges_.NoteSecondPart(values.summary, age, &values.marks);
    values.summary.Append(more.values->summary);
    values.most_blobs = std::max(values.most_blobs, more.values->most_blobs);
    if (!keep) continue;
    for (const ValuePlace& place : more.values->places.all()) values.places.Append(place);
  }
  points_ += part.points_;
  values_ += part.values_;
  NoteStep(part.last_step_, part.start_time_);
  return true;
}

bool RunData::Fits(const Tag& part, std::string_view name) const {
  const TagId id = names_->Find(name);
  if (id >= tags_.size() || !tags_[id]->kind->settled) return true;  // Takes the part's kind.
  if (part.waited_) return false;
  // The first metadata wins, but values are used according to the class alone.
  return !part.kind->settled || part.kind->data_class == tags_[id]->kind->data_class;
}

void RunData::MergeKind(const eventlog::SummaryValue& value, Tag* tag) {
  TagKind merged;
  eventlog::MergeTagKind(value, &merged);
  if (merged.settled) {
    tag->kind = Share(std::move(merged));
  } else {
    tag->waited_ = true;
  }
}

const TagKind* RunData::Share(TagKind kind) {
  const std::size_t compared = std::min(kinds_.size(), kKindsCompared);
  for (std::size_t i = kinds_.size() - compared; i < kinds_.size(); ++i) {
    if (Same(kinds_[i], kind)) return &kinds_[i];
  }
  kind_bytes_ += BytesOf(kind);
  kinds_.push_back(std::move(kind));
  return &kinds_.back();
}

void RunData::SetOwnKind(TagKind kind, Tag* tag) {
  if (tag->own_kind_ != nullptr) kind_bytes_ -= BytesOf(*tag->own_kind_);
  tag->own_kind_ = std::make_unique<TagKind>(std::move(kind));
  kind_bytes_ += BytesOf(*tag->own_kind_);
  tag->kind = tag->own_kind_.get();
}

void RunData::Weigh(Tag& tag) {
  const std::size_t values = tag.values == nullptr ? 0 : tag.values->places.Bytes();
  const std::size_t bytes = tag.points.Bytes() + tag.by_step_.Bytes() + values;
  cached_bytes_ += bytes - tag.bytes_;
  tag.bytes_ = bytes;
}

}  // namespace datamanager
