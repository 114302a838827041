#ifndef BUS_EVENT_SUBSCRIBER_H_
#define BUS_EVENT_SUBSCRIBER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bus/call/client.h"
#include "bus/schema/envelope_generated.h"
#include "bus/thread/node.h"
#include "bus/thread/recovery.h"

namespace bus {

// Receives events from the hub. Follows a restarted registry.
//
// With a Client, the Subscriber delivers all events of topics that have an owner (`t/`, `l/`, `m/`
// and, as far as the hub remembers, `e/`) from WaitUntilConnected() on: it asks the owner for
// events that the hub loses (see recovery.h). It reports events that are lost all the same, and
// lost events of other topics, to on_lost.
class Subscriber {
 public:
  struct Options {
    // Topic prefixes; "" receives everything, a prefix longer than any topic receives nothing.
    std::vector<std::string> prefixes;
    // Used to ask the owners of topics. Not owned; must outlive the Subscriber. Null: no recovery.
    Client* client = nullptr;
    // Set: also delivers earlier events that the owners have kept. Requires a Client.
    std::optional<Beginning> beginning = std::nullopt;
    // Returns false while the receiver has no room for a page of an owner's events. Bus thread.
    std::function<bool()> has_room = {};
    // Runs on the bus thread for each verified event, in order; must be short and never block. The
    // envelope is valid during the call only.
    std::function<void(std::string_view topic, const msg::Envelope& event)> on_event = {};
    // Replaces on_event if set: also passes the encoded message, as the hub or the owner's record
    // has it.
    std::function<void(std::string_view topic, const msg::Envelope& event,
                       std::span<const std::uint8_t> message)>
        on_message = {};
    // Reports that `lost` events of a topic are missing before the next one. 0: unknown number,
    // because the hub was restarted; `topic` is then a prefix. Optional; runs on the bus thread.
    std::function<void(std::string_view topic, std::uint64_t lost)> on_lost = {};
    // Runs when the hub is connected, the first time and after each of its restarts. Optional; runs
    // on the bus thread.
    std::function<void(std::uint64_t hub_epoch)> on_connected = {};
  };
  struct Stats {
    std::uint64_t received = 0;   // Events delivered.
    std::uint64_t malformed = 0;  // Messages dropped.
    std::uint64_t lost = 0;       // Events known to be lost.
    std::uint64_t recovered = 0;  // Events that came from an owner's record.
    std::uint64_t asked = 0;      // Calls to owners to recover events.
  };
  Subscriber(Node* node, Options options);
  ~Subscriber();  // No callback runs afterwards.
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  // Waits until the hub is connected (and, with a Client, the owners have reported their
  // positions). DeadlineExceeded names the hub's address.
  absl::Status WaitUntilConnected(absl::Duration timeout);
  Stats GetStats() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bus

#endif  // BUS_EVENT_SUBSCRIBER_H_
