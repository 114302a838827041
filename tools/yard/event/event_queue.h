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

// Queue between the bus thread, which must not wait for a slow terminal, and the thread that
// prints. An item without room is dropped and counted, and the loss is told in its place. Any
// thread.
class EventQueue {
 public:
  struct Item {
    std::string topic = {};
    std::string text = {};      // The text to print, or to keep.
    std::int64_t heard_us = 0;  // Microseconds since 1970.
    std::uint64_t source = 0;   // From the event's head.
    std::uint64_t seq = 0;
    bool is_notice = false;         // `text` is about the events, and goes to stderr.
    bool is_loss = false;           // Instead: events of `topic` (empty: any) are missing,
    std::uint64_t lost_events = 0;  // so many; 0: nobody knows.
  };
  struct Options {
    std::size_t max_items = 10'000;
    std::size_t max_bytes = 16 << 20;
    runtime::Clock* clock = runtime::Clock::Real();
  };
  explicit EventQueue(Options options) : options_(options) {}

  void Add(Item item);
  // Is less than half of it used?
  bool HasHalf() const;
  // Wakes Take(); what is still in the queue is not given out any more.
  void Close();
  bool closed() const;
  // Nothing: closed, or `deadline` (of the clock's Monotonic()) has come.
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
