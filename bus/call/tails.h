#ifndef BUS_CALL_TAILS_H_
#define BUS_CALL_TAILS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/frame.h"

namespace bus {

// Remembers the last sequence number of each of a publisher's topics. The publisher repeats each
// number once after a second of silence, and again for each new hub, so that subscribers also
// notice a lost last event. When there are too many topics, the longest silent ones are forgotten.
// Not thread safe.
class Tails {
 public:
  static constexpr absl::Duration kSilence = absl::Seconds(1);
  struct Tail {
    std::string topic;
    std::uint64_t seq = 0;
    std::optional<msg::Span> span;
  };

  explicit Tails(std::size_t max_topics = 10'000) : max_topics_(max_topics) {}
  Tails(const Tails&) = delete;
  Tails& operator=(const Tails&) = delete;

  // Notes an event that was published at `now` (monotonic).
  void Note(const std::string& topic, std::uint64_t seq, std::optional<msg::Span> span,
            absl::Duration now);
  // Makes every tail due again, one second after `now`: a new hub has started, and its subscribers
  // are still connecting.
  void TellAll(absl::Duration now);
  // Takes the tails that are due, at most `limit`, and counts them as sent.
  std::vector<Tail> Take(absl::Duration now, std::size_t limit);
  // Returns when to call Take() next; InfiniteDuration: not before Note() or TellAll().
  absl::Duration next() const {
    return waiting_.empty() ? absl::InfiniteDuration() : waiting_.front().due;
  }

 private:
  struct Entry {
    Tail tail;
    absl::Duration due;
  };
  using Entries = std::list<Entry>;

  const std::size_t max_topics_;
  Entries waiting_;                                                // Ordered by `due`.
  Entries told_;                                                   // The longest silent first.
  std::unordered_map<std::string_view, Entries::iterator> index_;  // Keys point into the entries.
};

// Encodes a tail as a message.
Frame EncodeTail(const Tails::Tail& tail, std::uint64_t source, std::uint64_t epoch,
                 std::int64_t sent_us);

}  // namespace bus

#endif  // BUS_CALL_TAILS_H_
