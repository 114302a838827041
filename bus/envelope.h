#ifndef BUS_ENVELOPE_H_
#define BUS_ENVELOPE_H_

#include <memory>

#include "absl/status/status.h"
#include "bus/frame.h"
#include "bus/schema/envelope_generated.h"

namespace bus {

// An error as it travels. Null for OK.
std::unique_ptr<msg::StatusT> ToWire(const absl::Status& status);
// OK for null and for code 0; Unknown for a code outside of the 16.
absl::Status FromWire(const msg::StatusT* status);

// The message frame of `envelope`.
Frame Encode(const msg::EnvelopeT& envelope);

// Fills in the head of an encoded event, which Encode() has given one.
void SetHead(Frame& frame, const msg::Head& head);

}  // namespace bus

#endif  // BUS_ENVELOPE_H_
