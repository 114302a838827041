#ifndef BUS_EVENT_RECENT_EVENTS_H_
#define BUS_EVENT_RECENT_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "bus/call/record_page.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/frame.h"

namespace bus {

// The record behind `e/`: the last events of users, within a number of bytes, in the memory of
// the hub. A lane is a publisher (its source), a position its sequence number. Not thread safe.
class RecentEvents {
 public:
  explicit RecentEvents(std::size_t max_bytes = 64 << 20) : max_bytes_(max_bytes) {}

  // Shares `event`, a verified Event with a head.
  void Add(std::string_view topic, const msg::Head& head, const Frame& event);
  // The answers to Common.Ends and Common.Since. Lanes that are not named are not wanted.
  msg::EndsReplyT Ends(const msg::EndsRequestT& request) const;
  msg::SinceReplyT Since(const msg::SinceRequestT& request) const;
  std::size_t bytes() const { return bytes_; }

 private:
  struct Event {
    std::uint64_t seq;
    std::int64_t sent_us;
    Frame frame;
  };
  struct Lane {
    std::deque<Event> events;      // Never empty.
    std::int64_t dropped_us = -1;  // When the one before them was sent, which is not here any more.
  };
  using Lanes = std::map<std::uint64_t, Lane>;  // By source.
  using Topics = std::map<std::string, Lanes, std::less<>>;
  // Moves `event` on to the first one sent at `since_us` or later, and adds to the page the
  // position before it. False: the page is full.
  static bool Begin(std::string_view topic, std::uint64_t source, const Lane& lane,
                    std::int64_t since_us, std::deque<Event>::const_iterator* event,
                    SincePage* page);
  static std::size_t Cost(std::string_view topic, const Frame& event) {
    return topic.size() + event.size() + 128;
  }
  void DropOldest();

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  Topics topics_;
  std::deque<std::pair<Topics::iterator, std::uint64_t>> order_;  // Oldest first.
};

}  // namespace bus

#endif  // BUS_EVENT_RECENT_EVENTS_H_
