#include "bus/thread/outbox.h"

#include <utility>

namespace bus {

Outbox::Added Outbox::Add(std::span<Item> items, std::size_t limit) {
  std::size_t size = 0;
  for (const Item& item : items) size += item.frame.size();
  runtime::MutexLock lock(mutex_);
  if (closed_ || (!items_.empty() && bytes_ + size > limit)) return Added::kNo;
  bytes_ += size;
  waiting_->Add(size);
  for (Item& item : items) items_.push_back(std::move(item));
  return std::exchange(flushing_, true) ? Added::kYes : Added::kYesAndFlush;
}

std::optional<Outbox::Item> Outbox::Take() {
  runtime::MutexLock lock(mutex_);
  if (items_.empty()) {
    flushing_ = false;
    return std::nullopt;
  }
  std::optional<Item> item(std::move(items_.front()));
  items_.pop_front();
  bytes_ -= item->frame.size();
  waiting_->Subtract(item->frame.size());
  return item;
}

void Outbox::Untake(Item item) {
  runtime::MutexLock lock(mutex_);
  bytes_ += item.frame.size();
  waiting_->Add(item.frame.size());
  items_.push_front(std::move(item));
}

std::function<void()> Outbox::WhenWritable(std::function<void()> writable) {
  runtime::MutexLock lock(mutex_);
  if (closed_ || bytes_ <= kStreamBytes / 2) return writable;
  writable_.push_back(std::move(writable));
  return nullptr;
}

std::vector<std::function<void()>> Outbox::TakeWritable() {
  runtime::MutexLock lock(mutex_);
  if (bytes_ > kStreamBytes / 2) return {};
  return std::exchange(writable_, {});
}

std::vector<std::function<void()>> Outbox::Close() {
  runtime::MutexLock lock(mutex_);
  closed_ = true;
  items_.clear();
  // (A handler may keep a closed, empty outbox longer than the counter exists.)
  if (bytes_ != 0) waiting_->Subtract(std::exchange(bytes_, 0));
  return std::exchange(writable_, {});
}

bool Outbox::empty() const {
  runtime::MutexLock lock(mutex_);
  return items_.empty();
}

bool Outbox::closed() const {
  runtime::MutexLock lock(mutex_);
  return closed_;
}

}  // namespace bus
