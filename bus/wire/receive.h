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

// A verified envelope. Valid as long as the bytes it was received from.
class Received {
 public:
  const msg::Envelope& operator*() const { return *envelope_; }
  const msg::Envelope* operator->() const { return envelope_; }
  // False: the body is of a type that this version does not know; it must not be touched.
  bool body_known() const;

 private:
  friend absl::StatusOr<Received> Receive(std::span<const std::uint8_t>, std::size_t);
  const msg::Envelope* envelope_ = nullptr;
  std::unique_ptr<std::uint64_t[]> aligned_;  // A copy, if the bytes were not 8-aligned.
};

// The only way from bytes to a message: size within `limit`, 8-aligned (copied if not), verified
// with kMaxDepth and kMaxTables, identifier, kind in range, short texts short. InvalidArgument
// says what is wrong.
absl::StatusOr<Received> Receive(std::span<const std::uint8_t> bytes, std::size_t limit);

// The kind of a message that has not been verified and will not be read: only where it stands is
// checked. Nothing if its place is not within `bytes`. For the hub, which forwards what it need not
// understand.
std::optional<msg::Kind> PeekKind(std::span<const std::uint8_t> bytes);

}  // namespace bus

#endif  // BUS_WIRE_RECEIVE_H_
