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

// The sockets of the gate: what the clients say goes on to the services and the hub of this yard if
// their keys' roles allow it, and what those say goes back (bus/access/gate_messages.h).
//
// A client's connection has a connection of its own to each service that it calls, so that a limit
// of a service is one for each client, and a client that does not read stops what it has asked for
// and nothing else. Nothing is kept: when the gate is killed its clients connect anew and ask
// again.
//
// Any thread; the work is done on the bus thread of the node.
class Splices {
 public:
  // Limits of one connection; more is refused.
  static constexpr std::size_t kMostSubscriptions = 1000;
  // Limits of all connections together.
  static constexpr std::size_t kMostSubscriptionsOfAll = 20'000;
  static constexpr std::size_t kMostSplices = 2048;

  struct Options {
    bus::Node* node = nullptr;                // Not owned; outlives the Splices.
    std::vector<std::string> endpoints = {};  // "tcp://127.0.0.1:7711"; port "*": any that is free.
    bus::CurvePair own = {};                  // The server's key.
    KeyBook* keys = nullptr;                  // Not owned; outlives the Splices.
  };
  // Errors name the address that cannot be bound.
  static absl::StatusOr<std::unique_ptr<Splices>> Open(Options options);
  ~Splices();
  Splices(const Splices&) = delete;
  Splices& operator=(const Splices&) = delete;

  // Where it is bound: "tcp://127.0.0.1:7711".
  std::vector<std::string> endpoints() const;
  // Call it when KeyBook::version() is another: connections of keys that are gone are cut.
  void KeysChanged();

  struct Stats {
    std::uint64_t connections;    // Clients' connections, now.
    std::uint64_t splices;        // Connections to services and the hub, now.
    std::uint64_t subscriptions;  // Now.
    std::uint64_t nodes;          // Nodes' connections, at most two seconds ago.
    std::uint64_t channels;       // Connections that those carry, at most two seconds ago.
    std::uint64_t calls_passed;
    std::uint64_t calls_refused;
    std::uint64_t malformed;  // Messages that were dropped.
    std::uint64_t events_passed;
    std::uint64_t connections_cut;  // Their key was removed, or they went too far.
  };
  Stats GetStats() const;

 private:
  class Impl;
  explicit Splices(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace gate

#endif  // GATE_SPLICES_H_
