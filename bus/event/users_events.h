#ifndef BUS_EVENT_USERS_EVENTS_H_
#define BUS_EVENT_USERS_EVENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "bus/schema/envelope_generated.h"

namespace bus {

// The events that a Publish request asks for, one at least, with the caller's trace and request id.
//
// Only under `e/`: PermissionDenied for a topic of another root. InvalidArgument for a bad topic,
// for events both as a list and by themselves, for a payload beside an envelope, and for an
// envelope that is no message of the bus or has no body that this version knows; it names which
// one of a list is wrong. Nothing but the body is taken from an envelope: a publisher cannot pass
// its event off as another's.
absl::StatusOr<std::vector<Hub::NewEvent>> UsersEvents(const msg::PublishRequestT& request,
                                                       const CallContext& context);

}  // namespace bus

#endif  // BUS_EVENT_USERS_EVENTS_H_
