#include "datamanager/read/run_files_reader.h"

// Always true between two calls:
// - ranges_ covers the bytes read of each file, in the order in which they were read; none is
//   empty.
// - While index_ is set, no file is examined, and data_ has the index's tags before next_tag_, or,
//   if data_ was counted, their points.
// - data_.level(): new points go into the columns at once (if points are kept at all). Otherwise
//   again_ has read the ranges before again_.range, and a part of that one.
// - While parts_ is not empty, its file is in pending_, and was read at most up to the first part,
//   or into it if the part before did not fit.

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/index/index_check.h"
#include "datamanager/read/run_scan.h"
#include "eventlog/record_scan.h"

namespace datamanager {
namespace {

using eventlog::FaultKind;
using eventlog::ScanOutcome;

// The cost of opening a file, in bytes, so that a step of many small files ends too.
constexpr std::uint64_t kBytesOfAFile = 16 << 10;
// The cost of a tag of an index, likewise.
constexpr std::size_t kBytesOfATag = 1 << 10;
// Limit of parts in existence per thread, and limit of parts joined between two steps.
constexpr std::size_t kPartsOfAHand = 2;
constexpr int kJoinedParts = 4;
// Before a file is cut, 1 / kFirstOfAPart of a part is read at its start: that finds the boundaries
// of records, and reads what occurs only at the start of a file.
constexpr std::uint64_t kFirstOfAPart = 16;

// True if events are read from such a file.
bool HoldsEvents(FileKind kind) {
  return kind == FileKind::kTensorBoard || kind == FileKind::kMindSpore;
}

// True for an unreadable file that may become readable; the listing covers files that were removed
// or are not regular.
bool MayBeReadLater(const RunFileData& file) {
  return !file.gone && !file.problem.ok() && !absl::IsInvalidArgument(file.problem) &&
         !absl::IsNotFound(file.problem);
}

// Returns the file's age from the time in its name, to the second; larger is newer.
std::uint32_t AgeOf(const ListedFile& file) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(file.create_us / 1'000'000, 0, kMost));
}

}  // namespace

RunFilesReader::RunFilesReader(ListedRunPtr run, Options options)
    : options_(options), run_(std::move(run)), data_(options.generation) {
  for (const ListedFile& file : run_->files) AddFile(file);
}

std::string RunFilesReader::PathOf(const RunFileData& file) const {
  return absl::StrCat(run_->directory, "/", file.listed.name);
}

void RunFilesReader::AddFile(const ListedFile& listed) {
  const auto number = static_cast<std::uint32_t>(data_.files().size());
  RunFileData& file = data_.mutable_files().emplace_back();
  file.listed = listed;
  file.age = AgeOf(listed);
  numbers_.emplace(listed.name, number);
  if (HoldsEvents(listed.kind)) Enqueue(listed.name, number);
}

void RunFilesReader::Enqueue(const std::string& name, std::uint32_t number) {
  if (!deferred_.contains(name)) pending_.emplace(name, number);
}

void RunFilesReader::ReadDeferred() { pending_.merge(std::exchange(deferred_, {})); }

void RunFilesReader::SetRun(ListedRunPtr run) {
  run_ = std::move(run);
  std::vector<bool> listed(data_.files().size(), false);
  for (const ListedFile& file : run_->files) {
    const auto known = numbers_.find(file.name);
    if (known == numbers_.end()) {
      AddFile(file);
      continue;
    }
    RunFileData& data = data_.mutable_files()[known->second];
    listed[known->second] = true;
    if (data.listed == file && !data.gone) continue;
    data.listed = file;
    data.age = AgeOf(file);
    data.gone = false;
    if (HoldsEvents(file.kind)) Enqueue(file.name, known->second);
  }
  for (std::uint32_t number = 0; number < listed.size(); ++number) {
    RunFileData& file = data_.mutable_files()[number];
    if (listed[number] || file.gone) continue;
    file.gone = true;
    pending_.erase(file.listed.name);
    deferred_.erase(file.listed.name);
    file.faults.Count(FaultKind::kVanished, file.position.record.offset);
    if (file.position.record.offset > 0) begin_anew_ = true;
  }
}

