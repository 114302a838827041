#include "datamanager/run_reader.h"

// Always true between two calls:
// - stretches_ covers what was read of each file, in the order in which it was read; none of them
//   is empty.
// - data_.level(): what is new goes into the columns at once (if points are kept at all). If not,
//   again_ has read the stretches before again_.stretch, and that one in part.

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "datamanager/file_kind.h"
#include "datamanager/run_scan.h"

namespace datamanager {
namespace {

using eventlog::FaultKind;
using eventlog::ScanOutcome;

// What opening a file is worth in bytes that are read, so that a step of many small files ends too.
constexpr std::uint64_t kBytesOfAFile = 16 << 10;

// Events are read of it.
bool HoldsEvents(FileKind kind) {
  return kind == FileKind::kTensorBoard || kind == FileKind::kMindSpore;
}

// A file is newer than another by what its name says, to the second.
std::uint32_t AgeOf(const ListedFile& file) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(file.create_us / 1'000'000, 0, kMost));
}

}  // namespace

RunReader::RunReader(ListedRunPtr run, Options options)
    : options_(options), run_(std::move(run)), data_(options.generation) {
  for (const ListedFile& file : run_->files) AddFile(file);
}

std::string RunReader::PathOf(const RunFileData& file) const {
  return absl::StrCat(run_->directory, "/", file.listed.name);
}

void RunReader::AddFile(const ListedFile& listed) {
  const auto number = static_cast<std::uint32_t>(data_.files().size());
  RunFileData& file = data_.mutable_files().emplace_back();
  file.listed = listed;
  file.age = AgeOf(listed);
  numbers_.emplace(listed.name, number);
  if (HoldsEvents(listed.kind)) looks_.emplace(listed.name, number);
}

void RunReader::SetRun(ListedRunPtr run) {
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
    if (HoldsEvents(file.kind)) looks_.emplace(file.name, known->second);
  }
  for (std::uint32_t number = 0; number < listed.size(); ++number) {
    RunFileData& file = data_.mutable_files()[number];
    if (listed[number] || file.gone) continue;
    file.gone = true;
    looks_.erase(file.listed.name);
    file.faults.Count(FaultKind::kVanished, file.position.record.offset);
    if (file.position.record.offset > 0) begin_anew_ = true;
  }
}

void RunReader::LookAtAll() {
  for (const auto& [name, number] : numbers_) {
    const RunFileData& file = data_.file(number);
    if (!file.gone && HoldsEvents(file.listed.kind)) looks_.emplace(name, number);
  }
}

void RunReader::LookAt(std::span<const std::string> names) {
  for (const std::string& name : names) {
    const auto known = numbers_.find(name);
    if (known == numbers_.end()) continue;
    const RunFileData& file = data_.file(known->second);
    if (!file.gone && HoldsEvents(file.listed.kind)) looks_.emplace(name, known->second);
  }
}

void RunReader::KeepPoints() {
  if (data_.keeps_points()) return;
  data_.KeepPoints();
  again_ = {};
}

void RunReader::DropPoints() {
  data_.DropPoints();
  again_ = {};
}

std::uint64_t RunReader::total_bytes() const {
  std::uint64_t bytes = 0;
  for (const RunFileData& file : data_.files()) {
    if (!file.gone && HoldsEvents(file.listed.kind)) bytes += file.listed.state.bytes;
  }
  return bytes;
}

RunReader::Step RunReader::ReadOn(eventlog::ReadBuffer* buffer, bool collect) {
  Step step;
  data_.BeginChanges(collect);
  if (begin_anew_) BeginAnew(&step);
  Budget budget{.left = options_.step_bytes};
  while (step.status.ok() && budget.left > 0) {
    if (!looks_.empty()) {
      ReadNew(buffer, &budget, &step);
    } else if (!data_.counted()) {
      data_.set_counted();
    } else if (!data_.level()) {
      ReadAgain(buffer, &budget, &step);
    } else {
      break;
    }
  }
  step.fresh = data_.EndChanges();
  step.more = !idle();
  return step;
}

void RunReader::BeginAnew(Step* step) {
  begin_anew_ = false;
  step->anew = true;
  data_.BeginAnew();
  stretches_.clear();
  again_ = {};
  LookAtAll();
}

void RunReader::ReadNew(eventlog::ReadBuffer* buffer, Budget* budget, Step* step) {
  const auto look = looks_.begin();
  const std::uint32_t number = look->second;
  RunFileData& file = data_.mutable_files()[number];
  const std::uint64_t before = file.position.record.offset;
  const eventlog::FileScanResult result = ScanNew(
      {PathOf(file), number}, {.step_bytes = budget->left, .open_files = options_.open_files},
      buffer, &file, &data_);
  step->read_bytes += result.read_bytes;
  budget->left -= std::min(budget->left, result.read_bytes + kBytesOfAFile);
  const std::uint64_t after = file.position.record.offset;
  if (after > before) {
    // One that was read again already does not grow.
    const bool next = again_.stretch == stretches_.size() || stretches_.back().file != number;
    if (next) stretches_.push_back({number, 0});
    stretches_.back().end = after;
  }
  if (Settle(number, result, step)) looks_.erase(look);
  if (begin_anew_) BeginAnew(step);
}

bool RunReader::Settle(std::uint32_t number, const eventlog::FileScanResult& result, Step* step) {
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

void RunReader::ReadAgain(eventlog::ReadBuffer* buffer, Budget* budget, Step* step) {
  if (again_.stretch == stretches_.size()) {
    // More or fewer points than were counted: a file has changed and was not noticed.
    if (!data_.SetLevel()) BeginAnew(step);
    again_ = {};
    return;
  }
  again_.positions.resize(data_.files().size());
  const Stretch stretch = stretches_[again_.stretch];
  eventlog::FilePosition& position = again_.positions[stretch.file];
  const RunFileData& file = data_.file(stretch.file);
  const eventlog::FileScanResult result =
      ScanAgain({PathOf(file), stretch.file},
                {.step_bytes = budget->left,
                 .limits = {.end = stretch.end},
                 .open_files = options_.open_files},
                buffer, {&position, &again_.settled}, file, &data_);
  step->read_bytes += result.read_bytes;
  budget->left -= std::min(budget->left, result.read_bytes + kBytesOfAFile);
  switch (result.outcome) {
    case ScanOutcome::kRead:
    case ScanOutcome::kUnchanged:
      if (position.record.offset >= stretch.end) {
        ++again_.stretch;
      } else if (!result.more) {
        BeginAnew(step);  // It has become shorter.
      }
      return;
    case ScanOutcome::kShrunk:
    case ScanOutcome::kReplaced:
    case ScanOutcome::kRewritten:
    case ScanOutcome::kGone:
      // Looking at it says what has happened, and begins anew.
      looks_.emplace(file.listed.name, stretch.file);
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
