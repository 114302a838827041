#include "datamanager/read/run_scan.h"

#include <cstddef>
#include <string_view>

#include "absl/strings/numbers.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/value_series.h"
#include "eventlog/crc32c.h"
#include "eventlog/event.h"
#include "eventlog/file_faults.h"
#include "eventlog/graph_nodes.h"
#include "eventlog/mindspore_event.h"
#include "eventlog/record_scan.h"
#include "eventlog/scalar_scan.h"
#include "eventlog/tag_metadata.h"
#include "eventlog/tag_table.h"
#include "eventlog/value_decoder.h"
#include "runtime/text/string_view.h"

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
using eventlog::SummaryValue;
using eventlog::TagTable;
using eventlog::ValueUse;
using runtime::Absl;

constexpr std::string_view kTaggedRunMetadata = "graph_tagged_run_metadata";
constexpr std::string_view kHParams = RunData::kHParamsPlugin;

// Returns 2 for "brain.Event:2", -1 for any other text.
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

// Adds events of one file to the run's data. kAgain: events that were counted before.
template <bool kAgain>
class Taker {
 public:
  Taker(std::uint32_t number, RunFileData* file, std::vector<bool>* settled, RunData* data)
      : number_(number), file_(file), settled_(settled), data_(*data) {}

  void Take(const ScannedEvent& scanned) {
    const Event& event = scanned.event();
    if constexpr (!kAgain) {
      ++file_->records;
      if (event.kind == EventKind::kSummary) {
        data_.purges().Summary(event.step);
      } else {
        TakeHead(event);
      }
    }
    for (std::size_t i = 0; i < event.values.size(); ++i) {
      const RunData::TagId id = scanned.tags()[i];
      if (id == TagTable::kNone) [[unlikely]]
        continue;
      const SummaryValue& value = event.values[i];
      TakeValue(scanned, id, value, FormOf(value.kind));
    }
    const bool graph = event.kind == EventKind::kGraph || event.kind == EventKind::kMetaGraph ||
                       event.kind == EventKind::kMindSporeGraph;
    if (graph) [[unlikely]] {
      TakeGraph(scanned);
    } else if (event.kind == EventKind::kRunMetadata) [[unlikely]] {
      const auto tagged = eventlog::ReadTaggedRunMetadata(event.bytes);
      const RunData::TagId id = tagged.ok() ? data_.names().Intern(tagged->tag) : TagTable::kNone;
      if (id != TagTable::kNone) {
        const SummaryValue value =
            ImpliedValue(tagged->tag, kTaggedRunMetadata, tagged->run_metadata);
        TakeValue(scanned, id, value, FormOf(event.kind));
      } else if constexpr (!kAgain) {
        file_->faults.Count(FaultKind::kBadValue, scanned.record_offset());
      }
    }
  }

