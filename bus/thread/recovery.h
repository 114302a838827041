#ifndef BUS_THREAD_RECOVERY_H_
#define BUS_THREAD_RECOVERY_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/frame.h"

namespace bus {

// Where a subscriber begins in the owners' records, instead of at their ends.
struct Beginning {
  absl::Time time = absl::InfinitePast();  // Includes entries of this time or later.
  std::uint64_t position = 0;              // Starts after this position of each lane.
};

// True if every topic with this prefix has an owner with a record.
bool HasRecord(std::string_view prefix);

// Recovery's interface to its surroundings. Callbacks run later, never within the call, and never
// after the Recovery was destroyed.
class RecoveryCalls {
 public:
  virtual ~RecoveryCalls() = default;
  virtual void Ends(const std::string& service, const msg::EndsRequestT& request,
                    std::function<void(absl::StatusOr<msg::EndsReplyT>)> done) = 0;
  virtual void Since(const std::string& service, const msg::SinceRequestT& request,
                     std::function<void(absl::StatusOr<msg::SinceReplyT>)> done) = 0;
  virtual void RunAfter(absl::Duration delay, std::function<void()> function) = 0;
  virtual absl::Duration Now() = 0;
};

// Makes one subscriber's events complete from the moment it is ready, for topics that have an
// owner: requests from the owner's record what the hub has lost.
//
// Tracks the end of the delivered entries of each lane of each topic. It delivers an event that
// continues its lane and drops one that was delivered already. A gap, a tail beyond the end, a new
// hub and a restarted owner make it call the owner's Since; meanwhile it holds back events of those
// topics. It reports as lost the entries that the owner does not (or no longer) have, and, if the
// owner does not answer for 30 seconds, everything that it has requested.
//
// The initial positions come from the owners' Ends, called after the subscription took effect, so
// that the first event never shows a gap. With a Beginning they are earlier positions, and the
// owners' entries from there are delivered first, as fast as the receiver has room for them.
//
// Not thread safe; bus thread only.
class Recovery {
 public:
  struct Options {
    std::vector<std::string> prefixes;
    RecoveryCalls* calls = nullptr;  // Not owned.
    std::optional<Beginning> beginning = std::nullopt;
    // Returns true if a page of events has room; nothing is requested otherwise. Unset: always
    // true.
    std::function<bool()> has_room = {};
    // Delivers an event. `message` encodes `event`; `recovered`: it comes from the owner's record,
    // not from the hub.
    std::function<void(std::string_view topic, const msg::Envelope& event,
                       std::span<const std::uint8_t> message, bool recovered)>
        deliver;
    // Reports lost events; 0: unknown number. The topic may be a root.
    std::function<void(std::string_view topic, std::uint64_t lost)> lost;
    // Runs once the owners were asked; from then on everything is complete.
    std::function<void()> ready;
  };
  explicit Recovery(Options options);
  ~Recovery();
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  // True if the topic has an owner from which it recovers.
  bool Handles(std::string_view topic) const;

  // Call when the first greeting arrives, or that of a new hub. It was sent at `greeted_us`
  // (microseconds since 1970): events sent from then on are delivered even if an earlier answer of
  // the owner's Ends already included them.
  void HubHeard(std::int64_t greeted_us = std::numeric_limits<std::int64_t>::max());
  // The connection to the same hub was interrupted: messages that it forwarded meanwhile are
  // missing.
  void ConnectedAnew();
  // A service was started: its record may contain entries that it had no time to publish.
  void ServiceStarted(std::string_view service);
  // Returns the services that it calls.
  std::vector<std::string> Services() const;
  // Handles an Event or Tail of a topic for which Handles() is true; `frame` encodes it. `hole`:
  // the sequence numbers show missing messages before it.
  void OnMessage(std::string_view topic, const Frame& frame, const msg::Envelope& event, bool hole);

  // Returns the number of calls of Since.
  std::uint64_t asked() const;

 private:
  class Owner;
  const Options options_;
  std::vector<std::unique_ptr<Owner>> owners_;
  std::size_t not_ready_ = 0;
  bool heard_ = false;
  std::int64_t greeted_us_ = 0;
};

}  // namespace bus

#endif  // BUS_THREAD_RECOVERY_H_
