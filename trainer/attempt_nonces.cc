#include "trainer/attempt_nonces.h"

namespace trainer {

void AttemptNonces::Add(const std::string& nonce, const AttemptKey& attempt) {
  attempts_[nonce] = {attempt};
}

void AttemptNonces::ForgetLater(const std::string& nonce) {
  const auto found = attempts_.find(nonce);
  if (found == attempts_.end()) return;
  found->second.until = clock_->Now() + kLateReports;
  late_.push_back({found->second.until, nonce});
  ForgetDue();
}

std::optional<AttemptKey> AttemptNonces::Find(std::string_view nonce) const {
  const auto found = attempts_.find(nonce);
  if (found == attempts_.end()) return std::nullopt;
  return found->second.attempt;
}

void AttemptNonces::ForgetDue() {
  const absl::Time now = clock_->Now();
  for (; !late_.empty() && late_.front().until <= now; late_.pop_front()) {
    const auto found = attempts_.find(late_.front().nonce);
    if (found != attempts_.end() && found->second.until <= now) attempts_.erase(found);
  }
  if (late_.empty() || timer_ != 0) return;
  timer_ = loop_->RunAfter(kLateReports / 4, [this] {
    timer_ = 0;
    ForgetDue();
  });
}

}  // namespace trainer