absl::Status RunFilesReader::BeginFrom(IndexReader index) {
  const IndexedRun& run = index.run();
  if (absl::Status status = CheckIndex(run, *run_); !status.ok()) return status;
  data_.BeginFrom(run);
  std::vector<RunFileData>& files = data_.mutable_files();
  files.clear();
  numbers_.clear();
  pending_.clear();
  deferred_.clear();
  for (const IndexedFile& known : run.files) {
    RunFileData& file = files.emplace_back();
    file.listed.name = known.name;
    file.listed.kind = static_cast<FileKind>(known.format);
    file.position = known.position;
    file.faults = eventlog::FileFaults(known.faults);
    file.records = known.records;
    file.points = known.points;
    file.version = known.version.substr(0, RunFileData::kMaxText);
    file.writer = known.writer.substr(0, RunFileData::kMaxText);
    file.bad_tag = known.bad_tag.substr(0, RunFileData::kMaxText);
    file.gone = true;  // SetRun() marks those that exist.
    numbers_.emplace(known.name, files.size() - 1);
  }
  ranges_ = run.ranges;
  SetRun(run_);
  from_index_ = true;
  index_bytes_ = data_.read_bytes();
  next_tag_ = 0;
  index_ = std::move(index);
  return absl::OkStatus();
}

void RunFilesReader::TakePoints(IndexReader index) {
  const IndexedRun& run = index.run();
  const bool wanted = data_.counted() && data_.keeps_points() && !data_.level() &&
                      !index_.has_value() && again_.positions.empty();
  const bool fits = index.whole() && run.generation == data_.generation() &&
                    run.ranges == ranges_ && index.tags().size() == data_.tag_count();
  if (!wanted || !fits) return;
  index_bytes_ = data_.read_bytes();
  next_tag_ = 0;
  index_ = std::move(index);
}

IndexedRun RunFilesReader::ToIndex() const {
  IndexedRun run;
  run.directory = run_->directory;
  run.generation = data_.generation();
  run.start_time = data_.start_time();
  run.ranges = ranges_;
  run.purges = data_.purges().state();
  for (const RunFileData& file : data_.files()) {
    const FileStat& state = file.listed.state;
    // If the listing is older than the data, its time may be too early; the index is then refused
    // rather than wrongly trusted.
    run.files.push_back({.name = file.listed.name,
                         .format = static_cast<std::uint8_t>(file.listed.kind),
                         .modified_ns = state.bytes == file.position.size ? state.modified_ns : 0,
                         .position = file.position,
                         .records = file.records,
                         .points = file.points,
                         .version = file.version,
                         .writer = file.writer,
                         .bad_tag = file.bad_tag,
                         .faults = {file.faults.all().begin(), file.faults.all().end()}});
  }
  return run;
}

void RunFilesReader::RecheckAll() {
  for (const auto& [name, number] : numbers_) {
    const RunFileData& file = data_.file(number);
    if (!file.gone && HoldsEvents(file.listed.kind)) Enqueue(name, number);
  }
}

void RunFilesReader::Recheck(std::span<const std::string> names) {
  for (const std::string& name : names) {
    const auto known = numbers_.find(name);
    if (known == numbers_.end()) continue;
    const RunFileData& file = data_.file(known->second);
    if (!file.gone && HoldsEvents(file.listed.kind)) Enqueue(name, known->second);
  }
}

absl::Status RunFilesReader::Problem() const {
  for (const RunFileData& file : data_.files()) {
    if (MayBeReadLater(file)) return file.problem;
  }
  return absl::OkStatus();
}

absl::Status RunFilesReader::Unreadable() const {
  absl::Status first;
  for (const RunFileData& file : data_.files()) {
    if (file.gone || !HoldsEvents(file.listed.kind)) continue;
    if (file.records > 0 || (file.problem.ok() && !file.IsForeign())) return absl::OkStatus();
    if (!first.ok()) continue;
    first = file.problem.ok() ? absl::DataLossError(absl::StrCat(
                                    run_->directory, "/", file.listed.name,
                                    " is no event file: it does not begin with a record"))
                              : file.problem;
  }
  return first;
}

