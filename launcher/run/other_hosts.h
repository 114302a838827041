#ifndef LAUNCHER_RUN_OTHER_HOSTS_H_
#define LAUNCHER_RUN_OTHER_HOSTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/run/attempt.h"
#include "launcher/share/node_queue.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {

// The nodes on which tasks of a job table run, as the table sees them (launcher/node/node_hosts.h).
// On the loop's thread.
class OtherHosts {
 public:
  virtual ~OtherHosts() = default;

  // All nodes, as they are now.
  virtual std::vector<NodeQueue::Node> Nodes() const = 0;
  // Calls `changed` after a node has come, has gone or was changed; unset: nobody any more.
  virtual void OnChange(std::function<void()> changed) = 0;
  // Where other hosts reach the node; empty: nobody knows.
  virtual std::string AddressOf(const std::string& node) const = 0;

  // The yard ends: if the node is away, its attempts are lost soon, unless it comes back.
  virtual void LoseSoonIfAway(const std::string& node) = 0;

  // Files that come along.
  struct Work {
    std::string path, sha256;  // The archive, on this host.
    std::uint64_t bytes = 0;
    std::string subdirectory;
  };
  struct Wanted {
    std::string key;                       // The attempt has it alone, for good.
    std::string folder;                    // The attempt's own, on this host.
    std::string stdout_path, stderr_path;  // On this host.
    std::function<ShimSpec()> spec;
    std::optional<Work> work = {};
    std::string probe = {};  // EncodeProbe() of its liveness probe, if its host looks at it.
    std::function<void(std::string_view point)> fault = {};  // As in JobTable::Options.
  };
  // An attempt on that node, which may be gone: then the attempt is lost in time.
  virtual std::unique_ptr<Attempt> MakeAttempt(const std::string& node, Wanted wanted,
                                               Attempt::Callbacks callbacks) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_OTHER_HOSTS_H_
