#include "trainer/trial/trial_order.h"

#include "absl/strings/str_cat.h"

namespace trainer {
namespace {

using msg::TrialMilestone;
using msg::TrialState;
using State = TrialOrder::State;

bool HasEnded(TrialState state) {
  return state == TrialState::Done || state == TrialState::Stopped || state == TrialState::Failed;
}

bool HasCome(const AwaitedTrial& trial, TrialMilestone milestone) {
  if (milestone == TrialMilestone::Started) return trial.has_begun;
  if (milestone == TrialMilestone::Ended) return HasEnded(trial.state);
  return trial.state == TrialState::Done;
}

std::string Words(const std::string& id, const std::string& name, TrialMilestone milestone) {
  constexpr const char* kWords[] = {" to be done", " to end", " to start"};
  return absl::StrCat("trial ", name.empty() || name == id ? id : absl::StrCat(name, " (", id, ")"),
                      kWords[static_cast<int>(milestone)]);
}

std::string HowItEnded(const AwaitedTrial& trial) {
  const char* const how = trial.state == TrialState::Failed    ? "has failed"
                          : trial.state == TrialState::Stopped ? "was stopped"
                                                               : "has ended without that";
  return absl::StrCat(how, trial.reason.empty() ? "" : ": ", trial.reason);
}

}  // namespace

TrialOrder OrderOf(const msg::TrialOptionsT& options, const FindAwaited& find) {
  for (const auto& after : options.after) {
    const auto other = find(after->trial);
    const std::string words = Words(after->trial, other ? other->name : "", after->milestone);
    if (!other)
      return {State::kFailed, absl::StrCat("waited for ", words, ", and it is forgotten")};
    if (HasCome(*other, after->milestone)) continue;
    if (!HasEnded(other->state)) return {State::kWaits, absl::StrCat("waits for ", words)};
    return {State::kFailed, absl::StrCat("waited for ", words, ", and it ", HowItEnded(*other))};
  }
  return {};
}

absl::Status CheckAfter(const msg::TrialOptionsT& options) {
  if (options.after.size() > kMostAwaited) {
    return absl::InvalidArgumentError(
        absl::StrCat("after: ", options.after.size(), " trials, more than ", kMostAwaited));
  }
  for (const auto& after : options.after) {
    if (after->trial.empty()) return absl::InvalidArgumentError("after: a trial without a name");
    if (after->milestone > TrialMilestone::MAX) {
      return absl::InvalidArgumentError("after: an unknown milestone");
    }
  }
  return absl::OkStatus();
}

}  // namespace trainer