void RunFilesReader::RecheckProblems() {
  for (const auto& [name, number] : numbers_) {
    if (MayBeReadLater(data_.file(number))) pending_.emplace(name, number);
  }
}

void RunFilesReader::KeepPoints() {
  if (data_.keeps_points()) return;
  data_.KeepPoints();
  again_ = {};
  parts_.Clear();
}

void RunFilesReader::DropPoints() {
  data_.DropPoints();
  if (data_.counted()) index_.reset();
  again_ = {};
  parts_.Clear();
}

std::uint64_t RunFilesReader::total_bytes() const {
  std::uint64_t bytes = 0;
  for (const RunFileData& file : data_.files()) {
    if (!file.gone && HoldsEvents(file.listed.kind)) bytes += file.listed.state.bytes;
  }
  return bytes;
}

bool RunFilesReader::behind() const {
  if (begin_anew_ || index_.has_value() || !data_.counted() || !data_.level()) return true;
  if (has_deferred()) return true;
  return std::any_of(pending_.begin(), pending_.end(), [this](const auto& look) {
    const RunFileData& file = data_.file(look.second);
    const std::uint64_t read = file.DoneBytes();
    // The size is known only once the end was reached.
    return read < file.listed.state.bytes || (read > 0 && file.position.size == 0);
  });
}

RunFilesReader::Step RunFilesReader::ReadOn(eventlog::ReadBuffer* buffer, bool collect) {
  Step step;
  joined_ = 0;
  if (!under_way_) RecheckProblems();
  data_.BeginChanges(collect);
  if (begin_anew_) BeginAnew(&step);
  Budget budget{.left = options_.step_bytes, .collect = collect};
  while (step.status.ok() && budget.left > 0) {
    JoinParts();
    if (WaitsForParts()) break;
    if (index_.has_value()) {
      TakeTags(&budget, &step);
    } else if (!pending_.empty()) {
      ReadNew(buffer, &budget, &step);
    } else if (!data_.counted()) {
      SetCounted(&step);
    } else if (!data_.level()) {
      ReadAgain(buffer, &budget, &step);
    } else {
      break;
    }
  }
  step.fresh = data_.EndChanges();
  step.more = !idle();
  under_way_ = step.more && step.status.ok();
  if (!step.more) step.problem = Problem();
  return step;
}

void RunFilesReader::BeginAnew(Step* step) {
  begin_anew_ = false;
  if (std::exchange(from_index_, false) && step->index.ok()) {
    step->index = absl::FailedPreconditionError(
        absl::StrCat("what was indexed of ", run_->directory, " is not there any more"));
  }
  index_.reset();
  step->anew = true;
  data_.BeginAnew();
  ranges_.clear();
  again_ = {};
  parts_.Clear();
  deferred_.clear();
  searched_ = 0;
  RecheckAll();
}

void RunFilesReader::SetCounted(Step* step) {
  data_.set_counted();
  if (std::exchange(from_index_, false)) step->spared_bytes = index_bytes_;
}

void RunFilesReader::TakeTags(Budget* budget, Step* step) {
  const bool counted = data_.counted();
  const bool with_points = index_->whole() && data_.keeps_points() && (counted || data_.level());
  for (; next_tag_ < index_->tags().size(); ++next_tag_) {
    if (budget->left == 0) return;
    ScalarColumns points;
    ValueSeries places;
    if (with_points) step->index = index_->Read(next_tag_, &points, &places);
    const IndexedTag& tag = index_->tags()[next_tag_];
    const std::size_t bytes = kBytesOfATag + points.Bytes() + places.Bytes();
    budget->left -= std::min<std::uint64_t>(budget->left, bytes);
    if (step->index.ok()) {
      const bool taken = counted ? data_.TakePoints(static_cast<RunData::TagId>(next_tag_),
                                                    tag.name, std::move(points), std::move(places))
                                 : data_.TakeTag(tag, std::move(points), std::move(places));
      if (!taken) step->index = absl::DataLossError(absl::StrCat("a second tag ", tag.name));
    }
    if (step->index.ok()) continue;
    if (!counted) return BeginAnew(step);
    break;
  }
  index_.reset();
  // Points were not in the index, or became wanted after some tags were taken without them.
  if (data_.keeps_points() && !data_.SetLevel()) {
    data_.DropPoints();
    data_.KeepPoints();
  } else if (counted) {
    step->spared_bytes = index_bytes_;
  }
}

