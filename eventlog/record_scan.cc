#include "eventlog/record_scan.h"

namespace eventlog {
namespace {

using State = RecordPosition::State;

void Skip(std::size_t bytes, RecordChunk* chunk, RecordPosition* position, FileFaults* faults) {
  chunk->data.remove_prefix(bytes);
  chunk->available -= bytes;
  PassOver(bytes, position, faults);
}

}  // namespace

void PassOver(std::uint64_t bytes, RecordPosition* position, FileFaults* faults) {
  position->offset += bytes;
  if (position->state == State::kSeeking || bytes == 0) return;
  faults->AddBytes(
      position->state == State::kAfterTooLong ? FaultKind::kTooLong : FaultKind::kBadLength, bytes);
}

std::size_t RefuseFile(const RecordChunk& chunk, FileFaults* faults) {
  faults->Set(FaultKind::kBadLength, 0, chunk.available);
  return kNoRecords;
}

std::size_t SeekRecord(const RecordLimits& limits, RecordChunk* chunk, RecordPosition* position,
                       FileFaults* faults) {
  const HeaderSearch search = FindHeader(chunk->data, chunk->available, limits.max_payload_bytes);
  Skip(search.offset, chunk, position, faults);
  switch (search.state) {
    case HeaderSearch::State::kNeedMore:
      return search.needed;
    case HeaderSearch::State::kNone:
      return kRecordHeaderBytes;
    case HeaderSearch::State::kFound:
      break;
  }
  if (position->state == State::kSeeking) position->began = position->offset;
  position->state = State::kAtRecord;
  return 0;
}

void LeaveBadHeader(bool too_long, RecordChunk* chunk, RecordPosition* position,
                    FileFaults* faults) {
  faults->Count(too_long ? FaultKind::kTooLong : FaultKind::kBadLength, position->offset);
  position->state = too_long ? State::kAfterTooLong : State::kAfterBadLength;
  Skip(1, chunk, position, faults);
}

}  // namespace eventlog
