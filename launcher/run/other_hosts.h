#ifndef LAUNCHER_RUN_OTHER_HOSTS_H_
#define LAUNCHER_RUN_OTHER_HOSTS_H_

#include <cstddef>
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

// The nodes on which tasks of a job table run, as the table sees them. An interface, because the
// nodes (launcher/node/node_hosts.h) stand above this folder. On the loop's thread.
class OtherHosts {
 public:
  virtual ~OtherHosts() = default;

  // All nodes, as they are now.
  virtual std::vector<NodeQueue::Node> Nodes() const = 0;
  // Calls `changed` after a node has come, has gone or was changed; unset: nobody any more.
  virtual void OnChange(std::function<void(const std::string& node)> changed) = 0;
  // Where other hosts reach the node; empty: nobody knows.
  virtual std::string AddressOf(const std::string& node) const = 0;
  // The node's own name of its host, if it is of an allocation; else empty.
  virtual std::string HostOf(const std::string& node) const = 0;

  // Asks for `count` ports of the node, which a job has there until KeepPorts() does not name it.
  // `answer` comes later, without ports if the node has none; or never. False: the node is away.
  virtual bool TakePorts(const std::string& node, const std::string& job, std::size_t count,
                         std::function<void(std::vector<int> ports)> answer) = 0;
  // Only these jobs have ports there from now on. Nothing happens if the node is away.
  virtual void KeepPorts(const std::string& node, const std::vector<std::string>& jobs) = 0;
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
    std::vector<int> lets_go = {};  // Ports that its program binds alone: nobody holds them then.
    std::string probe = {};         // EncodeProbe() of its liveness probe, if its host looks at it.
    std::function<void(std::string_view point)> fault = {};  // As in JobTable::Options.
  };
  // An attempt on that node, which may be gone: then the attempt is lost in time.
  virtual std::unique_ptr<Attempt> MakeAttempt(const std::string& node, Wanted wanted,
                                               Attempt::Callbacks callbacks) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_OTHER_HOSTS_H_
