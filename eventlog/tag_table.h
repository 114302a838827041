#ifndef EVENTLOG_TAG_TABLE_H_
#define EVENTLOG_TAG_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace eventlog {

// Numbers for the tags of a run, from 0 on in the order in which they were seen. Not thread safe.
//
// A training program writes its tags in the same order step after step, so the tag that came
// behind this one last time is tried first: one comparison, no hash.
class TagTable {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNone = std::numeric_limits<Id>::max();
  // A tag with a longer name has no number.
  static constexpr std::size_t kMaxTagBytes = 64 << 10;

  TagTable() = default;
  TagTable(const TagTable&) = delete;
  TagTable& operator=(const TagTable&) = delete;

  // The tag's number, a new one if it has none; kNone if its name is too long.
  Id Intern(std::string_view tag) {
    if (expected_ < tags_.size() && tags_[expected_].name == tag) [[likely]] {
      last_ = expected_;
      expected_ = tags_[last_].next;
      return last_;
    }
    return FindOrAdd(tag);
  }
  // The tag's number, or kNone.
  Id Find(std::string_view tag) const;

  // Valid as long as the table is.
  std::string_view name(Id id) const { return tags_[id].name; }
  std::size_t size() const { return tags_.size(); }
  // Memory that it holds, nearly.
  std::size_t Bytes() const;

 private:
  struct Tag {
    std::string_view name;  // In a block.
    Id next = kNone;        // The tag that came behind it last time.
  };
  Id FindOrAdd(std::string_view tag);
  std::string_view Keep(std::string_view name);

  std::vector<Tag> tags_;
  std::unordered_map<std::string_view, Id> ids_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_bytes_ = 0;  // Of all blocks.
  char* free_ = nullptr;         // The unused end of the last one.
  std::size_t free_bytes_ = 0;
  Id last_ = kNone;
  Id expected_ = kNone;
};

}  // namespace eventlog

#endif  // EVENTLOG_TAG_TABLE_H_
