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

// The part of an ended trial that stays in memory: the keys by which it is found, and the message
// as which it is shown. Everything else is in the store.
class EndedTrial {
 public:
  // Facts that only the trainer knows.
  struct Facts {
    std::int64_t number = 0;      // TrialRecord::number.
    std::int64_t changed_us = 0;  // See Trials::Extent.
    std::string_view request_id;  // Copied.
  };
  // `message` is what it is shown as.
  EndedTrial(const Facts& facts, const msg::TrialT& message);

  std::int64_t number() const { return number_; }
  std::int64_t reports() const { return reports_; }  // Its last row.
  std::int64_t changed_us() const { return changed_us_; }
  msg::TrialState state() const { return state_; }
  std::string_view request_id() const { return Text(0); }
  std::string_view id() const { return Text(1); }
  std::string_view name() const { return Text(2); }
  std::string_view run_directory() const { return Text(3); }
  std::string_view group() const { return Text(4); }
  // Unset if the message is too large to be kept (EndedTrials::kMaxMessage).
  std::optional<msg::TrialT> Message() const;

 private:
  static constexpr std::size_t kTexts = 5;

  std::string_view Text(std::size_t place) const {
    const std::uint32_t begin = ends_[place];
    return {bytes_.get() + begin, ends_[place + 1] - begin};
  }

  std::int64_t number_, reports_, changed_us_;
  // The packed message without these texts, then they: where each ends.
  std::unique_ptr<char[]> bytes_;
  std::array<std::uint32_t, kTexts + 1> ends_{};
  msg::TrialState state_;
};

// Keeps ended trials in little memory, since nobody asks for most of ten thousand: about 0.7 kB
// each if its command line and last report are short, where a whole trial takes 8 kB. (Ray Tune
// keeps each trial whole.) Not thread safe.
class EndedTrials {
 public:
  // Longer messages are not kept: the trial has none then.
  static constexpr std::size_t kMaxMessage = 1024;

  // Precondition: no trial here has that number, id or request id.
  void Add(const EndedTrial::Facts& facts, const msg::TrialT& message);
  void Remove(std::int64_t number);

  // Oldest first.
  const std::map<std::int64_t, EndedTrial>& all() const { return trials_; }
  std::size_t size() const { return trials_.size(); }
  // The trials that ended last, at most `count`, latest first. The cost grows with their number
  // only.
  std::vector<const EndedTrial*> Latest(std::size_t count) const;
  // Null if no trial has that key. Valid until the trial is removed.
  const EndedTrial* ByNumber(std::int64_t number) const;
  const EndedTrial* ById(std::string_view id) const;
  const EndedTrial* ByRequest(std::string_view request_id) const;

 private:
  // Trials by one of their own texts, which need not be there a second time.
  using Text = std::string_view (EndedTrial::*)() const;
  template <Text kText>
  struct Key {
    using is_transparent = void;
    static std::string_view Of(const EndedTrial* trial) { return (trial->*kText)(); }
    static std::string_view Of(std::string_view text) { return text; }
    // Its hash.
    std::size_t operator()(const auto& key) const noexcept {
      return std::hash<std::string_view>()(Of(key));
    }
    // Equal.
    bool operator()(const auto& a, const auto& b) const { return Of(a) == Of(b); }
  };
  template <Text kText>
  using Index = std::unordered_set<const EndedTrial*, Key<kText>, Key<kText>>;

  std::map<std::int64_t, EndedTrial> trials_;
  // By when they ended, and number; sorted. (They come nearly in this order.)
  std::vector<std::pair<std::int64_t, std::int64_t>> by_end_;
  Index<&EndedTrial::id> ids_;
  Index<&EndedTrial::request_id> requests_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_ENDED_TRIALS_H_
