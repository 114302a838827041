#ifndef TOOLS_YARD_POOL_HOST_KEEPER_H_
#define TOOLS_YARD_POOL_HOST_KEEPER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/yard/pool/bundle.h"
#include "tools/yard/pool/host_name.h"
#include "tools/yard/pool/host_state.h"

namespace yard {

// Keeps a node running on another host, and the connection of ssh over which it reaches the
// launcher and the trainer of here. The node outlives the connection, and this process: the next
// keeper of the host takes it over.
//
// No port is opened: ssh forwards two unix sockets, which are in a private directory there.
class HostKeeper {
 public:
  // Paths of unix sockets of this machine.
  struct Sockets {
    std::string launcher, trainer;
  };
  struct Options {
    PoolHost host;
    std::string key;  // Part of the name of its directory there (host_scripts.h).
    // "NAME=value"; $YARD_SSH is ssh with words of one's own.
    std::vector<std::string> environment;
    std::function<absl::StatusOr<Bundle>()> read_bundle;
    // Makes sure that the launcher knows the node. Blocks.
    std::function<absl::StatusOr<Sockets>()> set_node;
    // Is told each change.
    std::function<void(const HostState&)> say;
    // A descriptor that becomes readable when the node shall be stopped. Not owned.
    int stop = -1;
    absl::Duration first_pause = absl::Milliseconds(500), longest_pause = absl::Seconds(15);
  };
  static std::unique_ptr<HostKeeper> Create(Options options);
  virtual ~HostKeeper() = default;

  // Blocks until `stop`: then the node there is stopped, and its directory removed. Takes 50 s at
  // most after that, and 10 s if the host is away: it keeps them, as the last HostState says.
  virtual void Run() = 0;
};

}  // namespace yard

#endif  // TOOLS_YARD_POOL_HOST_KEEPER_H_
