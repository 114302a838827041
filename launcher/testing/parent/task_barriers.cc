#include "launcher/testing/parent/task_barriers.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "runtime/clock.h"

namespace launcher::testing {
namespace {

absl::Duration Now() { return runtime::Clock::Real()->Monotonic(); }

}  // namespace

TaskBarriers::TaskBarriers(runtime::EventLoop* loop, const std::vector<std::string>& tasks,
                           std::function<void(const Asked& asked, ObjectReply reply)> reply)
    : loop_(loop), reply_(std::move(reply)), barriers_(tasks) {}

void TaskBarriers::Arrive(const std::string& task, const Asked& asked,
                          const ObjectRequest& request) {
  const Barriers::Ticket ticket = ++last_ticket_;
  asked_[ticket] = asked;
  Give(barriers_.Arrive({.ticket = ticket,
                         .id = "",
                         .task = task,
                         .name = request.key,
                         .parties = request.parties,
                         .timeout = request.timeout},
                        Now()));
}

void TaskBarriers::TaskEnded(const std::string& task, const std::string& how) {
  Give(barriers_.TaskEnded(task, how));
}

void TaskBarriers::Give(const std::vector<Barriers::Answer>& answers) {
  for (const Barriers::Answer& answer : answers) {
    const auto asked = asked_.extract(answer.ticket);
    if (asked.empty()) continue;
    ObjectReply reply;
    reply.status = answer.place.status();
    if (answer.place.ok()) reply.number = *answer.place;
    reply_(asked.mapped(), std::move(reply));
  }
  timer_.Cancel();
  const absl::Duration next = barriers_.NextTimeout();
  if (next == absl::InfiniteDuration()) return;
  timer_.Start(loop_, std::max(next - Now(), absl::ZeroDuration()),
               [this] { Give(barriers_.Expire(Now())); });
}

}  // namespace launcher::testing
