#include "datamanager/run_reader.h"

// Always true between two calls:
// - stretches_ covers what was read of each file, in the order in which it was read; none of them
//   is empty.
// - data_.level(): what is new goes into the columns at once (if points are kept at all). If not,
//   again_ has read the stretches before again_.stretch, and that one in part.

#include <algorithm>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "datamanager/columns.h"
#include "datamanager/file_kind.h"
#include "datamanager/value_series.h"
#include "eventlog/crc32c.h"
#include "eventlog/event.h"
#include "eventlog/graph_nodes.h"
#include "eventlog/mindspore_event.h"
#include "eventlog/record_scan.h"
#include "eventlog/tag_metadata.h"
#include "eventlog/tag_table.h"
#include "eventlog/value_decoder.h"
#include "runtime/string_view.h"

namespace datamanager {
namespace {

using eventlog::DataClass;
using eventlog::Event;
using eventlog::EventKind;
using eventlog::FaultKind;
using eventlog::FileFaults;
using eventlog::RecordChunk;
using eventlog::RecordLimits;
using eventlog::RecordPosition;
using eventlog::ScannedEvent;
using eventlog::ScanOutcome;
using eventlog::SummaryValue;
using eventlog::TagTable;
using eventlog::ValueUse;
using runtime::Absl;

// What opening a file is worth in bytes that are read, so that a step of many small files ends too.
constexpr std::uint64_t kBytesOfAFile = 16 << 10;
constexpr std::string_view kTaggedRunMetadata = "graph_tagged_run_metadata";

// Events are read of it.
bool HoldsEvents(FileKind kind) {
  return kind == FileKind::kTensorBoard || kind == FileKind::kMindSpore;
}

// A file is newer than another by what its name says, to the second.
std::uint32_t AgeOf(const ListedFile& file) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(file.create_us / 1'000'000, 0, kMost));
}

// "brain.Event:2" is 2, anything else -1.
double VersionOf(std::string_view text) {
  constexpr std::string_view kPrefix = "brain.Event:";
  double version = -1;
  if (!text.starts_with(kPrefix) ||
      !absl::SimpleAtod(Absl(text.substr(kPrefix.size())), &version)) {
    return -1;
  }
  return version;
}

SummaryValue ImpliedValue(std::string_view tag, std::string_view plugin, std::string_view bytes) {
  SummaryValue value;
  value.tag = tag;
  value.plugin = plugin;
  value.data_class = DataClass::kBlobSequence;
  value.bytes = bytes;
  return value;
}

// Reads MindSpore's events as ScalarScan reads TensorBoard's.
class MindSporeScan {
 public:
  explicit MindSporeScan(TagTable* tags) : tags_(*tags) {}

  template <typename OnEvent>
  std::size_t Read(RecordChunk chunk, const RecordLimits& limits, RecordPosition* position,
                   FileFaults* faults, const OnEvent& on_event) {
    return ScanRecords(chunk, limits, position, faults,
                       [&](std::string_view payload, std::uint64_t offset) {
                         if (!Decode(payload, offset, faults)) return;
                         on_event(ScannedEvent(event_, ids_, payload, offset));
                       });
  }

 private:
  bool Decode(std::string_view payload, std::uint64_t offset, FileFaults* faults) {
    if (payload.empty()) faults->Count(FaultKind::kEmptyPayload, offset);
    if (!eventlog::DecodeMindSporeEvent(payload, &event_).ok()) {
      faults->Count(FaultKind::kNotAnEvent, offset, payload.size());
      return false;
    }
    if (event_.unknown_fields > 0) faults->Count(FaultKind::kUnknownField, offset);
    if (event_.wall_time - event_.wall_time != 0) faults->Count(FaultKind::kBadWallTime, offset);
    ids_.clear();
    for (const SummaryValue& value : event_.values) {
      ids_.push_back(tags_.Intern(eventlog::MindSporeTag(value)));
      if (ids_.back() == TagTable::kNone) {
        faults->Count(FaultKind::kTagTooLong, offset, value.tag.size());
      }
    }
    return true;
  }

  TagTable& tags_;
  Event event_;
  std::vector<TagTable::Id> ids_;
};

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
  const eventlog::FileScanResult result =
      Scan(number, {.step_bytes = budget->left, .open_files = options_.open_files}, &file.position,
           &file.faults, buffer, false);
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
  FileFaults known;  // Counted the first time.
  const eventlog::FileScanResult result = Scan(stretch.file,
                                               {.step_bytes = budget->left,
                                                .limits = {.end = stretch.end},
                                                .open_files = options_.open_files},
                                               &position, &known, buffer, true);
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
      looks_.emplace(data_.file(stretch.file).listed.name, stretch.file);
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

eventlog::FileScanResult RunReader::Scan(std::uint32_t number,
                                         const eventlog::FileScanOptions& options,
                                         eventlog::FilePosition* position, FileFaults* faults,
                                         eventlog::ReadBuffer* buffer, bool again) {
  const RunFileData& file = data_.file(number);
  const auto read_with = [&](auto scan) {
    const auto read = [&](auto on_event) {
      return eventlog::ScanFile(PathOf(file), options, position, buffer, faults,
                                [&](RecordChunk chunk, const RecordLimits& limits,
                                    RecordPosition* at, FileFaults* chunk_faults) {
                                  return scan.Read(chunk, limits, at, chunk_faults, on_event);
                                });
    };
    if (again) return read([&](const ScannedEvent& event) { TakeEvent<true>(number, event); });
    return read([&](const ScannedEvent& event) { TakeEvent<false>(number, event); });
  };
  if (file.listed.kind == FileKind::kMindSpore) return read_with(MindSporeScan(&data_.names()));
  return read_with(eventlog::ScalarScan(&data_.names()));
}

