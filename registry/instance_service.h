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

// Answers the registry's methods about tools (TensorBoard first): lists those that run, starts or
// reuses one, stops one, writes and removes info files.
//
// Lives on the loop's thread; the handlers it adds go there. The objects that the options point to
// outlive it.
class InstanceService {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;
    runtime::Clock* clock = nullptr;
    bus::Client* client = nullptr;  // Finds the launcher.
    ToolProbe* probe = ToolProbe::Kernel();
    uid_t uid;                                  // Ours.
    std::vector<std::string> environment = {};  // Names the info directory that is listed if a
                                                // request has no environment.
    std::string working_directory = {};
    std::function<bool()> launcher_is_there = {};  // On the loop's thread.
  };
  struct Stats {
    std::uint64_t instances;  // Entries of all views at the last change or question.
    std::uint64_t launched = 0, reused = 0, failed;
  };
  // Adds its methods to `service`, which must not have been started.
  InstanceService(Options options, bus::Service* service);
  ~InstanceService();
  InstanceService(const InstanceService&) = delete;
  InstanceService& operator=(const InstanceService&) = delete;

  // On the loop's thread, for Common.Names: tools that run, by what `yard stop` calls them.
  void ListNames(bus::NameList& names);
  // Any thread.
  Stats GetStats() const;

 private:
  class Impl;

  const std::unique_ptr<Impl> impl_;
};

}  // namespace registry

#endif  // REGISTRY_INSTANCE_SERVICE_H_