 private:
  // Keeps a graph; takes it out of a MetaGraphDef if necessary.
  void TakeGraph(const ScannedEvent& scanned) {
    const Event& event = scanned.event();
    std::string_view graph = event.bytes;
    if (event.kind == EventKind::kMetaGraph) {
      const auto inside = eventlog::GraphOfMetaGraph(event.bytes);
      if (!inside.ok()) {
        if constexpr (!kAgain) file_->faults.Count(FaultKind::kBadValue, scanned.record_offset());
        return;
      }
      if (inside->empty()) return;
      graph = *inside;
    }
    const SummaryValue value =
        ImpliedValue(eventlog::kRunGraphTag,
                     event.kind == EventKind::kMindSporeGraph ? "graph" : "graphs", graph);
    const RunData::TagId id = data_.names().Intern(value.tag);
    if (id != TagTable::kNone) return TakeValue(scanned, id, value, FormOf(event.kind));
    if constexpr (!kAgain) {
      file_->faults.Count(FaultKind::kTagTooLong, scanned.record_offset(), value.tag.size());
    }
  }
  void TakeHead(const Event& event) {
    if (event.kind == EventKind::kFileVersion) {
      data_.purges().FileVersion(VersionOf(event.file_version));
      file_->version = event.file_version.substr(0, RunFileData::kMaxText);
      file_->writer = event.writer.substr(0, RunFileData::kMaxText);
    } else if (event.kind == EventKind::kSessionLog &&
               event.session_status == eventlog::SessionStatus::kStart) {
      data_.purges().SessionStart(event.step);
    }
  }
  // Never inlined: inlining a rare path would slow down the common one.
  [[gnu::noinline]] void CountBad(RunData::TagId id, std::uint64_t offset) {
    if (file_->faults.Of(FaultKind::kBadValue).count == 0) {
      file_->bad_tag = data_.tag_name(id).substr(0, RunFileData::kMaxText);
    }
    file_->faults.Count(FaultKind::kBadValue, offset);
  }
  [[gnu::noinline]] void TakeContent(RunData::TagId id, const eventlog::TagKind& kind,
                                     const SummaryValue& value, double wall_time) {
    if (kind.plugin == kHParams) data_.TakeNewerContent(id, value, wall_time);
  }
  [[gnu::noinline]] static std::uint32_t BlobsIn(const eventlog::TagKind& kind,
                                                 const SummaryValue& value, std::uint8_t form) {
    if (kind.data_class != DataClass::kBlobSequence) return 0;
    if (EventKindOf(form).has_value()) return 1;
    const std::string_view plugin = kind.plugin;
    return static_cast<std::uint32_t>(
        eventlog::CountBlobs(value.kind, plugin, value.bytes).value_or(0));
  }
  // (A call would cost 30 instructions per record.)
  [[gnu::always_inline]] inline void TakeValue(const ScannedEvent& scanned, RunData::TagId id,
                                               const SummaryValue& value, std::uint8_t form) {
    const eventlog::TagKind* kind = &data_.KindWith(id, value);
    const Event& event = scanned.event();
    if constexpr (kAgain) {
      // Values before the tag's first metadata were used like values of a tag without metadata.
      if (id >= settled_->size()) settled_->resize(id + 1, false);
      if (!(*settled_)[id]) {
        eventlog::TagKind merged;
        eventlog::MergeTagKind(value, &merged);
        (*settled_)[id] = merged.settled;
        if (!merged.settled) kind = &unsettled_;
      }
    }
    switch (UseOf(value, *kind)) {
      case ValueUse::kNothing:
        return;
      case ValueUse::kScalar: {
        const Point point{event.step, event.wall_time, *value.scalar};
        if constexpr (kAgain) {
          data_.AddPointAgain(id, point);
        } else {
          ++file_->points;
          data_.AddPoint(id, point, file_->age);
        }
        return;
      }
      case ValueUse::kValue: {
        ValuePlace place{.step = event.step, .wall_time = event.wall_time};
        place.offset =
            value.bytes.empty() ? scanned.record_offset() : scanned.OffsetOf(value.bytes);
        place.length = static_cast<std::uint32_t>(value.bytes.size());
        place.file = number_;
        place.form = form;
        if constexpr (kAgain) {
          place.crc = eventlog::Crc32c(value.bytes);
          data_.AddValueAgain(id, place);
        } else {
          ++file_->points;
          const std::uint32_t blobs = BlobsIn(*kind, value, form);
          TakeContent(id, *kind, value, event.wall_time);  // It may replace `*kind`.
          if (data_.keeps_points()) place.crc = eventlog::Crc32c(value.bytes);
          data_.AddValue(id, place, file_->age, blobs);
        }
        return;
      }
      case ValueUse::kBad:
        if constexpr (!kAgain) CountBad(id, scanned.record_offset());
        return;
    }
  }

  const std::uint32_t number_;
  RunFileData* const file_;           // Counts new events; null for repeated ones.
  std::vector<bool>* const settled_;  // Null for new events.
  RunData& data_;
  const eventlog::TagKind unsettled_;  // Kind of a tag without metadata.
};

template <typename Take>
eventlog::FileScanResult Scan(const std::string& path, FileKind kind,
                              const eventlog::FileScanOptions& options,
                              eventlog::FilePosition* position, eventlog::ReadBuffer* buffer,
                              FileFaults* faults, TagTable* tags, const Take& take) {
  const auto read_with = [&](auto scan) {
    return eventlog::ScanFile(
        path, options, position, buffer, faults,
        [&](RecordChunk chunk, const RecordLimits& limits, RecordPosition* at,
            FileFaults* chunk_faults) { return scan.Read(chunk, limits, at, chunk_faults, take); });
  };
  if (kind == FileKind::kMindSpore) return read_with(MindSporeScan(tags));
  return read_with(eventlog::ScalarScan(tags));
}

}  // namespace

eventlog::FileScanResult ScanNew(const ScannedFile& which, const eventlog::FileScanOptions& options,
                                 eventlog::ReadBuffer* buffer, RunFileData* file, RunData* data) {
  Taker<false> taker(which.number, file, nullptr, data);
  return Scan(which.path, file->listed.kind, options, &file->position, buffer, &file->faults,
              &data->names(), [&](const ScannedEvent& event) { taker.Take(event); });
}

eventlog::FileScanResult ScanAgain(const ScannedFile& which,
                                   const eventlog::FileScanOptions& options,
                                   eventlog::ReadBuffer* buffer, const ScannedAgain& again,
                                   const RunFileData& file, RunData* data) {
  FileFaults known;  // Ignored: faults were counted the first time.
  Taker<true> taker(which.number, nullptr, again.settled, data);
  return Scan(which.path, file.listed.kind, options, again.position, buffer, &known, &data->names(),
              [&](const ScannedEvent& event) { taker.Take(event); });
}

}  // namespace datamanager
