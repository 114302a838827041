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

// Numbers the tags of a run from 0 on, in the order in which they are first seen. Not thread safe.
//
// A training program writes its tags in the same order step after step, so the tag that followed
// this one last time is tried first: one comparison, no hash.
class TagTable {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNone = std::numeric_limits<Id>::max();
  // A tag with a longer name gets no number.
  static constexpr std::size_t kMaxTagBytes = 64 << 10;
  // Neither does a tag that arrives when this many tags, or this many bytes of names, exist. (A
  // caller that keeps data for each tag needs about 1 KB for it.)
  static constexpr std::size_t kMaxTags = 1'000'000;
  static constexpr std::size_t kMaxNameBytes = std::size_t{256} << 20;

  TagTable() = default;
  TagTable(const TagTable&) = delete;
  TagTable& operator=(const TagTable&) = delete;

  // Returns the tag's number, assigning one if necessary; kNone if its name is too long or there is
  // no room.
  Id Intern(std::string_view tag) {
    if (expected_ < tags_.size() && tags_[expected_].name == tag) [[likely]] {
      last_ = expected_;
      expected_ = tags_[last_].next;
      return last_;
    }
    return FindOrAdd(tag);
  }
  // Returns the tag's number, or kNone.
  Id Find(std::string_view tag) const;

  // Valid as long as the table.
  std::string_view name(Id id) const { return tags_[id].name; }
  std::size_t size() const { return tags_.size(); }
  // True once a tag had no room.
  bool overflowed() const { return overflowed_; }
  // True if every tag of `other` can get a number here (or already has one).
  bool HasRoomFor(const TagTable& other) const {
    return !other.overflowed_ && size() + other.size() <= kMaxTags &&
           name_bytes_ + other.name_bytes_ <= kMaxNameBytes;
  }
  // Approximate memory of the table.
  std::size_t Bytes() const;

 private:
  struct Tag {
    std::string_view name;  // Points into a block.
    Id next = kNone;        // The tag that followed it last time.
  };
  Id FindOrAdd(std::string_view tag);
  std::string_view Keep(std::string_view name);

  std::vector<Tag> tags_;
  std::unordered_map<std::string_view, Id> ids_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_bytes_ = 0;  // Size of all blocks.
  std::size_t name_bytes_ = 0;
  char* free_ = nullptr;  // The unused end of the last block.
  std::size_t free_bytes_ = 0;
  bool overflowed_ = false;
  Id last_ = kNone;
  Id expected_ = kNone;
};

}  // namespace eventlog

#endif  // EVENTLOG_TAG_TABLE_H_
