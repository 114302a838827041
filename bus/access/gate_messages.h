#ifndef BUS_ACCESS_GATE_MESSAGES_H_
#define BUS_ACCESS_GATE_MESSAGES_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/frame.h"

namespace bus {

// A gate and its clients exchange the same messages as a service (or the hub) and its clients do,
// but a frame that names the addressee precedes each message of a client:
//
//   a call          client: [SERVICE][envelope]          gate: [envelope], any number of them
//   events          client: ["hub"]["\1" and a prefix]   gate: [topic][envelope]
//                   client: ["hub"]["\0" and a prefix]   (the subscription ends)
//
// A client has one connection for each service, for each stream that it reads, and for each of its
// subscribers. The gate passes on only what the role of the client's key allows; it answers a
// refused envelope with an error.

// The addressee that stands for the event hub.
inline constexpr std::string_view kHubOfGate = "hub";

// Encodes the gate's report that it cannot pass messages on: an envelope that answers no call. The
// client then reconnects. Unavailable: the service does not run; Aborted: the connection to it
// broke, so open requests must be repeated; any other code: the gate refuses the client.
Frame EncodeWayLost(const absl::Status& why);
// Decodes such a report; null if `envelope` is another message.
std::optional<absl::Status> WayLost(const msg::Envelope& envelope);

}  // namespace bus

#endif  // BUS_ACCESS_GATE_MESSAGES_H_
