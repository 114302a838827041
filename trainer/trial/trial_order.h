#ifndef TRAINER_TRIAL_TRIAL_ORDER_H_
#define TRAINER_TRIAL_TRIAL_ORDER_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "bus/schema/trainer_generated.h"

namespace trainer {

// The state of the trials that a trial starts after (TrialOptions.after). Pure.

// Most trials that one trial may wait for.
inline constexpr std::size_t kMostAwaited = 100;

// The facts about another trial that matter here.
struct AwaitedTrial {
  std::string name;
  msg::TrialState state = msg::TrialState::Pending;
  bool has_begun = false;
  std::string reason = {};  // Why it has ended, if it has.
};
// Finds a trial by its id; nullopt if it was forgotten.
using FindAwaited = std::function<std::optional<AwaitedTrial>(const std::string& id)>;

struct TrialOrder {
  enum class State { kCame, kWaits, kFailed };
  State state = State::kCame;
  // kWaits: "waits for trial base (t-abcde) to be done"; kFailed: why that is impossible.
  std::string words = {};
};
TrialOrder OrderOf(const msg::TrialOptionsT& options, const FindAwaited& find);

// InvalidArgument for too many trials, an unknown milestone, or a trial without a name.
absl::Status CheckAfter(const msg::TrialOptionsT& options);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_ORDER_H_
