#include "tools/yard/event/event_queue.h"

#include <utility>

namespace yard {

bool EventQueue::HasRoom(const Item& item) const {
  // An item above the limit still passes through an empty queue.
  if (items_.empty()) return true;
  return items_.size() < options_.max_items &&
         bytes_ + item.topic.size() + item.text.size() <= options_.max_bytes;
}

void EventQueue::Add(Item item) {
  runtime::MutexLock lock(mutex_);
  if (closed_) return;
  // After a drop, nothing is accepted until the queue is drained, so that the loss has one
  // position.
  if (dropped_ > 0 || !HasRoom(item)) {
    if (!item.is_loss || item.lost_events > 0) dropped_ += item.is_loss ? item.lost_events : 1;
    return;
  }
  bytes_ += item.topic.size() + item.text.size();
  items_.push_back(std::move(item));
  changed_.Signal();
}

bool EventQueue::HasHalf() const {
  runtime::MutexLock lock(mutex_);
  return items_.size() < options_.max_items / 2 && bytes_ < options_.max_bytes / 2;
}

void EventQueue::Close() {
  runtime::MutexLock lock(mutex_);
  closed_ = true;
  changed_.SignalAll();
}

bool EventQueue::closed() const {
  runtime::MutexLock lock(mutex_);
  return closed_;
}

std::optional<EventQueue::Item> EventQueue::Take(absl::Duration deadline) {
  runtime::MutexLock lock(mutex_);
  while (items_.empty() && dropped_ == 0 && !closed_) {
    if (options_.clock->Monotonic() >= deadline) return std::nullopt;
    options_.clock->WaitUntil(changed_, mutex_, deadline);
  }
  if (closed_) return std::nullopt;
  if (items_.empty()) return Item{.is_loss = true, .lost_events = std::exchange(dropped_, 0)};
  Item item = std::move(items_.front());
  items_.pop_front();
  bytes_ -= item.topic.size() + item.text.size();
  return item;
}

}  // namespace yard
