#ifndef BUS_ACCESS_GATE_MESSAGES_H_
#define BUS_ACCESS_GATE_MESSAGES_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/frame.h"

namespace bus {

// The messages between a gate and its clients are those between a service, or the hub, and its own,
// and one frame before them that names whom they are for:
//
//   a call          client: [SERVICE][envelope]          gate: [envelope], any number of them
//   events          client: ["hub"]["\1" and a prefix]   gate: [topic][envelope]
//                   client: ["hub"]["\0" and a prefix]   (the subscription ends)
//
// A client has a connection for each service, for each stream that it reads, and for each of its
// subscribers. The gate passes on only what the role of the client's key allows; an envelope that
// it refuses is answered with an error.

// The name that stands for the event hub.
inline constexpr std::string_view kHubOfGate = "hub";

// A gate that cannot pass messages on says so with an envelope that answers no call; the client
// connects anew. Unavailable: the service is not there; Aborted: its connection broke, so that what
// it was asked is to be asked again; any other code: the client is refused.
Frame EncodeWayLost(const absl::Status& why);
// Nothing if `envelope` is something else.
std::optional<absl::Status> WayLost(const msg::Envelope& envelope);

}  // namespace bus

#endif  // BUS_ACCESS_GATE_MESSAGES_H_
