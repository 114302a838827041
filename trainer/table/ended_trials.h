#ifndef TRAINER_TABLE_ENDED_TRIALS_H_
#define TRAINER_TABLE_ENDED_TRIALS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bus/schema/trainer_generated.h"

namespace trainer {

// The part of an ended trial that stays in memory: its keys and the message that shows it.
// Everything else is in the store.
class EndedTrial {
 public:
  // Facts that the message lacks.
  struct Facts {
    std::int64_t number = 0;      // TrialRecord::number.
    std::int64_t changed_us = 0;  // See Trials::Extent.
    std::string_view request_id;  // Copied.
  };
  // `message` is the trial's message.
  EndedTrial(const Facts& facts, const msg::TrialT& message);

  std::int64_t number() const { return number_; }
  std::int64_t reports() const { return reports_; }  // Number of its last row.
  std::int64_t changed_us() const { return changed_us_; }
  msg::TrialState state() const { return state_; }
  std::string_view request_id() const { return Text(0); }
  std::string_view id() const { return Text(1); }
  std::string_view name() const { return Text(2); }
  std::string_view run_directory() const { return Text(3); }
  std::string_view group() const { return Text(4); }
  // Returns nullopt if the message was too large to be kept (EndedTrials::kMaxMessage).
  std::optional<msg::TrialT> Message() const;

 private:
  static constexpr std::size_t kTexts = 5;

  std::string_view Text(std::size_t place) const {
    const std::uint32_t begin = ends_[place];
    return {bytes_.get() + begin, ends_[place + 1] - begin};
  }

  std::int64_t number_, reports_, changed_us_;
  // The packed message without these texts, followed by the texts; `ends_` has the end of each
  // part.
  std::unique_ptr<char[]> bytes_;
  std::array<std::uint32_t, kTexts + 1> ends_{};
  msg::TrialState state_;
};

// Keeps ended trials in little memory, since most of ten thousand are never looked at: about 0.7 kB
// each if command line and last report are short, instead of 8 kB for a whole trial. (Ray Tune
// keeps whole trials.) Not thread-safe.
class EndedTrials {
 public:
  // Larger messages are not kept.
  static constexpr std::size_t kMaxMessage = 1024;

  // Precondition: no trial in here has the same number, id or request id.
  void Add(const EndedTrial::Facts& facts, const msg::TrialT& message);
  void Remove(std::int64_t number);

  // Returns all trials, oldest first.
  const std::map<std::int64_t, EndedTrial>& all() const { return trials_; }
  std::size_t size() const { return trials_.size(); }
  // Returns the `count` trials that ended last, or fewer, latest first. Takes time in proportion to
  // the number returned.
  std::vector<const EndedTrial*> Latest(std::size_t count) const;
  // Return null if no trial has that key. The pointer is valid until the trial is removed.
  const EndedTrial* ByNumber(std::int64_t number) const;
  const EndedTrial* ById(std::string_view id) const;
  const EndedTrial* ByRequest(std::string_view request_id) const;

 private:
  // Indexes trials by one of their own texts, which need not be stored a second time.
  using Text = std::string_view (EndedTrial::*)() const;
  template <Text kText>
  struct Key {
    using is_transparent = void;
    static std::string_view Of(const EndedTrial* trial) { return (trial->*kText)(); }
    static std::string_view Of(std::string_view text) { return text; }
    // Hash.
    std::size_t operator()(const auto& key) const noexcept {
      return std::hash<std::string_view>()(Of(key));
    }
    // Equality.
    bool operator()(const auto& a, const auto& b) const { return Of(a) == Of(b); }
  };
  template <Text kText>
  using Index = std::unordered_set<const EndedTrial*, Key<kText>, Key<kText>>;

  std::map<std::int64_t, EndedTrial> trials_;
  // Pairs of end time and number, sorted. (Trials arrive nearly in this order.)
  std::vector<std::pair<std::int64_t, std::int64_t>> by_end_;
  Index<&EndedTrial::id> ids_;
  Index<&EndedTrial::request_id> requests_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_ENDED_TRIALS_H_
