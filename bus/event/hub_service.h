#ifndef BUS_EVENT_HUB_SERVICE_H_
#define BUS_EVENT_HUB_SERVICE_H_

#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "runtime/clock.h"

namespace bus {

// Adds what the hub answers to a registry's Service, which must not have been started: Publish,
// Topics, LastEvents, and Ends and Since of `e/`. `hub` and `clock` outlive the service.
//
// Publish: see users_events.h for what is refused. A Publish that waits for subscribers holds no
// thread, publishes nothing until they are there, and ends a little before its caller's deadline,
// so that the caller hears how many there were.
void AddHubMethods(Service* service, Hub* hub, runtime::Clock* clock);

}  // namespace bus

#endif  // BUS_EVENT_HUB_SERVICE_H_
