#include "bus/call/remembered_replies.h"

#include <iterator>
#include <utility>

namespace bus {

void RememberedReplies::Add(const std::string& key, msg::EnvelopeT reply, std::size_t bytes,
                            absl::Duration now) {
  bytes += 2 * key.size() + sizeof(Entry);
  if (bytes > max_bytes_ || index_.contains(key)) return;
  entries_.push_back({key, std::move(reply), bytes, now});
  index_[key] = std::prev(entries_.end());
  bytes_ += bytes;
  while (bytes_ > max_bytes_ || now - entries_.front().added > max_age_) DropOldest();
}

const msg::EnvelopeT* RememberedReplies::Find(const std::string& key, absl::Duration now) {
  while (!entries_.empty() && now - entries_.front().added > max_age_) DropOldest();
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &found->second->reply;
}

void RememberedReplies::DropOldest() {
  bytes_ -= entries_.front().bytes;
  index_.erase(entries_.front().key);
  entries_.pop_front();
}

}  // namespace bus