template <bool kAgain>
void RunReader::TakeEvent(std::uint32_t number, const ScannedEvent& scanned) {
  const Event& event = scanned.event();
  if constexpr (!kAgain) {
    ++data_.mutable_files()[number].records;
    if (event.kind == EventKind::kSummary) {
      data_.purges().Summary(event.step);
    } else {
      TakeHead(data_.mutable_files()[number], event);
    }
  }
  for (std::size_t i = 0; i < event.values.size(); ++i) {
    const RunData::TagId id = scanned.tags()[i];
    if (id == TagTable::kNone) [[unlikely]]
      continue;
    const SummaryValue& value = event.values[i];
    TakeValue<kAgain>(number, scanned, id, value, FormOf(value.kind));
  }
  const bool graph = event.kind == EventKind::kGraph || event.kind == EventKind::kMetaGraph ||
                     event.kind == EventKind::kMindSporeGraph;
  if (graph) [[unlikely]] {
    TakeGraph<kAgain>(number, scanned);
  } else if (event.kind == EventKind::kRunMetadata) [[unlikely]] {
    const auto tagged = eventlog::ReadTaggedRunMetadata(event.bytes);
    const RunData::TagId id = tagged.ok() ? data_.names().Intern(tagged->tag) : TagTable::kNone;
    if (id != TagTable::kNone) {
      const SummaryValue value =
          ImpliedValue(tagged->tag, kTaggedRunMetadata, tagged->run_metadata);
      TakeValue<kAgain>(number, scanned, id, value, FormOf(event.kind));
    } else if constexpr (!kAgain) {
      data_.mutable_files()[number].faults.Count(FaultKind::kBadValue, scanned.record_offset());
    }
  }
}

template <bool kAgain>
void RunReader::TakeGraph(std::uint32_t number, const ScannedEvent& scanned) {
  const Event& event = scanned.event();
  std::string_view graph = event.bytes;
  if (event.kind == EventKind::kMetaGraph) {
    const auto inside = eventlog::GraphOfMetaGraph(event.bytes);
    if (!inside.ok()) {
      if constexpr (!kAgain) {
        data_.mutable_files()[number].faults.Count(FaultKind::kBadValue, scanned.record_offset());
      }
      return;
    }
    if (inside->empty()) return;
    graph = *inside;
  }
  const SummaryValue value = ImpliedValue(
      eventlog::kRunGraphTag, event.kind == EventKind::kMindSporeGraph ? "graph" : "graphs", graph);
  TakeValue<kAgain>(number, scanned, data_.names().Intern(value.tag), value, FormOf(event.kind));
}

void RunReader::TakeHead(RunFileData& file, const Event& event) {
  if (event.kind == EventKind::kFileVersion) {
    data_.purges().FileVersion(VersionOf(event.file_version));
    file.version = event.file_version.substr(0, RunFileData::kMaxText);
    file.writer = event.writer.substr(0, RunFileData::kMaxText);
  } else if (event.kind == EventKind::kSessionLog &&
             event.session_status == eventlog::SessionStatus::kStart) {
    data_.purges().SessionStart(event.step);
  }
}

template <bool kAgain>
void RunReader::TakeValue(std::uint32_t number, const ScannedEvent& scanned, RunData::TagId id,
                          const SummaryValue& value, std::uint8_t form) {
  const eventlog::TagKind* kind = &data_.KindWith(id, value);
  const Event& event = scanned.event();
  if constexpr (kAgain) {
    // What came before the tag's first metadata was used as a value of a tag without any.
    if (id >= again_.settled.size()) again_.settled.resize(id + 1, false);
    if (!again_.settled[id]) {
      eventlog::TagKind merged;
      eventlog::MergeTagKind(value, &merged);
      again_.settled[id] = merged.settled;
      if (!merged.settled) kind = &unsettled_;
    }
  }
  RunFileData& file = data_.mutable_files()[number];
  switch (UseOf(value, *kind)) {
    case ValueUse::kNothing:
      return;
    case ValueUse::kScalar: {
      const Point point{event.step, event.wall_time, *value.scalar};
      if constexpr (kAgain) {
        data_.AddPointAgain(id, point);
      } else {
        ++file.points;
        data_.AddPoint(id, point, file.age);
      }
      return;
    }
    case ValueUse::kValue: {
      ValuePlace place{.step = event.step, .wall_time = event.wall_time};
      place.offset = value.bytes.empty() ? scanned.record_offset() : scanned.OffsetOf(value.bytes);
      place.length = static_cast<std::uint32_t>(value.bytes.size());
      place.file = number;
      place.form = form;
      if constexpr (kAgain) {
        place.crc = eventlog::Crc32c(value.bytes);
        data_.AddValueAgain(id, place);
      } else {
        ++file.points;
        if (data_.keeps_points()) place.crc = eventlog::Crc32c(value.bytes);
        data_.AddValue(id, place, file.age);
      }
      return;
    }
    case ValueUse::kBad:
      if constexpr (!kAgain) file.faults.Count(FaultKind::kBadValue, scanned.record_offset());
      return;
  }
}

}  // namespace datamanager
