#include "bus/thread/topic_table.h"

#include <algorithm>
#include <iterator>

namespace bus {

void TopicTable::Put(std::string_view topic, const Frame& body, std::int64_t now_us) {
  const auto found = index_.find(topic);
  Entries::iterator entry;
  if (found == index_.end()) {
    entries_.push_back(Row{.topic = std::string(topic), .first_us = now_us});
    entry = std::prev(entries_.end());
    index_.emplace(entry->topic, entry);
  } else {
    entry = found->second;
    if (entry == with_last_) ++with_last_;
    entries_.splice(entries_.end(), entries_, entry);
  }
  if (with_last_ == entries_.end()) with_last_ = entry;
  ++entry->events;
  entry->bytes += body.size();
  entry->last_us = now_us;
  GiveUpLast(*entry);
  if (body.size() <= max_bytes_ / 8) {
    entry->last = body.Share();
    bytes_ += body.size();
  }
  while (bytes_ > max_bytes_) GiveUpLast(*with_last_++);
  while (entries_.size() > max_topics_) {
    if (with_last_ == entries_.begin()) ++with_last_;
    GiveUpLast(entries_.front());
    index_.erase(entries_.front().topic);
    entries_.pop_front();
  }
}

void TopicTable::GiveUpLast(Row& row) {
  if (!row.last.has_value()) return;
  bytes_ -= row.last->size();
  row.last.reset();
}

std::optional<Frame> TopicTable::Last(std::string_view topic) const {
  const auto found = index_.find(topic);
  if (found == index_.end() || !found->second->last.has_value()) return std::nullopt;
  return found->second->last->Share();
}

TopicTable::Row TopicTable::Copy(const Row& row) {
  Row copy{.topic = row.topic,
           .events = row.events,
           .bytes = row.bytes,
           .first_us = row.first_us,
           .last_us = row.last_us};
  if (row.last.has_value()) copy.last = row.last->Share();
  return copy;
}

TopicTable::Page TopicTable::List(std::string_view prefix, std::string_view after,
                                  std::size_t limit) const {
  std::vector<const Row*> found;
  for (const Row& row : entries_) {
    if (row.topic.starts_with(prefix) && row.topic > after) found.push_back(&row);
  }
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(limit, found.size()));
  std::partial_sort(found.begin(), end, found.end(),
                    [](const Row* a, const Row* b) { return a->topic < b->topic; });
  Page page;
  page.more = end != found.end();
  page.rows.reserve(static_cast<std::size_t>(end - found.begin()));
  for (auto row = found.begin(); row != end; ++row) page.rows.push_back(Copy(**row));
  return page;
}

std::optional<TopicTable::Row> TopicTable::Find(std::string_view topic) const {
  const auto found = index_.find(topic);
  if (found == index_.end()) return std::nullopt;
  return Copy(*found->second);
}

}  // namespace bus
