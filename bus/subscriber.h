#ifndef BUS_SUBSCRIBER_H_
#define BUS_SUBSCRIBER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bus/node.h"
#include "bus/schema/envelope_generated.h"

namespace bus {

// Receives events from the hub. Follows a restarted registry.
class Subscriber {
 public:
  struct Options {
    // Topic prefixes = {}; "" receives everything.
    std::vector<std::string> prefixes;
    // Runs on the bus thread for each verified event, in order: short, never blocking. The
    // envelope is valid during the call only.
    std::function<void(std::string_view topic, const msg::Envelope& event)> on_event = {};
    // A sequence of (source, topic) has a hole: `lost` events are missing before the one that
    // follows; 0: unknown (the hub was restarted). Optional; on the bus thread.
    std::function<void(std::string_view topic, std::uint64_t lost)> on_lost = {};
    // The hub can be heard, the first time and after each restart of it; what was published
    // before may have been missed. Optional; on the bus thread.
    std::function<void(std::uint64_t hub_epoch)> on_connected = {};
  };
  Subscriber(Node* node, Options options);
  ~Subscriber();  // No callback runs afterwards.
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  // Waits until the hub is heard. DeadlineExceeded names its address.
  absl::Status WaitUntilConnected(absl::Duration timeout);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bus

#endif  // BUS_SUBSCRIBER_H_
