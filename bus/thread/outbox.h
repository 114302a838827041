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

// The queue of messages to one caller of a Service. Any thread may add; the bus thread takes.
class Outbox {
 public:
  struct Item {
    bool delimiter = false;  // The caller is a REQ socket: an empty frame comes first.
    Frame frame;
  };
  enum class Added { kNo, kYes, kYesAndFlush };

  // `waiting` (not owned) counts the bytes of all outboxes together.
  Outbox(std::string identity, Counter* waiting)
      : identity_(std::move(identity)), waiting_(waiting) {}
  ~Outbox() { (void)Close(); }
  const std::string& identity() const { return identity_; }

  // Adds all of `items` or none: none if more than `limit` bytes would be queued (an empty queue
  // accepts any size) or the caller has disconnected. kYesAndFlush: nobody is emptying the queue,
  // so the caller of Add() must start that.
  Added Add(std::span<Item> items, std::size_t limit);
  // Takes the next item to send; null if the queue is empty (the next Add() then returns
  // kYesAndFlush).
  std::optional<Item> Take();
  // Puts an item that could not be sent back at the front.
  void Untake(Item item);
  // Stores `writable` until less than half of a stream's limit is queued; TakeWritable() then
  // returns it. Returns it at once if that is already so or the caller has disconnected.
  std::function<void()> WhenWritable(std::function<void()> writable);
  // Returns the stored callbacks that are due. The bus thread calls it after sending, and runs
  // them.
  std::vector<std::function<void()>> TakeWritable();
  // Drops everything, because the caller has disconnected. Returns the stored callbacks.
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
