#ifndef EVENTLOG_TESTING_SAME_EVENT_H_
#define EVENTLOG_TESTING_SAME_EVENT_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

#include "eventlog/event.h"

namespace eventlog {

// True if two decoded events of one payload are identical to the last bit: NaN equals the same NaN,
// and a view equals a view of the same place; all empty views are equal.
inline bool SamePlace(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.empty() || a.data() == b.data());
}

inline bool SameNumber(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

inline bool SameValue(const SummaryValue& a, const SummaryValue& b) {
  return SamePlace(a.tag, b.tag) && SamePlace(a.plugin, b.plugin) && a.data_class == b.data_class &&
         SamePlace(a.metadata, b.metadata) && a.kind == b.kind &&
         a.scalar.has_value() == b.scalar.has_value() &&
         SameNumber(a.scalar.value_or(0), b.scalar.value_or(0)) && SamePlace(a.bytes, b.bytes) &&
         a.shaped == b.shaped;
}

inline bool SameEvent(const Event& a, const Event& b) {
  return SameNumber(a.wall_time, b.wall_time) && a.step == b.step && a.kind == b.kind &&
         SamePlace(a.file_version, b.file_version) && SamePlace(a.writer, b.writer) &&
         a.session_status == b.session_status && SamePlace(a.bytes, b.bytes) &&
         a.unknown_fields == b.unknown_fields &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), SameValue);
}

}  // namespace eventlog

#endif  // EVENTLOG_TESTING_SAME_EVENT_H_
