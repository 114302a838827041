#ifndef BUS_WIRE_ENVELOPE_H_
#define BUS_WIRE_ENVELOPE_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/frame.h"

namespace bus {

// The version of the protocol that this code speaks: it understands messages whose
// Envelope::protocol is not higher. A change that older code would misunderstand raises it, in the
// messages that make use of it.
inline constexpr std::uint16_t kProtocol = 1;

// FailedPrecondition if `envelope` needs a later version: names `what` it is ("the request"),
// both versions, and `self` ("registry", "this program"), which is to be upgraded.
absl::Status CheckProtocol(const msg::Envelope& envelope, std::string_view what,
                           std::string_view self);

// An error as it travels. Null for OK.
std::unique_ptr<msg::StatusT> ToWire(const absl::Status& status);
// OK for null and for code 0; Unknown for a code outside of the 16.
absl::Status FromWire(const msg::StatusT* status);

// The message frame of `envelope`.
Frame Encode(const msg::EnvelopeT& envelope);

// Fills in the head of an encoded event, which Encode() has given one.
void SetHead(Frame& frame, const msg::Head& head);

}  // namespace bus

#endif  // BUS_WIRE_ENVELOPE_H_
