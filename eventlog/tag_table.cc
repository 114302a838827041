#include "eventlog/tag_table.h"

#include <algorithm>
#include <cstring>

namespace eventlog {
namespace {

// Small enough for a run of five tags; doubles each time up to the limit of a name.
constexpr std::size_t kFirstBlockBytes = 256;
// Bytes of a map entry besides its bucket.
constexpr std::size_t kNodeBytes = 48;

}  // namespace

TagTable::Id TagTable::Find(std::string_view tag) const {
  const auto known = ids_.find(tag);
  return known == ids_.end() ? kNone : known->second;
}

TagTable::Id TagTable::FindOrAdd(std::string_view tag) {
  if (tag.size() > kMaxTagBytes) return kNone;
  Id id = Find(tag);
  if (id == kNone) {
    if (tags_.size() >= kMaxTags || name_bytes_ + tag.size() > kMaxNameBytes) {
      overflowed_ = true;
      return kNone;
    }
    name_bytes_ += tag.size();
    id = static_cast<Id>(tags_.size());
    tags_.push_back({.name = Keep(tag)});
    ids_.emplace(tags_.back().name, id);
  }
  if (last_ != kNone) tags_[last_].next = id;
  last_ = id;
  expected_ = tags_[id].next;
  return id;
}

std::string_view TagTable::Keep(std::string_view name) {
  if (name.empty()) return {};
  if (name.size() > free_bytes_) {
    const std::size_t doubled = std::max(kFirstBlockBytes, block_bytes_);
    free_bytes_ = std::max(name.size(), std::min(kMaxTagBytes, doubled));
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(free_bytes_));
    free_ = blocks_.back().get();
    block_bytes_ += free_bytes_;
  }
  std::memcpy(free_, name.data(), name.size());
  const std::string_view kept(free_, name.size());
  free_ += name.size();
  free_bytes_ -= name.size();
  return kept;
}

std::size_t TagTable::Bytes() const {
  return tags_.capacity() * sizeof(Tag) + block_bytes_ + ids_.size() * kNodeBytes +
         ids_.bucket_count() * sizeof(void*);
}

}  // namespace eventlog
