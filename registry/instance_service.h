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
    uid_t uid = 0;                              // Ours.
    std::vector<std::string> environment = {};  // Names the info directory that is listed if a
                                                // request has no environment.
    std::string working_directory = {};
    std::function<bool()> launcher_is_there = {};  // On the loop's thread.
  };
  struct Stats {
    std::uint64_t instances = 0;  // Entries of all views at the last change or question.
    std::uint64_t launched = 0, reused = 0, failed = 0;
  };
  // Adds its methods to `service`, which must not have been started.
  static std::unique_ptr<InstanceService> Create(Options options, bus::Service* service);
  virtual ~InstanceService() = default;

  // On the loop's thread, for Common.Names: tools that run, by what `yard stop` calls them.
  virtual void ListNames(bus::NameList& names) = 0;
  // Any thread.
  virtual Stats GetStats() const = 0;
};

}  // namespace registry

#endif  // REGISTRY_INSTANCE_SERVICE_H_
