#ifndef BUS_PROCESS_REGISTRATION_H_
#define BUS_PROCESS_REGISTRATION_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "bus/call/client.h"
#include "bus/schema/registry_generated.h"
#include "runtime/event_loop.h"

namespace bus {

// Maintains one lease at the registry: waits for a registry, registers, renews at each third of the
// lease's time, and registers again when the registry was restarted or has forgotten the lease. It
// notices that at once, because it watches its own entry, and that stream breaks with the registry.
// Retries an unanswered renewal at once. Retries each second if the registry refuses the lease (it
// is full, or the name is not printable).
//
// Belongs to the loop's thread: all methods and callbacks run there.
class Registration {
 public:
  struct Options {
    msg::LeaseT lease;  // Without id and state.
    // Runs once per outage, when no registry can be reached or the registry refuses the lease.
    std::function<void(const absl::Status&)> on_waiting = {};
    // Runs when the lease is granted; `first`: for the first time.
    std::function<void(bool first)> on_registered = {};
  };
  Registration(runtime::EventLoop* loop, Client* client, Options options);
  ~Registration();  // The lease then expires. The Client may be destroyed next.
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // Revokes the lease; `done` runs when the registry has answered or cannot be reached.
  void End(std::function<void()> done);

 private:
  struct State;

  const std::shared_ptr<State> state_;
};

}  // namespace bus

#endif  // BUS_PROCESS_REGISTRATION_H_
