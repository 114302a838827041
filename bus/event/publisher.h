#ifndef BUS_EVENT_PUBLISHER_H_
#define BUS_EVENT_PUBLISHER_H_

#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "bus/schema/envelope_generated.h"
#include "bus/thread/node.h"

namespace bus {

// Publishes events through the hub. Never blocks. Any subscriber may lose events, by design; it
// detects and recovers them by the sequence number of each topic and by the span that a topic's
// owner gives each event. Repeats the last number of a topic after a second of silence and for each
// new hub (see tails.h). Follows a restarted registry. Any thread.
class Publisher {
 public:
  explicit Publisher(Node* node);
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Returns InvalidArgument for a bad topic (see topic.h). OK does not mean that a subscriber
  // received it.
  absl::Status PublishEnvelope(std::string_view topic, msg::EnvelopeT event);
  // `body` is a table of the schemas, such as msg::TrialEventT.
  template <typename Body>
  absl::Status Publish(std::string_view topic, Body body) {
    msg::EnvelopeT event;
    event.body.Set(std::move(body));
    return PublishEnvelope(topic, std::move(event));
  }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bus

#endif  // BUS_EVENT_PUBLISHER_H_
