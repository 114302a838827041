#ifndef REGISTRY_NAME_METHODS_H_
#define REGISTRY_NAME_METHODS_H_

#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "registry/instance_service.h"
#include "registry/registry_service.h"
#include "runtime/event_loop.h"

namespace registry {

// Adds Common.Names to the registry's Service before it is started. Its names are those of live
// services, running tools, and published topics. All arguments must outlive the calls.
void AddNameMethods(bus::Service* service, runtime::EventLoop* loop, bus::Hub* hub,
                    const RegistryService* services, InstanceService* tools);

}  // namespace registry

#endif  // REGISTRY_NAME_METHODS_H_
