#ifndef BUS_THREAD_OUTBOX_H_
#define BUS_THREAD_OUTBOX_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bus/thread/counters.h"
#include "bus/wire/frame.h"
#include "runtime/mutex.h"

namespace bus {

// The messages that wait to be sent to one caller of a Service, in order. Any thread may add; the
// bus thread takes.
class Outbox {
 public:
  struct Item {
    bool delimiter = false;  // The caller is a REQ socket: an empty frame comes first.
    Frame frame;
  };
  enum class Added { kNo, kYes, kYesAndFlush };

  // `waiting` (not owned) counts the bytes in all outboxes together.
  Outbox(std::string identity, Counter* waiting)
      : identity_(std::move(identity)), waiting_(waiting) {}
  ~Outbox() { (void)Close(); }
  const std::string& identity() const { return identity_; }

  // Adds all of `items` or none: none if over `limit` bytes would wait then (unless nothing waits
  // now) or the caller has gone. kYesAndFlush: nobody is about to empty it, the caller of Add()
  // sees to it.
  Added Add(std::span<Item> items, std::size_t limit);
  // The next item to send; nothing if the outbox is empty (the next Add() then says kYesAndFlush).
  std::optional<Item> Take();
  // Puts back what could not be sent.
  void Untake(Item item);
  // Calls `writable` on the bus thread once less than half of a stream's limit waits. Returns it
  // if that is so now or the caller has gone.
  std::function<void()> WhenWritable(std::function<void()> writable);
  // Those to be called now. For the bus thread after it has sent.
  std::vector<std::function<void()>> TakeWritable();
  // The caller has gone: drops everything. Returns the callbacks that waited.
  std::vector<std::function<void()>> Close();

  bool empty() const;
  bool closed() const;
  static constexpr std::size_t kStreamBytes = 4 << 20;

 private:
  const std::string identity_;
  Counter* const waiting_;
  mutable runtime::Mutex mutex_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
  std::size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool flushing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> writable_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace bus

#endif  // BUS_THREAD_OUTBOX_H_
