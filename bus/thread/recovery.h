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

// Where a subscriber begins in the records of owners, instead of at their ends.
struct Beginning {
  absl::Time time = absl::InfinitePast();  // With what is of then or later.
  std::uint64_t position = 0;              // Behind this place of each lane.
};

// Has every topic that begins so an owner with a record?
bool HasRecord(std::string_view prefix);

// Calls that Recovery makes to its surroundings. Callbacks come later, never from within the call,
// and not after the Recovery has gone.
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

// Makes the events of topics that have an owner complete for one subscriber, from the moment it is
// ready: what the hub loses, the owner's record still has.
//
// It knows for each lane of each topic how far it has delivered. An event that fits is delivered;
// one that is known is dropped; a hole, a tail that says more, a new hub and a restarted owner lead
// to the owner's Since. Meanwhile events of those topics are held back. Recovery reports entries as
// lost that the owner does not have (any more), and all that it has asked for once the owner has
// not answered for 30 seconds.
//
// Positions that it begins with come from the owners' Ends, asked after the subscription is in
// force; so the first event seen is never a hole. With a Beginning they are earlier ones, and what
// the owners have from there comes first, as fast as there is room for it.
//
// Not thread safe; belongs to the bus thread.
class Recovery {
 public:
  struct Options {
    std::vector<std::string> prefixes;
    RecoveryCalls* calls = nullptr;  // Not owned.
    std::optional<Beginning> beginning = std::nullopt;
    // Is there room for a page of events? Nothing is asked for while not. Unset: always.
    std::function<bool()> has_room = {};
    // `message` is what holds `event`; `recovered`: it comes from the owner's record, not the hub.
    std::function<void(std::string_view topic, const msg::Envelope& event,
                       std::span<const std::uint8_t> message, bool recovered)>
        deliver;
    // 0: unknown how many. The topic may be a root.
    std::function<void(std::string_view topic, std::uint64_t lost)> lost;
    // The owners have been asked; from now on everything is complete.
    std::function<void()> ready;
  };
  explicit Recovery(Options options);
  ~Recovery();
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  // Has the topic an owner that it recovers from?
  bool Handles(std::string_view topic) const;

  // The hub is heard for the first time, or another one. It greeted at `greeted_us`: what was sent
  // from then on is delivered even if the owner's answer about its ends, which has it, comes first.
  void HubHeard(std::int64_t greeted_us = std::numeric_limits<std::int64_t>::max());
  // The way to the same hub was lost for a while: messages are missing that it has forwarded.
  void ConnectedAnew();
  // A service has been started: an owner may have in its record what it had no time to publish.
  void ServiceStarted(std::string_view service);
  // The services that it asks.
  std::vector<std::string> Services() const;
  // An Event or Tail of a topic that it handles, in `frame`; `hole`: sequence numbers before it
  // are missing.
  void OnMessage(std::string_view topic, const Frame& frame, const msg::Envelope& event, bool hole);

  // Calls of Since until now.
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
