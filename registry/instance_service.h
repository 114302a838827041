#ifndef REGISTRY_INSTANCE_SERVICE_H_
#define REGISTRY_INSTANCE_SERVICE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bus/call/client.h"
#include "bus/call/name_list.h"
#include "bus/call/service.h"
#include "registry/tool/tool_probe.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"

namespace registry {

// Serves the registry's methods about tools (such as TensorBoard): lists running ones, starts or
// reuses one, stops one, writes and removes info files.
//
// Belongs to the loop's thread, on which its handlers run.
// The objects in the options must outlive it.
class InstanceService {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;
    runtime::Clock* clock = nullptr;
    bus::Client* client = nullptr;  // Reaches the launcher.
    ToolProbe* probe = ToolProbe::Kernel();
    uid_t uid = 0;  // Our own uid.
    // Determines the info directory for requests without an environment.
    std::vector<std::string> environment = {};
    std::string working_directory = {};
    std::function<bool()> launcher_is_there = {};  // Called on the loop's thread.
  };
  struct Stats {
    std::uint64_t instances = 0;  // Entries of all views at the last change or call.
    std::uint64_t launched = 0, reused = 0, failed = 0;
  };
  // Adds its methods to `service`, which must not have been started.
  InstanceService(Options options, bus::Service* service);
  ~InstanceService();
  InstanceService(const InstanceService&) = delete;
  InstanceService& operator=(const InstanceService&) = delete;

  // For Common.Names: adds running tools, by their names in `yard stop`. On the loop's thread.
  void ListNames(bus::NameList& names);
  // Any thread.
  Stats GetStats() const;

 private:
  class Impl;

  const std::unique_ptr<Impl> impl_;
};

}  // namespace registry

#endif  // REGISTRY_INSTANCE_SERVICE_H_
