#ifndef REGISTRY_TOOL_TOOL_PROBE_H_
#define REGISTRY_TOOL_TOOL_PROBE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace registry {

// Queries the kernel about tools: whether a process exists, and which one listens. Any thread.
class ToolProbe {
 public:
  struct Process {
    uid_t uid = 0;
    std::int64_t started = 0;  // Seconds since 1970, with a resolution of one second.
  };
  virtual ~ToolProbe() = default;

  // The kernel of this machine, as seen from our pid and network namespaces; never deleted.
  static ToolProbe* Kernel();

  // Returns null if the process does not exist; a zombie does not count as existing.
  virtual std::optional<Process> Look(pid_t pid) = 0;
  // Listening sockets (by inode), by local TCP port.
  using Listeners = std::map<int, std::set<std::uint64_t>>;
  // Returns the listening sockets of this user, on any address.
  virtual Listeners ListenersOf(uid_t uid) = 0;
  // True if the process, or one of its descendants, holds one of these sockets on that port (0: on
  // any port). A process whose descriptors are not visible is assumed to hold one.
  virtual bool Holds(pid_t pid, const Listeners& listeners, int port) = 0;
};

}  // namespace registry

#endif  // REGISTRY_TOOL_TOOL_PROBE_H_
