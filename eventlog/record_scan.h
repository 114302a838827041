#ifndef EVENTLOG_RECORD_SCAN_H_
#define EVENTLOG_RECORD_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "eventlog/file_faults.h"
#include "eventlog/record.h"

namespace eventlog {

// One pass over the records of a file, piece by piece: verifies every CRC, limits the effect of
// damage, and counts it. TensorBoard (including its Rust server) gives up a file at the first bad
// length, and MindInsight verifies no CRC; here a bad length costs only the bytes up to the next
// header. This applies only to a file that begins with a record, because an archive of event files
// also contains records.

// The position of a pass. All integers, so that an index can store it.
struct RecordPosition {
  enum class State : std::uint8_t {
    kAtRecord,        // A record begins at `offset`, or will.
    kAfterBadLength,  // The next header is being searched, from `offset` on.
    kAfterTooLong,    // The same.
    kSeeking,         // The same, from the middle of a file: skipped bytes are not a fault.
  };
  std::uint64_t offset = 0;  // Bytes from the start of the file.
  State state = State::kAtRecord;
  std::uint64_t began = 0;  // Offset of the first record; not known yet while kSeeking.

  // Returns the position for a pass that begins with the first record at or after `offset`.
  static RecordPosition Seek(std::uint64_t offset) { return {offset, State::kSeeking, 0}; }

  friend bool operator==(const RecordPosition&, const RecordPosition&) = default;
};

// Bytes of a file from a position on.
struct RecordChunk {
  std::string_view data;
  std::uint64_t available = 0;  // Size of the rest of the file; at least data.size().
};

struct RecordLimits {
  std::uint64_t max_payload_bytes = kMaxPayloadBytes;  // A longer record is treated as damage.
  // Records that begin here or later are not read. Two threads can thus read one file: one up to
  // the middle, one from RecordPosition::Seek(middle) on. The parts match if the second one began
  // where the first one ended.
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
};

// Returned by ScanRecords() for a file that does not begin with the header of a record, and so is
// not an event file; larger than any file. The position stays at 0, and the fault is set (not
// counted): a bad length at 0, of all available bytes.
inline constexpr std::size_t kNoRecords = std::numeric_limits<std::size_t>::max();
std::size_t RefuseFile(const RecordChunk& chunk, FileFaults* faults);

// Finds where records continue, from the position on. Returns 0 if found, otherwise like
// ScanRecords().
std::size_t SeekRecord(const RecordLimits& limits, RecordChunk* chunk, RecordPosition* position,
                       FileFaults* faults);
// Advances a position that searches for a header, and counts the skipped bytes if they are a fault.
void PassOver(std::uint64_t bytes, RecordPosition* position, FileFaults* faults);
// Notes the damaged header at the position, so that the search for the next one begins.
void LeaveBadHeader(bool too_long, RecordChunk* chunk, RecordPosition* position,
                    FileFaults* faults);

// Calls `on_record(std::string_view payload, std::uint64_t offset)` for each intact record that is
// completely in the chunk, with the record's offset in the file, and moves the position after it.
// Returns 0 once limits.end is reached, kNoRecords, or the number of bytes from the new position on
// that are needed to continue; if the file has fewer, wait until it grows.
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
