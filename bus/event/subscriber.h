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
// With a Client, topics that have an owner (`t/`, `l/`, `m/` and, as far as the hub remembers,
// `e/`) are complete from WaitUntilConnected() on: what the hub loses is asked from the owner (see
// recovery.h). Subscriber reports events that are lost all the same, and lost events of other
// topics, to on_lost.
class Subscriber {
 public:
  struct Options {
    // Topic prefixes; "" receives everything, one that is longer than a topic nothing.
    std::vector<std::string> prefixes;
    // Asks the owners of topics. Not owned, outlives the Subscriber. Null: nothing is recovered.
    Client* client = nullptr;
    // With what owners have from before; needs a Client.
    std::optional<Beginning> beginning = std::nullopt;
    // On the bus thread: false while there is no room for a page of an owner's events.
    std::function<bool()> has_room = {};
    // Runs on the bus thread for each verified event, in order: short, never blocking. The
    // envelope is valid during the call only.
    std::function<void(std::string_view topic, const msg::Envelope& event)> on_event = {};
    // Instead of on_event, if it is set: also with the message, as the hub or the owner's record
    // has it.
    std::function<void(std::string_view topic, const msg::Envelope& event,
                       std::span<const std::uint8_t> message)>
        on_message = {};
    // `lost` events of a topic are missing before the one that follows; 0: unknown (the hub was
    // restarted; the topic is then a prefix). Optional; on the bus thread.
    std::function<void(std::string_view topic, std::uint64_t lost)> on_lost = {};
    // The hub can be heard, the first time and after each restart of it. Optional; on the bus
    // thread.
    std::function<void(std::uint64_t hub_epoch)> on_connected = {};
  };
  struct Stats {
    std::uint64_t received = 0;   // Events delivered.
    std::uint64_t malformed = 0;  // Messages dropped.
    std::uint64_t lost = 0;       // Events known to be lost.
    std::uint64_t recovered = 0;  // Events that came from an owner's record.
    std::uint64_t asked = 0;      // Calls to owners for that.
  };
  Subscriber(Node* node, Options options);
  ~Subscriber();  // No callback runs afterwards.
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  // Waits until the hub is heard (and the owners have been asked where they are). DeadlineExceeded
  // names its address.
  absl::Status WaitUntilConnected(absl::Duration timeout);
  Stats GetStats() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bus

#endif  // BUS_EVENT_SUBSCRIBER_H_
