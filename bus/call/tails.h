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

// The last sequence numbers of a publisher's topics. The publisher repeats each of them once after
// a second of silence and again for each new hub, so that a lost last event shows too. Topics that
// have been silent for the longest are forgotten when there are too many. Not thread safe.
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

  // An event has been published at `now` (monotonic).
  void Note(const std::string& topic, std::uint64_t seq, std::optional<msg::Span> span,
            absl::Duration now);
  // Everything has to be told again, a second from `now`: there is a new hub, and subscribers
  // are on their way to it.
  void TellAll(absl::Duration now);
  // Takes the tails whose time has come, at most `limit`; they count as told.
  std::vector<Tail> Take(absl::Duration now, std::size_t limit);
  // When to call Take() next; InfiniteDuration: not until Note() or TellAll().
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
  Entries waiting_;                                                // In the order of `due`.
  Entries told_;                                                   // The longest silent first.
  std::unordered_map<std::string_view, Entries::iterator> index_;  // Keys are in the entries.
};

// The message of a tail.
Frame EncodeTail(const Tails::Tail& tail, std::uint64_t source, std::uint64_t epoch,
                 std::int64_t sent_us);

}  // namespace bus

#endif  // BUS_CALL_TAILS_H_
