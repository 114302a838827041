#include "eventlog/scalar_scan.h"

#include <cmath>

#include "eventlog/scalar_event.h"

namespace eventlog {
namespace {

// The memory of an event with more values is freed: 100 bytes a value.
constexpr std::size_t kKeptValues = 10'000;

}  // namespace

bool ScalarScan::Decode(std::string_view payload, std::uint64_t offset, FileFaults* faults) {
  if (!DecodeScalarEvent(payload, &event_) && !DecodeAnything(payload, offset, faults)) {
    return false;
  }
  ++events_;
  if (!std::isfinite(event_.wall_time)) [[unlikely]] {
    faults->Count(FaultKind::kBadWallTime, offset);
  }
  ids_.clear();
  for (const SummaryValue& value : event_.values) {
    const TagTable::Id id = tags_->Intern(value.tag);
    if (id == TagTable::kNone) [[unlikely]] {
      faults->Count(FaultKind::kTagTooLong, offset, value.tag.size());
    }
    ids_.push_back(id);
  }
  return true;
}

bool ScalarScan::DecodeAnything(std::string_view payload, std::uint64_t offset,
                                FileFaults* faults) {
  if (payload.empty()) faults->Count(FaultKind::kEmptyPayload, offset);
  if (!DecodeEvent(payload, &event_).ok()) {
    faults->Count(FaultKind::kNotAnEvent, offset, payload.size());
    return false;
  }
  if (event_.unknown_fields > 0) faults->Count(FaultKind::kUnknownField, offset);
  return true;
}

void ScalarScan::Trim() {
  if (event_.values.capacity() <= kKeptValues) return;
  event_.Clear();
  event_.values.shrink_to_fit();
  ids_ = {};
}

}  // namespace eventlog