void RunFilesReader::ReadNew(eventlog::ReadBuffer* buffer, Budget* budget, Step* step) {
  const auto look = pending_.begin();
  const std::uint32_t number = look->second;
  RunFileData& file = data_.mutable_files()[number];
  const std::uint64_t before = file.position.record.offset;
  eventlog::FileScanOptions options{.step_bytes = budget->left, .open_files = options_.open_files};
  const bool in_parts = !parts_.empty() && number == parts_file_;
  if (in_parts) {
    options.limits.end = parts_.front_begin();
  } else if (options_.hands > 1) {
    // Only up to a record boundary, so that parts can follow; the less is read here, the sooner
    // others can read them.
    std::uint64_t bytes = budget->left;
    if (!budget->collect && BeginsLarge(file)) bytes = std::min(bytes, FirstBytes());
    options.limits.end = before + bytes;
  }
  const eventlog::FileScanResult result =
      ScanNew({PathOf(file), number}, options, buffer, &file, &data_);
  step->read_bytes += result.read_bytes;
  budget->left -= std::min(budget->left, result.read_bytes + kBytesOfAFile);
  NoteRange(number, before);
  if (file.position.record.offset > before) {
    step->modified_us = std::max(step->modified_us, result.modified_ns / 1000);
  }
  const bool searches = file.position.record.state != eventlog::RecordPosition::State::kAtRecord;
  searched_ = searches ? searched_ + result.read_bytes : 0;
  if (Settle(number, result, step)) {
    pending_.erase(look);
    searched_ = 0;
    if (in_parts) parts_.Clear();
  } else if (searched_ >= options_.search_bytes) {
    deferred_.insert(pending_.extract(look));
    searched_ = 0;
    if (in_parts) parts_.Clear();
  } else if (result.more && !budget->collect && parts_.empty()) {
    CutIntoParts(number, result.size);
  }
  if (!begin_anew_) return;
  if (from_index_) {
    step->index = absl::FailedPreconditionError(
        absl::StrCat(PathOf(file), " does not hold any more what was indexed of it"));
  }
  BeginAnew(step);
}

std::uint64_t RunFilesReader::FirstBytes() const {
  return std::max<std::uint64_t>(options_.part_bytes / kFirstOfAPart, 1);
}

bool RunFilesReader::BeginsLarge(const RunFileData& file) const {
  return file.position.record.offset == 0 &&
         file.listed.state.bytes >= 2 * options_.part_bytes + FirstBytes();
}

void RunFilesReader::NoteRange(std::uint32_t number, std::uint64_t before) {
  const std::uint64_t after = data_.file(number).position.record.offset;
  if (after <= before) return;
  // A range that was read again already must not grow.
  const bool next = again_.range == ranges_.size() || ranges_.back().file != number;
  if (next) ranges_.push_back({number, 0});
  ranges_.back().end = after;
}

void RunFilesReader::CutIntoParts(std::uint32_t number, std::uint64_t size) {
  const eventlog::RecordPosition& at = data_.file(number).position.record;
  if (options_.hands == 1 || at.state != eventlog::RecordPosition::State::kAtRecord) return;
  if (size < at.offset + 2 * options_.part_bytes) return;
  parts_file_ = number;
  parts_.Begin({at.offset, size}, options_.part_bytes,
               kPartsOfAHand * static_cast<std::size_t>(options_.hands),
               [this, number](PartQueue<RunPart>::Range range) { return MakePart(number, range); });
}

