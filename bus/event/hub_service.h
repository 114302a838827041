#ifndef BUS_EVENT_HUB_SERVICE_H_
#define BUS_EVENT_HUB_SERVICE_H_

#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "runtime/clock.h"

namespace bus {

// Adds the hub's methods to a registry's Service before it starts: Publish, Topics, LastEvents, and
// Ends and Since for `e/`. `hub` and `clock` must outlive the service.
//
// users_events.h says which Publish requests are refused. A Publish that waits for subscribers
// occupies no thread, publishes nothing until they have subscribed, and ends shortly before its
// caller's deadline, so that the caller learns how many had subscribed.
void AddHubMethods(Service* service, Hub* hub, runtime::Clock* clock);

}  // namespace bus

#endif  // BUS_EVENT_HUB_SERVICE_H_
