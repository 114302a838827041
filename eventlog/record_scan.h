#ifndef EVENTLOG_RECORD_SCAN_H_
#define EVENTLOG_RECORD_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "eventlog/file_faults.h"
#include "eventlog/record.h"

namespace eventlog {

// One pass over the records of a file, piece by piece: every CRC is checked, damage costs what it
// must and is counted. TensorBoard (its Rust server too) gives up a file at the first bad length,
// and MindInsight looks at no CRC; here a bad length costs what is between it and the next header.
// Only of a file that begins with a record: an archive of event files has records somewhere, too.

// Where a pass is. All integers, so that an index can keep it.
struct RecordPosition {
  enum class State : std::uint8_t {
    kAtRecord,        // A record begins at `offset`, or will.
    kAfterBadLength,  // The next header is looked for, from `offset` on.
    kAfterTooLong,    // The same.
    kSeeking,         // The same, from the middle of a file: what is skipped is no fault.
  };
  std::uint64_t offset = 0;  // Bytes from the start of the file.
  State state = State::kAtRecord;
  std::uint64_t began = 0;  // Where the first record was found; kSeeking: not yet.

  // A pass that begins with the first record at or behind `offset`.
  static RecordPosition Seek(std::uint64_t offset) { return {offset, State::kSeeking, 0}; }

  friend bool operator==(const RecordPosition&, const RecordPosition&) = default;
};

// Bytes of a file from a position on.
struct RecordChunk {
  std::string_view data;
  std::uint64_t available = 0;  // Bytes of the file from there on; at least data.size().
};

struct RecordLimits {
  std::uint64_t max_payload_bytes = kMaxPayloadBytes;  // A longer record is taken for damage.
  // A record that begins here or later is not taken. So a file is read by two threads: one up to
  // the middle, one from RecordPosition::Seek(middle) on. The two parts fit if the second began
  // where the first ended.
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
};

// ScanRecords() returns this for a file that does not begin with the header of a record, and so is
// no event file: more bytes than any file has. The position stays at 0, and the fault is set (not
// counted): a bad length at 0, of all bytes there are.
inline constexpr std::size_t kNoRecords = std::numeric_limits<std::size_t>::max();
std::size_t RefuseFile(const RecordChunk& chunk, FileFaults* faults);

// Finds where records go on, from the position on. 0 if it is found, else as ScanRecords().
std::size_t SeekRecord(const RecordLimits& limits, RecordChunk* chunk, RecordPosition* position,
                       FileFaults* faults);
// Moves a position at which a header is looked for, and counts what is passed over as it must be.
void PassOver(std::uint64_t bytes, RecordPosition* position, FileFaults* faults);
// Notes the damaged header at the position, so that the next one is looked for.
void LeaveBadHeader(bool too_long, RecordChunk* chunk, RecordPosition* position,
                    FileFaults* faults);

// Calls `on_record(std::string_view payload, std::uint64_t offset)` for each sound record that is
// whole in the chunk, with the offset of the record in the file, and moves the position behind it.
// Returns 0 once limits.end is reached, kNoRecords, or how many bytes from the new position on are
// needed to go on; if that is more than the file has, the rest of it is to be waited for.
template <typename OnRecord>
std::size_t ScanRecords(RecordChunk chunk, const RecordLimits& limits, RecordPosition* position,
                        FileFaults* faults, OnRecord&& on_record) {
  using State = ParsedRecord::State;
  for (;;) {
    if (position->state != RecordPosition::State::kAtRecord) [[unlikely]] {
      const std::size_t needed = SeekRecord(limits, &chunk, position, faults);
      if (needed > 0) return needed;
    }
    if (position->offset >= limits.end) return 0;
    const ParsedRecord record = ParseRecord(chunk.data, limits.max_payload_bytes);
    if (record.state == State::kRecord) [[likely]] {
      on_record(record.payload, position->offset);
    } else if (record.state == State::kNeedMore) {
      return record.needed;
    } else if (record.state == State::kBadHeader) {
      if (position->offset == 0 && !record.too_long) return RefuseFile(chunk, faults);
      LeaveBadHeader(record.too_long, &chunk, position, faults);
      continue;
    } else {
      faults->Count(FaultKind::kBadPayload, position->offset, record.size);
    }
    chunk.data.remove_prefix(record.size);
    chunk.available -= record.size;
    position->offset += record.size;
  }
}

}  // namespace eventlog

#endif  // EVENTLOG_RECORD_SCAN_H_
