#ifndef BUS_EVENT_USERS_EVENTS_H_
#define BUS_EVENT_USERS_EVENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "bus/schema/envelope_generated.h"

namespace bus {

// Returns the events that a Publish request contains, at least one, with the caller's trace and
// request id.
//
// Errors: PermissionDenied for a topic outside `e/`. InvalidArgument for a malformed topic, for a
// request with both a list of events and a single one, for an event with both a payload and an
// envelope, and for an envelope that is malformed or whose body this version does not know; the
// error says which event of a list is wrong. Only the body is taken from an envelope, so that a
// publisher cannot impersonate another.
absl::StatusOr<std::vector<Hub::NewEvent>> UsersEvents(const msg::PublishRequestT& request,
                                                       const CallContext& context);

}  // namespace bus

#endif  // BUS_EVENT_USERS_EVENTS_H_
