#include "launcher/run/retired_attempts.h"

#include <algorithm>
#include <utility>

namespace launcher {

void RetiredAttempts::Add(const std::string& job, std::unique_ptr<Attempt> attempt) {
  Attempt* const key = attempt.get();
  new_.push_back(key);
  retired_[key] = {std::move(attempt), job};
}

void RetiredAttempts::AddStored(const std::string& job, std::unique_ptr<Attempt> attempt) {
  Attempt* const key = attempt.get();
  retired_[key] = {std::move(attempt), job};
  key->Acknowledge();
}

std::vector<Attempt*> RetiredAttempts::TakeNew() { return std::exchange(new_, {}); }

void RetiredAttempts::Acknowledge(std::vector<Attempt*> stored) {
  if (stored.empty()) return;
  stored_.insert(stored_.end(), stored.begin(), stored.end());
  if (timer_.is_set()) return;
  timer_.Start(loop_, kPause, [this] {
    for (Attempt* attempt : std::exchange(stored_, {})) attempt->Acknowledge();
  });
}

std::string RetiredAttempts::Remove(const Attempt* attempt) {
  const auto retired = retired_.extract(attempt);
  return retired.empty() ? "" : retired.mapped().job;
}

bool RetiredAttempts::HasOf(const std::string& job) const {
  return std::any_of(retired_.begin(), retired_.end(),
                     [&](const auto& retired) { return retired.second.job == job; });
}

}  // namespace launcher
