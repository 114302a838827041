#ifndef REGISTRY_TOOL_TOOL_PROBE_H_
#define REGISTRY_TOOL_TOOL_PROBE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace registry {

// Asks the kernel about tools: whether a process is there, and which one listens. Any thread.
class ToolProbe {
 public:
  struct Process {
    uid_t uid = 0;
    std::int64_t started = 0;  // Seconds since 1970, to the second.
  };
  virtual ~ToolProbe() = default;

  // The kernel of this machine, as seen from our pid and network namespace; never deleted.
  static ToolProbe* Kernel();

  // Nothing if there is no such process; a zombie is none.
  virtual std::optional<Process> Look(pid_t pid) = 0;
  // Sockets (their inodes) that listen, by local TCP port.
  using Listeners = std::map<int, std::set<std::uint64_t>>;
  // The listening sockets of this user, on any address.
  virtual Listeners ListenersOf(uid_t uid) = 0;
  // True if the process, or one that it has started, holds one of these sockets on that port (0: on
  // any). A process that does not let its descriptors be seen is believed to hold one.
  virtual bool Holds(pid_t pid, const Listeners& listeners, int port) = 0;
};

}  // namespace registry

#endif  // REGISTRY_TOOL_TOOL_PROBE_H_
