#ifndef BUS_LAST_VALUES_H_
#define BUS_LAST_VALUES_H_

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bus/frame.h"

namespace bus {

// The last message of each topic, for those who come later. Topics that were not published to for
// the longest time go first when there are too many or they are too large. Not thread safe.
class LastValues {
 public:
  explicit LastValues(std::size_t max_topics = 10'000, std::size_t max_bytes = 16 << 20)
      : max_topics_(max_topics), max_bytes_(max_bytes) {}
  LastValues(const LastValues&) = delete;
  LastValues& operator=(const LastValues&) = delete;

  // Shares `body`. One that is over an eighth of the bytes is not kept, nor is the topic's last.
  void Put(std::string_view topic, const Frame& body);
  std::optional<Frame> Get(std::string_view topic) const;
  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string topic;
    Frame body;
  };
  void Drop(std::list<Entry>::iterator entry);

  const std::size_t max_topics_;
  const std::size_t max_bytes_;
  std::list<Entry> entries_;  // The longest unused first.
  std::unordered_map<std::string_view, std::list<Entry>::iterator> index_;  // Keys are in entries_.
  std::size_t bytes_ = 0;
};

}  // namespace bus

#endif  // BUS_LAST_VALUES_H_
