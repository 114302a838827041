#ifndef BUS_THREAD_TOPIC_TABLE_H_
#define BUS_THREAD_TOPIC_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bus/wire/frame.h"

namespace bus {

// Counts the messages of each topic, and keeps the last one for later subscribers of the hub. When
// there are too many topics, the least recently published ones are forgotten; when the kept
// messages are too large together, only the messages of those topics are dropped. One hash look-up
// per message. Not thread safe.
class TopicTable {
 public:
  explicit TopicTable(std::size_t max_topics = 10'000, std::size_t max_bytes = 16 << 20)
      : max_topics_(max_topics), max_bytes_(max_bytes) {}
  TopicTable(const TopicTable&) = delete;
  TopicTable& operator=(const TopicTable&) = delete;

  // Counts a message and keeps it, sharing the memory of `body`. A message larger than an eighth of
  // max_bytes is only counted, and the topic's previous message is dropped. `now_us`: microseconds
  // since 1970.
  void Put(std::string_view topic, const Frame& body, std::int64_t now_us);
  // Returns the topic's last message; null if it is not kept.
  std::optional<Frame> Last(std::string_view topic) const;

  struct Row {
    std::string topic = {};
    std::optional<Frame> last = std::nullopt;
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;  // Total size of the topic's messages.
    std::int64_t first_us = 0;
    std::int64_t last_us = 0;
  };
  struct Page {
    std::vector<Row> rows;
    bool more = false;  // More topics follow the last row.
  };
  // Returns topics that begin with `prefix` and sort after `after`, in ascending order, at most
  // `limit`.
  Page List(std::string_view prefix, std::string_view after, std::size_t limit) const;
  std::optional<Row> Find(std::string_view topic) const;

  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return bytes_; }  // Size of the kept messages.

 private:
  using Entries = std::list<Row>;
  static Row Copy(const Row& row);
  void GiveUpLast(Row& row);

  const std::size_t max_topics_;
  const std::size_t max_bytes_;
  Entries entries_;                               // The least recently used first.
  Entries::iterator with_last_ = entries_.end();  // No entry before it has a last message.
  std::unordered_map<std::string_view, Entries::iterator> index_;  // Keys are in entries_.
  std::size_t bytes_ = 0;
};

}  // namespace bus

#endif  // BUS_THREAD_TOPIC_TABLE_H_
