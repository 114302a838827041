#include "datamanager/catalog/tag_levels.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "bus/wire/topic.h"

namespace datamanager {
namespace {

bool Before(const TagLevels::Entry& a, const TagLevels::Entry& b) {
  return a.level != b.level ? a.level < b.level : a.tag < b.tag;
}

}  // namespace

std::span<const TagLevels::Entry> TagLevels::Get(const RunData& data) {
  if (generation_ != data.generation()) {
    generation_ = data.generation();
    tags_ = 0;
    entries_.clear();
  }
  if (tags_ == data.tag_count()) return entries_;
  const auto known = static_cast<std::ptrdiff_t>(entries_.size());
  for (; tags_ < data.tag_count(); ++tags_) {
    const auto tag = static_cast<RunData::TagId>(tags_);
    entries_.push_back({absl::StrCat(bus::EncodeLevel(data.tag_name(tag)), "/"), tag});
  }
  std::sort(entries_.begin() + known, entries_.end(), Before);
  std::inplace_merge(entries_.begin(), entries_.begin() + known, entries_.end(), Before);
  const auto same = [](const Entry& a, const Entry& b) { return a.level == b.level; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
  return entries_;
}

std::optional<RunData::TagId> TagLevels::Find(const RunData& data, std::string_view level) {
  const std::span<const Entry> all = Get(data);
  const auto found = std::lower_bound(
      all.begin(), all.end(), level,
      [](const Entry& entry, std::string_view wanted) { return entry.level < wanted; });
  if (found == all.end() || found->level != level) return std::nullopt;
  return found->tag;
}

}  // namespace datamanager
