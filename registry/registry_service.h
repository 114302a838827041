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

// Serves the methods of the registry: owns the lease table, watches the registered processes of
// this machine, sends every change to watchers and the hub, and publishes users' events.
//
// Belongs to the loop's thread, on which its handlers run. The hub and the loop must outlive it.
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
    std::uint64_t leases = 0, revision = 0, watchers = 0, expired = 0, processes_ended = 0;
  };
  // Adds its methods to `service`, which must not have been started.
  RegistryService(Options options, bus::Service* service);
  ~RegistryService();
  RegistryService(const RegistryService&) = delete;
  RegistryService& operator=(const RegistryService&) = delete;

  // True if a live lease has this name. On the loop's thread.
  bool IsThere(std::string_view name) const;
  // For Common.Names: adds the services with a live lease. On the loop's thread.
  void ListNames(bus::NameList& names) const;
  // Any thread.
  Stats GetStats() const;

 private:
  class Impl;

  const std::unique_ptr<Impl> impl_;
};

}  // namespace registry

#endif  // REGISTRY_REGISTRY_SERVICE_H_
