#ifndef TRAINER_TRIAL_TRIAL_ORDER_H_
#define TRAINER_TRIAL_TRIAL_ORDER_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "bus/schema/trainer_generated.h"

namespace trainer {

// How the trials stand that a trial starts after (TrialOptions.after). Pure.

// Trials that one waits for at most.
inline constexpr std::size_t kMostAwaited = 100;

// Another trial, as far as that matters here.
struct AwaitedTrial {
  std::string name;
  msg::TrialState state = msg::TrialState::Pending;
  bool has_begun = false;
  std::string reason = {};  // Why it has ended, if it has.
};
// By its id; nothing: the trial is forgotten.
using FindAwaited = std::function<std::optional<AwaitedTrial>(const std::string& id)>;

struct TrialOrder {
  enum class State { kCame, kWaits, kFailed };
  State state = State::kCame;
  // kWaits: "waits for trial base (t-abcde) to be done"; kFailed: why it never will be.
  std::string words = {};
};
TrialOrder OrderOf(const msg::TrialOptionsT& options, const FindAwaited& find);

// InvalidArgument: too many, an unknown milestone, or a trial without a name.
absl::Status CheckAfter(const msg::TrialOptionsT& options);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_ORDER_H_
