#ifndef TOOLS_YARD_POOL_HOST_KEEPER_H_
#define TOOLS_YARD_POOL_HOST_KEEPER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/yard/pool/bundle.h"
#include "tools/yard/pool/host_name.h"
#include "tools/yard/pool/host_state.h"

namespace yard {

// The host keeper keeps a node running on another host, and the ssh connection through which that
// node reaches the local launcher and trainer. The node outlives the connection and this process:
// the next keeper of the host takes it over.
//
// The keeper opens no port: ssh forwards two unix sockets in a private directory on the host.

// Paths of unix sockets on this machine.
struct NodeSockets {
  std::string launcher, trainer;
};
struct HostKeeperOptions {
  PoolHost host;
  std::string key;  // Suffix of its directory's name there (host_scripts.h).
  // "NAME=value"; $YARD_SSH overrides "ssh" and its options.
  std::vector<std::string> environment;
  std::function<absl::StatusOr<Bundle>()> read_bundle;
  // Registers the node at the launcher unless it is known. Blocks.
  std::function<absl::StatusOr<NodeSockets>()> set_node;
  // Reports each change of the state.
  std::function<void(const HostState&)> say;
  // A descriptor whose readability requests to stop the node. Not owned.
  int stop = -1;
  absl::Duration first_pause = absl::Milliseconds(500), longest_pause = absl::Seconds(15);
};

// Blocks until `stop`; then stops the node and removes its directory. That takes at most 50 s, or
// 10 s if the host is away, in which case node and directory remain, as the last HostState
// reports.
void RunHostKeeper(HostKeeperOptions options);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_HOST_KEEPER_H_
