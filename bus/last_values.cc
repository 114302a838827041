#include "bus/last_values.h"

#include <iterator>

namespace bus {

void LastValues::Put(std::string_view topic, const Frame& body) {
  const auto found = index_.find(topic);
  if (body.size() > max_bytes_ / 8) {
    if (found != index_.end()) Drop(found->second);
    return;
  }
  if (found != index_.end()) {
    Entry& entry = *found->second;
    bytes_ += body.size() - entry.body.size();
    entry.body = body.Share();
    entries_.splice(entries_.end(), entries_, found->second);
  } else {
    entries_.push_back({std::string(topic), body.Share()});
    index_.emplace(entries_.back().topic, std::prev(entries_.end()));
    bytes_ += body.size();
  }
  while (bytes_ > max_bytes_ || entries_.size() > max_topics_) Drop(entries_.begin());
}

std::optional<Frame> LastValues::Get(std::string_view topic) const {
  const auto found = index_.find(topic);
  if (found == index_.end()) return std::nullopt;
  return found->second->body.Share();
}

void LastValues::Drop(std::list<Entry>::iterator entry) {
  bytes_ -= entry->body.size();
  index_.erase(entry->topic);
  entries_.erase(entry);
}

}  // namespace bus
