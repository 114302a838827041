#ifndef BUS_WIRE_ENVELOPE_H_
#define BUS_WIRE_ENVELOPE_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/frame.h"

namespace bus {

// The protocol version of this code, which understands messages whose Envelope::protocol is not
// higher. A change that older code would misunderstand gets a higher version, in the messages that
// use it.
inline constexpr std::uint16_t kProtocol = 1;

// Returns FailedPrecondition if `envelope` needs a later version. The error names `what` the
// envelope is ("the request"), both versions, and `self` ("registry", "this program"), which must
// be upgraded.
absl::Status CheckProtocol(const msg::Envelope& envelope, std::string_view what,
                           std::string_view self);

// Converts an error for a message; null for OK.
std::unique_ptr<msg::StatusT> ToWire(const absl::Status& status);
// Converts back: OK for null and for code 0; Unknown for a code outside the 16.
absl::Status FromWire(const msg::StatusT* status);

// Encodes `envelope` as a message frame.
Frame Encode(const msg::EnvelopeT& envelope);

// Fills in the head of an encoded event; Encode() must have written a head.
void SetHead(Frame& frame, const msg::Head& head);

}  // namespace bus

#endif  // BUS_WIRE_ENVELOPE_H_
