#ifndef BUS_CALL_REMEMBERED_REPLIES_H_
#define BUS_CALL_REMEMBERED_REPLIES_H_

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>

#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"

namespace bus {

// Keeps replies to calls that must not run twice, for callers that retry. Drops the oldest replies
// once they are older than `max_age` or all together exceed `max_bytes`. Not thread safe.
class RememberedReplies {
 public:
  explicit RememberedReplies(absl::Duration max_age = absl::Seconds(60),
                             std::size_t max_bytes = 8 << 20)
      : max_age_(max_age), max_bytes_(max_bytes) {}

  // `bytes`: size of the encoded reply. `now`: monotonic. Ignores a reply larger than `max_bytes`.
  void Add(const std::string& key, msg::EnvelopeT reply, std::size_t bytes, absl::Duration now);
  // Returns null if no reply is remembered; the pointer is valid until the next call of any method.
  const msg::EnvelopeT* Find(const std::string& key, absl::Duration now);
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string key;
    msg::EnvelopeT reply;
    std::size_t bytes;
    absl::Duration added;
  };
  void DropOldest();

  const absl::Duration max_age_;
  const std::size_t max_bytes_;
  std::list<Entry> entries_;  // Oldest first.
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  std::size_t bytes_ = 0;
};

}  // namespace bus

#endif  // BUS_CALL_REMEMBERED_REPLIES_H_
