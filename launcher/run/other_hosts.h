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

// The job table's interface to the nodes on which tasks of pools run. It is an interface because
// its implementation (launcher/node/node_hosts.h) is in a higher layer than this folder. Use on the
// loop's thread.
class OtherHosts {
 public:
  virtual ~OtherHosts() = default;

  // Returns the present state of all nodes.
  virtual std::vector<NodeQueue::Node> Nodes() const = 0;
  // Calls `changed` after a node has connected, disconnected or changed. An empty function
  // unsubscribes.
  virtual void OnChange(std::function<void(const std::string& node)> changed) = 0;
  // Returns the address at which other hosts reach the node; empty if it is unknown.
  virtual std::string AddressOf(const std::string& node) const = 0;
  // Returns the host name that the node itself reports, if it belongs to an allocation; else empty.
  virtual std::string HostOf(const std::string& node) const = 0;

  // Requests `count` ports of the node, which the job holds there until a KeepPorts() that does not
  // name the job. Calls `answer` later, with no ports if the node has none; possibly never. Returns
  // false if the node is not connected.
  virtual bool TakePorts(const std::string& node, const std::string& job, std::size_t count,
                         std::function<void(std::vector<int> ports)> answer) = 0;
  // Releases the ports of all jobs on the node except `jobs`. Does nothing if the node is not
  // connected.
  virtual void KeepPorts(const std::string& node, const std::vector<std::string>& jobs) = 0;
  // Called when the yard goes down: if the node is not connected and does not reconnect soon, its
  // attempts count as lost.
  virtual void LoseSoonIfAway(const std::string& node) = 0;

  // An archive of files that the node unpacks for the job.
  struct Work {
    std::string path, sha256;  // The archive, on this host.
    std::uint64_t bytes = 0;
    std::string subdirectory;
  };
  struct Wanted {
    std::string key;                       // Identifies the attempt; never reused.
    std::string folder;                    // The attempt's folder on this host.
    std::string stdout_path, stderr_path;  // On this host.
    std::function<ShimSpec()> spec;
    std::optional<Work> work = {};
    // Ports that its program binds exclusively, so the node stops holding them first.
    std::vector<int> lets_go = {};
    // EncodeProbe() of its liveness probe, if the probe runs on its host.
    std::string probe = {};
    std::function<void(std::string_view point)> fault = {};  // As in JobTable::Options.
  };
  // Makes an attempt on the node. If the node no longer exists, the attempt ends as lost after a
  // while.
  virtual std::unique_ptr<Attempt> MakeAttempt(const std::string& node, Wanted wanted,
                                               Attempt::Callbacks callbacks) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_OTHER_HOSTS_H_
