#ifndef REGISTRY_REGISTRY_SERVICE_H_
#define REGISTRY_REGISTRY_SERVICE_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/call/name_list.h"
#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "bus/thread/node.h"
#include "registry/lease/lease_table.h"
#include "runtime/event_loop.h"

namespace registry {

// Answers the methods of the registry: it owns the lease table, watches the registered processes
// of this machine, tells watchers and the hub of every change, and publishes users' events.
//
// Lives on the loop's thread; the handlers it adds go there. The hub and the loop outlive it.
class RegistryService {
 public:
  struct Options {
    bus::Node* node = nullptr;
    runtime::EventLoop* loop = nullptr;
    bus::Hub* hub = nullptr;
    msg::HubInfoT hub_info;
    LeaseTable::Options leases = {};
  };
  struct Stats {
    std::uint64_t leases = 0, revision = 0, watchers = 0, expired = 0, processes_ended;
  };
  // Adds its methods to `service`, which must not have been started.
  RegistryService(Options options, bus::Service* service);
  ~RegistryService();
  RegistryService(const RegistryService&) = delete;
  RegistryService& operator=(const RegistryService&) = delete;

  // On the loop's thread: is there a live lease of this name?
  bool IsThere(std::string_view name) const;
  // On the loop's thread, for Common.Names: services with a live lease.
  void ListNames(bus::NameList& names) const;
  // Any thread.
  Stats GetStats() const;

 private:
  class Impl;

  const std::unique_ptr<Impl> impl_;
};

}  // namespace registry

#endif  // REGISTRY_REGISTRY_SERVICE_H_
