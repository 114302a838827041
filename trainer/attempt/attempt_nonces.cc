#include "trainer/attempt/attempt_nonces.h"

namespace trainer {

void AttemptNonces::Add(const std::string& nonce, const AttemptKey& attempt) {
  attempts_[nonce] = {attempt};
}

void AttemptNonces::ForgetLater(const std::string& nonce) {
  const auto found = attempts_.find(nonce);
  if (found == attempts_.end()) return;
  found->second.until = clock_->Now() + kLateReports;
  PlanForgetting();
}

std::optional<AttemptKey> AttemptNonces::Find(std::string_view nonce) const {
  const auto found = attempts_.find(nonce);
  if (found == attempts_.end()) return std::nullopt;
  return found->second.attempt;
}

void AttemptNonces::ForgetDue() {
  const absl::Time now = clock_->Now();
  std::erase_if(attempts_, [&](const auto& entry) { return entry.second.until <= now; });
  for (const auto& [nonce, entry] : attempts_) {
    if (entry.until != absl::InfiniteFuture()) return PlanForgetting();
  }
}

// One timer removes all expired nonces together, because short trials leave many of them.
void AttemptNonces::PlanForgetting() {
  if (!timer_.is_set()) timer_.Start(loop_, kLateReports / 4, [this] { ForgetDue(); });
}

}  // namespace trainer
