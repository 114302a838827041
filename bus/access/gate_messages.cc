#include "bus/access/gate_messages.h"

#include <memory>

#include "bus/wire/envelope.h"

namespace bus {

Frame EncodeWayLost(const absl::Status& why) {
  msg::EnvelopeT envelope;
  envelope.kind = msg::Kind::Cancel;
  envelope.status = ToWire(why);
  return Encode(envelope);
}

std::optional<absl::Status> WayLost(const msg::Envelope& envelope) {
  if (envelope.kind() != msg::Kind::Cancel || envelope.corr() != 0) return std::nullopt;
  const std::unique_ptr<msg::StatusT> status(
      envelope.status() == nullptr ? nullptr : envelope.status()->UnPack());
  const absl::Status why = FromWire(status.get());
  return why.ok() ? absl::UnavailableError("the gate has ended the connection") : why;
}

}  // namespace bus
