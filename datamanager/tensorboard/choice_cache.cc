#include "datamanager/tensorboard/choice_cache.h"

#include <iterator>
#include <utility>

namespace datamanager::tensorboard {

std::size_t ChoiceCache::BytesOf(const Entry& entry) {
  constexpr std::size_t kNodes = 256;  // Nodes of the list and the map; both contain the name.
  return kNodes + 2 * entry.series.run.size() + entry.message->size();
}

std::shared_ptr<const std::string> ChoiceCache::Find(const Series& series, const State& state) {
  const runtime::MutexLock lock(mutex_);
  const auto found = by_series_.find(series);
  if (found == by_series_.end() || found->second->state != state) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->message;
}

void ChoiceCache::Put(const Series& series, const State& state,
                      std::shared_ptr<const std::string> message) {
  const runtime::MutexLock lock(mutex_);
  if (const auto found = by_series_.find(series); found != by_series_.end()) Remove(found->second);
  Entry entry = {series, state, std::move(message)};
  if (BytesOf(entry) > most_bytes_) return;
  bytes_ += BytesOf(entry);
  entries_.push_front(std::move(entry));
  by_series_[series] = entries_.begin();
  while (bytes_ > most_bytes_) Remove(std::prev(entries_.end()));
}

std::size_t ChoiceCache::bytes() const {
  const runtime::MutexLock lock(mutex_);
  return bytes_;
}

void ChoiceCache::Remove(Entries::iterator entry) {
  bytes_ -= BytesOf(*entry);
  by_series_.erase(entry->series);
  entries_.erase(entry);
}

}  // namespace datamanager::tensorboard
