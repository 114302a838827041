#include "launcher/testing/call/pool_call.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/clock.h"

namespace launcher::testing {
namespace {

absl::Duration Now() { return runtime::Clock::Real()->Monotonic(); }

}  // namespace

PoolCall::PoolCall(std::vector<std::string> workers)
    : workers_(std::move(workers)), answers_(workers_.size()) {}

void PoolCall::Answer(std::size_t worker, CallResult result, bool died) {
  runtime::MutexLock lock(mutex_);
  if (answers_[worker]) return;
  answers_[worker] = Answered{std::move(result), died};
  changed_.SignalAll();
}

std::optional<PoolCall::Answered> PoolCall::AwaitOne(std::size_t worker, absl::Duration until) {
  runtime::MutexLock lock(mutex_);
  while (!answers_[worker] && Now() < until) {
    runtime::Clock::Real()->WaitUntil(changed_, mutex_, until);
  }
  return answers_[worker];
}

Outcome PoolCall::Await(absl::Duration task_timeout, absl::Duration run_timeout) {
  Outcome outcome;
  const absl::Duration start = Now();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    auto answer = AwaitOne(i, std::min(start + run_timeout, Now() + task_timeout));
    if (!answer) {
      outcome.status = absl::DeadlineExceededError(absl::StrCat(
          workers_[i], " has not answered the pool in ", absl::FormatDuration(Now() - start)));
      outcome.error = RunError::kTimeout;
      return outcome;
    }
    const absl::Status& status = answer->result.status;
    const bool is_worse = answer->died && outcome.error == RunError::kTaskFailed;
    if (!status.ok() && (outcome.ok() || is_worse)) {
      outcome.error = answer->died ? RunError::kUnexpectedExit : RunError::kTaskFailed;
      outcome.status =
          absl::Status(status.code(), absl::StrCat(workers_[i], ": ", status.message()));
    }
    if (answer->result.value) {
      outcome.result.returns.push_back({workers_[i], *std::move(answer->result.value)});
    }
  }
  return outcome;
}

}  // namespace launcher::testing
