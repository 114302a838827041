#ifndef REGISTRY_TOOL_PROBE_H_
#define REGISTRY_TOOL_PROBE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>

namespace registry {

// What the kernel knows of tools: whether a process is there, and who listens. Any thread.
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
  // Local TCP ports on which a process of this user listens, on any address.
  virtual std::set<int> ListeningPorts(uid_t uid) = 0;
};

}  // namespace registry

#endif  // REGISTRY_TOOL_PROBE_H_
