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

// The event hub: forwards from publishers (XSUB) to subscribers (XPUB), hosted by the registry,
// on the bus thread of its Node.
//
// Drops and counts: topics that are not legal, messages that fail verification of their size and
// frame count, and `$sys/`, `$hello/` from anybody but the host. One stalled subscriber loses its
// own messages only. Greets each new subscriber with its epoch on `$hello/`. Knows the 10,000
// topics used last; keeps the last value of each within a bound and sends it to new subscriptions
// of that topic. Keeps the last 64 MiB of `e/`, for subscribers that missed some.
//
// Subscriptions are prefixes of at most 200 bytes (a subscriber that sends a longer one is
// disconnected). One alone cannot be refused: over `max_subscriptions` all subscribers are
// disconnected, and come back to a hub with another epoch, so that they ask for what they missed.
class Hub {
 public:
  struct Options {
    std::string publish_endpoint;    // "ipc://RUNTIME/hub-pub"
    std::string subscribe_endpoint;  // "ipc://RUNTIME/hub-sub"
    std::size_t max_subscriptions = 100'000;
  };
  struct Stats {
    std::uint64_t forwarded = 0, dropped_topic = 0, dropped_reserved = 0, dropped_malformed;
    std::uint64_t subscriptions;
    std::uint64_t restarts;    // Restarts of the subscribers' side, over `max_subscriptions`.
    std::uint64_t kept_bytes;  // Size of the kept events of `e/`.
    std::uint64_t dropped() const { return dropped_topic + dropped_reserved + dropped_malformed; }
  };
  // Where every process of a yard looks for its hub.
  static Options DefaultAddresses(const runtime::Locations& locations);
  static absl::StatusOr<std::unique_ptr<Hub>> Create(Node* node, Options options);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  struct NewEvent {
    std::string topic;
    msg::EnvelopeT event;
  };
  // Publishes as the host: reserved roots are allowed. Any thread. Returns the sequence number.
  absl::StatusOr<std::uint64_t> Publish(std::string_view topic, msg::EnvelopeT event);
  // The same for several, in this order and with nothing between them: all or none.
  absl::StatusOr<std::vector<std::uint64_t>> PublishAll(std::vector<NewEvent> events);
  // Subscriptions that match `topic` now. Any thread.
  std::uint32_t CountSubscriptions(std::string_view topic);

  // Calls `done` on the bus thread as soon as `count` subscriptions match `topic`, with how many
  // do; or with DeadlineExceeded after `timeout`, ResourceExhausted if 1,000 wait already,
  // Cancelled after StopWaiting() with what this returns, Unavailable when the hub ends. Any
  // thread.
  using Subscribed = std::function<void(absl::StatusOr<std::uint32_t> subscriptions)>;
  std::uint64_t WhenSubscribed(std::string topic, std::uint32_t count, absl::Duration timeout,
                               Subscribed done);
  void StopWaiting(std::uint64_t wait);

  // For Registry.Topics and Registry.LastEvents. Any thread.
  msg::TopicsReplyT Topics(const msg::TopicsRequestT& request);
  msg::LastEventsReplyT LastEvents(const msg::LastEventsRequestT& request);
  // The record behind `e/`, for Common.Ends and Common.Since. Any thread.
  msg::EndsReplyT Ends(const msg::EndsRequestT& request);
  msg::SinceReplyT Since(const msg::SinceRequestT& request);
  Stats GetStats() const;

  // Binds each of its two addresses again whose file was removed: connections that there are go on.
  // On any thread but the bus thread.
  absl::Status BindAgain();

 private:
  class Impl;
  explicit Hub(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace bus

#endif  // BUS_EVENT_HUB_H_