std::unique_ptr<RunPart> RunFilesReader::MakePart(std::uint32_t number,
                                                  PartQueue<RunPart>::Range range) const {
  const RunFileData& file = data_.file(number);
  return std::make_unique<RunPart>(
      RunPart::Options{.which = {PathOf(file), number},
                       .listed = file.listed,
                       .age = file.age,
                       .begin = range.begin,
                       .end = range.end,
                       .keep_points = data_.keeps_points() && data_.level(),
                       .step_bytes = options_.step_bytes,
                       .open_files = options_.open_files});
}

RunFilesReader::Part RunFilesReader::TakePart() {
  if (joined_ >= kJoinedParts || begin_anew_) return {};
  return parts_.Take();
}

void RunFilesReader::GivePart(Part part) {
  parts_.Give(std::move(part));
  data_.BeginChanges(false);
  JoinParts();
  (void)data_.EndChanges();
}

void RunFilesReader::JoinParts() {
  while (!begin_anew_) {
    RunPart* const part = parts_.Front();
    if (part == nullptr) return;
    RunFileData& file = data_.mutable_files()[parts_file_];
    const std::uint64_t before = file.position.record.offset;
    if (before < parts_.front_begin()) return;  // The bytes before the part are read first.
    if (part->JoinTo(&file, &data_)) NoteRange(parts_file_, before);
    parts_.PopFront();
    ++joined_;
  }
}

bool RunFilesReader::WaitsForParts() const {
  return !parts_.empty() && !pending_.empty() && pending_.begin()->second == parts_file_ &&
         data_.file(parts_file_).position.record.offset >= parts_.front_begin();
}

bool RunFilesReader::Settle(std::uint32_t number, const eventlog::FileScanResult& result,
                            Step* step) {
  RunFileData& file = data_.mutable_files()[number];
  file.problem = result.status;
  switch (result.outcome) {
    case ScanOutcome::kRead:
    case ScanOutcome::kUnchanged:
      return !result.more;
    case ScanOutcome::kShrunk:
    case ScanOutcome::kReplaced:
    case ScanOutcome::kRewritten:
      begin_anew_ = true;
      return true;
    case ScanOutcome::kGone:
      file.gone = true;
      begin_anew_ = file.position.record.offset > 0;
      return true;
    case ScanOutcome::kUnreadable:
      return true;
    case ScanOutcome::kNoDescriptor:
      step->status = result.status;
      return false;
  }
  return true;
}

void RunFilesReader::ReadAgain(eventlog::ReadBuffer* buffer, Budget* budget, Step* step) {
  if (again_.range == ranges_.size()) {
    // The number of points differs from the count: a file has changed unnoticed.
    if (!data_.SetLevel()) BeginAnew(step);
    again_ = {};
    return;
  }
  again_.positions.resize(data_.files().size());
  const IndexedRange range = ranges_[again_.range];
  eventlog::FilePosition& position = again_.positions[range.file];
  const RunFileData& file = data_.file(range.file);
  const eventlog::FileScanResult result = ScanAgain(
      {PathOf(file), range.file},
      {.step_bytes = budget->left, .limits = {.end = range.end}, .open_files = options_.open_files},
      buffer, {&position, &again_.settled}, file, &data_);
  step->read_bytes += result.read_bytes;
  budget->left -= std::min(budget->left, result.read_bytes + kBytesOfAFile);
  switch (result.outcome) {
    case ScanOutcome::kRead:
    case ScanOutcome::kUnchanged:
      if (position.record.offset >= range.end) {
        ++again_.range;
      } else if (!result.more) {
        BeginAnew(step);  // The file has become shorter.
      }
      return;
    case ScanOutcome::kShrunk:
    case ScanOutcome::kReplaced:
    case ScanOutcome::kRewritten:
    case ScanOutcome::kGone:
      // Examining it shows what has happened, and starts the run again.
      deferred_.erase(file.listed.name);
      pending_.emplace(file.listed.name, range.file);
      again_ = {};
      data_.DropPoints();
      data_.KeepPoints();
      return;
    case ScanOutcome::kUnreadable:
    case ScanOutcome::kNoDescriptor:
      step->status = result.status;
      return;
  }
}

}  // namespace datamanager
