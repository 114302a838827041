#ifndef GATE_SPLICES_H_
#define GATE_SPLICES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/thread/curve.h"
#include "bus/thread/node.h"
#include "gate/key_book.h"

namespace gate {

// The sockets of the gate. Passes messages of clients on to the services and the hub of this yard,
// if the roles of their keys allow it, and the answers back (bus/access/gate_messages.h).
//
// For each client connection the gate opens a separate connection to each service that the client
// calls. A service's limit per caller therefore applies per client, and a client that does not read
// delays only its own requests. The gate stores nothing: when it is killed, its clients reconnect
// and repeat their requests.
//
// Any thread; the work is done on the node's bus thread.
class Splices {
 public:
  // Limit of one connection.
  static constexpr std::size_t kMostSubscriptions = 1000;
  // Limits of all connections together.
  static constexpr std::size_t kMostSubscriptionsOfAll = 20'000;
  static constexpr std::size_t kMostSplices = 2048;

  struct Options {
    bus::Node* node = nullptr;                // Not owned; must outlive the Splices.
    std::vector<std::string> endpoints = {};  // "tcp://127.0.0.1:7711"; port "*": any free port.
    bus::CurvePair own = {};                  // The server's key.
    KeyBook* keys = nullptr;                  // Not owned; must outlive the Splices.
  };
  // Binds the sockets and starts. Errors name the address that cannot be bound.
  static absl::StatusOr<std::unique_ptr<Splices>> Open(Options options);
  ~Splices();
  Splices(const Splices&) = delete;
  Splices& operator=(const Splices&) = delete;

  // Bound addresses: "tcp://127.0.0.1:7711".
  std::vector<std::string> endpoints() const;
  // Call it when KeyBook::version() has changed; cuts the connections of removed keys.
  void KeysChanged();

  struct Stats {
    std::uint64_t connections = 0;    // Present client connections.
    std::uint64_t splices = 0;        // Present connections to services and the hub.
    std::uint64_t subscriptions = 0;  // Present number.
    std::uint64_t nodes = 0;          // Nodes' connections, at most two seconds ago.
    std::uint64_t channels = 0;  // Connections that nodes' channels carry, at most two seconds ago.
    std::uint64_t calls_passed = 0;
    std::uint64_t calls_refused = 0;
    std::uint64_t malformed = 0;  // Dropped messages.
    std::uint64_t events_passed = 0;
    std::uint64_t connections_cut = 0;  // Because the key was removed or a limit was exceeded.
  };
  Stats GetStats() const;

 private:
  class Impl;
  explicit Splices(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace gate

#endif  // GATE_SPLICES_H_
