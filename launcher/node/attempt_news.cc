#include "launcher/node/attempt_news.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace launcher {

bool AttemptNews::SetState(const ShimState& state) {
  const bool only_grew = state_ && state_->phase == state.phase && state_->pid == state.pid &&
                         state_->ready == state.ready;
  state_ = state;
  says_state_ = true;
  return !only_grew;
}

void AttemptNews::SetBarrier(const ShimBarrier& barrier) {
  barrier_ = barrier;
  says_barrier_ = true;
}

void AttemptNews::ForgetBarrier(std::uint64_t number) {
  if (barrier_ && barrier_->number == number) barrier_.reset();
}

bool AttemptNews::SetLook(const std::string& why) {
  if (std::exchange(look_, why) == why) return false;
  says_probe_ = true;
  return true;
}

void AttemptNews::SetFailed(const std::string& reason) {
  failed_ = reason;
  says_probe_ = true;
}

void AttemptNews::SetEnd(AttemptEnd end, bool waits) {
  end_ = std::move(end);
  barrier_.reset();
  end_waits_ = waits;
  says_end_ = !waits;
}

bool AttemptNews::FinishEnd(const std::string& problem) {
  if (!std::exchange(end_waits_, false)) return false;
  if (!problem.empty()) absl::StrAppend(&end_->how, "; in $YARD_LOGDIR ", problem);
  says_end_ = true;
  return true;
}

void AttemptNews::SayAll(bool has_probe) {
  says_state_ = state_.has_value();
  says_barrier_ = barrier_.has_value();
  says_probe_ = has_probe;
  says_end_ = end_.has_value() && !end_waits_;
}

std::vector<NodeNews> AttemptNews::Take(const std::string& key) {
  using Kind = NodeNews::Kind;
  std::vector<NodeNews> news;
  const bool says_state = std::exchange(says_state_, false);
  const bool says_barrier = std::exchange(says_barrier_, false);
  const bool says_probe = std::exchange(says_probe_, false);
  if (end_) {
    if (!std::exchange(says_end_, false)) return news;
    news.push_back({.attempt = key,
                    .kind = Kind::kOver,
                    .state = end_->state,
                    .lost = end_->lost,
                    .shim_lost = end_->shim_lost,
                    .how = end_->how});
    return news;
  }
  if (says_state && state_)
    news.push_back({.attempt = key, .kind = Kind::kState, .state = *state_});
  if (says_barrier && barrier_) {
    news.push_back({.attempt = key, .kind = Kind::kBarrier, .barrier = *barrier_});
  }
  if (says_probe && state_) {
    news.push_back({.attempt = key, .kind = Kind::kProbe, .look = look_, .failed = failed_});
  }
  return news;
}

}  // namespace launcher
