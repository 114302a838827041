#ifndef BUS_THREAD_NODE_H_
#define BUS_THREAD_NODE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bus/thread/counters.h"
#include "runtime/clock.h"
#include "runtime/file/locations.h"

namespace bus {

class BusThread;

// A process's membership of the bus: its ZeroMQ context, its bus thread, its random id and epoch.
// Create it once in main(), after signals are blocked. Clients, Services, Publishers and
// Subscribers use it and must be destroyed before it.
class Node {
 public:
  struct Options {
    std::string name = {};              // "registry", "yard", ...: for logs and Stats.
    runtime::Locations locations = {};  // Where the registry and the runtime directory are.
    runtime::Clock* clock = runtime::Clock::Real();
    // Trace id of calls that no other call has caused, so that all calls of a command share it.
    // Empty: each such call has a trace of its own.
    std::string trace = {};
  };
  static absl::StatusOr<std::unique_ptr<Node>> Create(Options options);
  // Ends the bus thread and drops queued messages, within bounded time.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const;
  const runtime::Locations& locations() const;
  runtime::Clock* clock() const;
  // The process's random id and its start (microseconds since 1970), as in every Head.
  std::uint64_t source() const;
  std::uint64_t epoch() const;
  const std::string& trace() const;
  // Counters of the bus in this process. Any thread.
  Counters& counters();

  // For classes that use sockets themselves.
  BusThread& bus_thread();

 private:
  struct State;
  explicit Node(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bus

#endif  // BUS_THREAD_NODE_H_
