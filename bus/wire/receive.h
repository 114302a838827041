#ifndef BUS_WIRE_RECEIVE_H_
#define BUS_WIRE_RECEIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"

namespace bus {

inline constexpr unsigned kMaxDepth = 16;
inline constexpr unsigned kMaxTables = 10'000;

// A verified envelope. Valid as long as the bytes from which it was received.
class Received {
 public:
  const msg::Envelope& operator*() const { return *envelope_; }
  const msg::Envelope* operator->() const { return envelope_; }
  // False if this version does not know the body's type; the body must then not be read.
  bool body_known() const;

 private:
  friend absl::StatusOr<Received> Receive(std::span<const std::uint8_t>, std::size_t);
  const msg::Envelope* envelope_ = nullptr;
  std::unique_ptr<std::uint64_t[]> aligned_;  // A copy, if the bytes were not 8-aligned.
};

// The only way from bytes to a message. Checks the size against `limit`, aligns to 8 bytes (by a
// copy if necessary), verifies with kMaxDepth and kMaxTables, and checks the identifier, the range
// of the kind, and the length of names. InvalidArgument says which check failed.
absl::StatusOr<Received> Receive(std::span<const std::uint8_t> bytes, std::size_t limit);

// Reads the kind of a message that was not verified and will not be read further; checks only that
// the field's location is within `bytes`, otherwise returns null. For the hub, which forwards
// messages without understanding them.
std::optional<msg::Kind> PeekKind(std::span<const std::uint8_t> bytes);

}  // namespace bus

#endif  // BUS_WIRE_RECEIVE_H_
