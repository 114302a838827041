#ifndef TOOLS_YARD_EVENT_EVENT_QUEUE_H_
#define TOOLS_YARD_EVENT_EVENT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace yard {

// A bounded queue from the bus thread, which must not block on a slow terminal, to the printing
// thread. Items above the limits are dropped and counted, and the loss is reported in their place.
// Any thread.
class EventQueue {
 public:
  struct Item {
    std::string topic = {};
    std::string text = {};      // Text to print or to keep.
    std::int64_t heard_us = 0;  // Microseconds since 1970.
    std::uint64_t source = 0;   // From the event's head.
    std::uint64_t seq = 0;
    bool is_notice = false;         // `text` is about the events, and goes to stderr.
    bool is_loss = false;           // A loss instead: events of `topic` (empty: any) are missing,
    std::uint64_t lost_events = 0;  // this many; 0 if unknown.
  };
  struct Options {
    std::size_t max_items = 10'000;
    std::size_t max_bytes = 16 << 20;
    runtime::Clock* clock = runtime::Clock::Real();
  };
  explicit EventQueue(Options options) : options_(options) {}

  // Queues an item, or drops and counts it if there is no room. Never blocks.
  void Add(Item item);
  // Returns true if less than half of the capacity is used.
  bool HasHalf() const;
  // Wakes Take(), and discards the queued items.
  void Close();
  // Returns true after Close().
  bool closed() const;
  // Returns the next item; blocks. Nothing if the queue is closed, or at `deadline` (of the clock's
  // Monotonic()).
  std::optional<Item> Take(absl::Duration deadline);

 private:
  bool HasRoom(const Item& item) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
  std::size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace yard

#endif  // TOOLS_YARD_EVENT_EVENT_QUEUE_H_
