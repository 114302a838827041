#ifndef EVENTLOG_SCALAR_SCAN_H_
#define EVENTLOG_SCALAR_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/file_faults.h"
#include "eventlog/record.h"
#include "eventlog/record_scan.h"
#include "eventlog/tag_table.h"

namespace eventlog {

// An event from a scan, with the numbers of its tags. Valid during the call.
class ScannedEvent {
 public:
  ScannedEvent(const Event& event, std::span<const TagTable::Id> tags, std::string_view payload,
               std::uint64_t record_offset)
      : event_(event), tags_(tags), payload_(payload), record_offset_(record_offset) {}

  const Event& event() const { return event_; }
  // The tags of event().values; TagTable::kNone for a tag whose name is too long: skip such a
  // value.
  std::span<const TagTable::Id> tags() const { return tags_; }
  std::uint64_t record_offset() const { return record_offset_; }
  // Returns the offset in the file at which a view of the event begins.
  std::uint64_t OffsetOf(std::string_view part) const {
    return record_offset_ + kRecordHeaderBytes +
           static_cast<std::uint64_t>(part.data() - payload_.data());
  }

 private:
  const Event& event_;
  const std::span<const TagTable::Id> tags_;
  const std::string_view payload_;
  const std::uint64_t record_offset_;
};

// Reads the events of TensorBoard files in one pass: frame, CRC, event, tag numbers. A fast path
// decodes plain scalars, DecodeEvent() all other events; the results are the same. Not thread safe:
// use one per thread, for any number of files of a run.
//
// A fault affects only its own event: a payload that is not an event is counted and skipped; an
// empty event, or one with unknown fields or a wall time that is not finite, is counted and handed
// out.
class ScalarScan {
 public:
  // `tags` is not owned.
  explicit ScalarScan(TagTable* tags) : tags_(tags) {}

  // Like ScanRecords(), but with `on_event(const ScannedEvent&)`.
  template <typename OnEvent>
  std::size_t Read(RecordChunk chunk, const RecordLimits& limits, RecordPosition* position,
                   FileFaults* faults, OnEvent&& on_event) {
    const std::size_t needed = ScanRecords(chunk, limits, position, faults,
                                           [&](std::string_view payload, std::uint64_t offset) {
                                             if (!Decode(payload, offset, faults)) return;
                                             on_event(ScannedEvent(event_, ids_, payload, offset));
                                           });
    Trim();
    return needed;
  }

  // Number of events handed out since construction.
  std::uint64_t events() const { return events_; }

 private:
  // Returns false if the payload is not an event.
  bool Decode(std::string_view payload, std::uint64_t offset, FileFaults* faults);
  bool DecodeAnything(std::string_view payload, std::uint64_t offset, FileFaults* faults);
  // Frees the memory of an unusually large event.
  void Trim();

  TagTable* const tags_;
  Event event_;
  std::vector<TagTable::Id> ids_;
  std::uint64_t events_ = 0;
};

}  // namespace eventlog

#endif  // EVENTLOG_SCALAR_SCAN_H_
