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

// The record of `e/`: the most recent events of users, in the hub's memory, within a byte limit. A
// lane is a publisher (its source), a position is its sequence number. Not thread safe.
class RecentEvents {
 public:
  explicit RecentEvents(std::size_t max_bytes = 64 << 20) : max_bytes_(max_bytes) {}

  // Adds a verified Event that has a head. Shares the memory of `event`.
  void Add(std::string_view topic, const msg::Head& head, const Frame& event);
  // Handle Common.Ends and Common.Since. Since skips lanes that the request does not name.
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
    std::int64_t dropped_us = -1;  // Send time of the last dropped event.
  };
  using Lanes = std::map<std::uint64_t, Lane>;  // By source.
  using Topics = std::map<std::string, Lanes, std::less<>>;
  // Moves `event` forward to the first event sent at `since_us` or later, and adds the position
  // before it to the page. Returns false if the page is full.
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
