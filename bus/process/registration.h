#ifndef BUS_PROCESS_REGISTRATION_H_
#define BUS_PROCESS_REGISTRATION_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "bus/call/client.h"
#include "bus/schema/registry_generated.h"
#include "runtime/event_loop.h"

namespace bus {

// Keeps one lease of the registry: waits for a registry, registers, renews at each third of the
// lease's time, and registers anew when the registry was restarted or has forgotten the lease. It
// learns of that at once, because it watches its own entry: that stream breaks with the registry.
// A renewal that is not answered is repeated at once. A registry that refuses the lease (it is
// full, the name is not printable) is asked again each second.
//
// Lives on the loop's thread: all methods and callbacks run there.
class Registration {
 public:
  struct Options {
    msg::LeaseT lease;  // Without id and state.
    // No registry can be reached, or it refuses. Once for each time.
    std::function<void(const absl::Status&)> on_waiting = {};
    // The lease is held; `first`: for the first time.
    std::function<void(bool first)> on_registered = {};
  };
  Registration(runtime::EventLoop* loop, Client* client, Options options);
  ~Registration();  // Leaves the lease to expire. The Client may go after it.
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // Gives the lease back; `done` runs when the registry has answered or cannot be reached.
  void End(std::function<void()> done);

 private:
  struct State;

  const std::shared_ptr<State> state_;
};

}  // namespace bus

#endif  // BUS_PROCESS_REGISTRATION_H_
