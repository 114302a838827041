#ifndef TRAINER_ENDED_TRIALS_H_
#define TRAINER_ENDED_TRIALS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bus/schema/trainer_generated.h"

namespace trainer {

// What is kept in memory of a trial that has ended: what it is found by, and what it is shown as.
// Everything else is in the store.
struct EndedTrial {
  std::int64_t number = 0;  // TrialRecord::number.
  std::string id, request_id, name, run_directory, group;
  msg::TrialState state = msg::TrialState::Done;
  std::int64_t reports = 0;     // Its last row.
  std::int64_t changed_us = 0;  // See Trials::Extent.
  std::string message;          // Packed; empty if it is large.
};

// Of ten thousand ended trials nobody asks for most, so each has to cost little, where a whole one
// is 8 kB. (Ray Tune keeps each trial whole.) Not thread safe.
class EndedTrials {
 public:
  // Longer messages are not kept: MessageOf() has none then.
  static constexpr std::size_t kMaxMessage = 1024;

  // One of that number, id and request id is not here. `message` is what it is shown as.
  void Add(EndedTrial trial, const msg::TrialT& message);
  void Remove(std::int64_t number);

  // Oldest first.
  const std::map<std::int64_t, EndedTrial>& all() const { return trials_; }
  std::size_t size() const { return trials_.size(); }
  // Null: there is none. Valid until it is removed.
  const EndedTrial* ByNumber(std::int64_t number) const;
  const EndedTrial* ById(std::string_view id) const;
  const EndedTrial* ByRequest(std::string_view request_id) const;
  static std::optional<msg::TrialT> MessageOf(const EndedTrial& trial);

 private:
  using Index = std::unordered_map<std::string_view, const EndedTrial*>;  // Of its own strings.

  static const EndedTrial* Find(const Index& index, std::string_view key);

  std::map<std::int64_t, EndedTrial> trials_;
  Index ids_, requests_;
};

}  // namespace trainer

#endif  // TRAINER_ENDED_TRIALS_H_
