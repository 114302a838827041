#ifndef BUS_EVENT_HUB_H_
#define BUS_EVENT_HUB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "bus/thread/node.h"
#include "runtime/file/locations.h"

namespace bus {

// The event hub: forwards events from publishers (XSUB) to subscribers (XPUB). The registry hosts
// it, on the bus thread of its Node.
//
// Drops and counts events with an illegal topic, messages of the wrong size or frame count, and
// events on `$sys/` or `$hello/` from anybody but the host. A stalled subscriber loses only its own
// messages. Publishes the hub's epoch on `$hello/` for each new subscriber. Tracks the 10,000 most
// recently used topics; keeps the last value of each, within a limit, and sends it to new
// subscriptions of exactly that topic. Keeps the last 64 MiB of `e/` events for subscribers that
// missed some.
//
// A subscription is a prefix of at most 200 bytes; a subscriber that sends a longer one is
// disconnected. The hub cannot refuse a single subscription: over `max_subscriptions` it
// disconnects all subscribers, which reconnect, see another epoch, and ask for the events that they
// missed.
class Hub {
 public:
  struct Options {
    std::string publish_endpoint;    // "ipc://RUNTIME/hub-pub"
    std::string subscribe_endpoint;  // "ipc://RUNTIME/hub-sub"
    std::size_t max_subscriptions = 100'000;
  };
  struct Stats {
    std::uint64_t forwarded = 0, dropped_topic = 0, dropped_reserved = 0, dropped_malformed = 0;
    std::uint64_t subscriptions = 0;
    std::uint64_t restarts = 0;    // Restarts of the subscribers' socket, over `max_subscriptions`.
    std::uint64_t kept_bytes = 0;  // Size of the kept `e/` events.
    std::uint64_t dropped() const { return dropped_topic + dropped_reserved + dropped_malformed; }
  };
  // Returns the addresses at which every process of a yard looks for its hub.
  static Options DefaultAddresses(const runtime::Locations& locations);
  static absl::StatusOr<std::unique_ptr<Hub>> Create(Node* node, Options options);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  struct NewEvent {
    std::string topic;
    msg::EnvelopeT event;
  };
  // Publishes as the host, which may use the reserved roots. Any thread. Returns the sequence
  // number.
  absl::StatusOr<std::uint64_t> Publish(std::string_view topic, msg::EnvelopeT event);
  // Publishes several events in this order, with no other event between them: all or none.
  absl::StatusOr<std::vector<std::uint64_t>> PublishAll(std::vector<NewEvent> events);
  // Returns the number of subscriptions that match `topic` now. Any thread.
  std::uint32_t CountSubscriptions(std::string_view topic);

  // Calls `done` on the bus thread as soon as `count` subscriptions match `topic`, with their
  // number. Errors: DeadlineExceeded after `timeout`, ResourceExhausted if 1,000 callers wait
  // already, Cancelled after StopWaiting() with the returned id, Unavailable when the hub ends. Any
  // thread.
  using Subscribed = std::function<void(absl::StatusOr<std::uint32_t> subscriptions)>;
  std::uint64_t WhenSubscribed(std::string topic, std::uint32_t count, absl::Duration timeout,
                               Subscribed done);
  void StopWaiting(std::uint64_t wait);

  // Handle Registry.Topics and Registry.LastEvents. Any thread.
  msg::TopicsReplyT Topics(const msg::TopicsRequestT& request);
  msg::LastEventsReplyT LastEvents(const msg::LastEventsRequestT& request);
  // Handle Common.Ends and Common.Since for the record of `e/`. Any thread.
  msg::EndsReplyT Ends(const msg::EndsRequestT& request);
  msg::SinceReplyT Since(const msg::SinceRequestT& request);
  Stats GetStats() const;

  // Binds each of its two addresses again whose file was removed; open connections stay open. Must
  // not run on the bus thread.
  absl::Status BindAgain();

 private:
  class Impl;
  explicit Hub(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace bus

#endif  // BUS_EVENT_HUB_H_
