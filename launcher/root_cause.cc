#include "launcher/root_cause.h"

#include <signal.h>

#include <algorithm>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

bool HasEnded(const TaskEnd& end, const FailureRules& rules) {
  return end.ended_us != 0 && end.ended_us >= rules.since_us;
}

bool WasStopped(const TaskEnd& end) {
  return end.was_stopped && (end.stopped_us == 0 || end.stopped_us <= end.ended_us);
}

// Of those that ended together, how likely it is that one brought the others down; 0: most.
int Weight(const TaskEnd& end) {
  if (end.out_of_memory) return 0;
  if (end.signal == SIGPIPE) return 3;
  return end.signal != 0 ? 1 : 2;
}

bool IsEarlier(const TaskEnd& a, const TaskEnd& b) {
  return std::tuple(a.ended_us, Weight(a)) < std::tuple(b.ended_us, Weight(b));
}

std::string Reason(const TaskEnd& end) {
  if (!end.out_of_memory || absl::StrContains(end.reason, "memory")) return end.reason;
  return absl::StrCat(end.reason, ", out of memory");
}

}  // namespace

TaskEnd LastEnd(const msg::TaskT& task) {
  TaskEnd end;
  end.task = task.id.substr(task.id.find('/') + 1);
  if (task.attempts.empty()) return end;
  const msg::AttemptT& attempt = *task.attempts.back();
  const bool has_failed =
      task.state == msg::TaskState::Failed || task.state == msg::TaskState::Lost;
  end.attempt = static_cast<int>(attempt.number);
  end.ended_us = attempt.ended_us;
  end.success = attempt.exit_code == 0 && attempt.signal == 0 && attempt.error_number == 0 &&
                !attempt.shim_lost && !has_failed;
  end.was_stopped = attempt.was_stopped;
  end.signal = attempt.signal;
  end.out_of_memory = attempt.out_of_memory;
  end.reason = attempt.reason;
  return end;
}

std::optional<msg::FailureT> FirstFailure(std::span<const TaskEnd> ends,
                                          const FailureRules& rules) {
  const TaskEnd* first = nullptr;
  for (const TaskEnd& end : ends) {
    if (!HasEnded(end, rules) || end.success || WasStopped(end)) continue;
    if (first == nullptr || IsEarlier(end, *first)) first = &end;
  }
  if (first == nullptr && rules.time_over_us == 0) return std::nullopt;
  msg::FailureT failure;
  if (first != nullptr) {
    failure.task = first->task;
    failure.attempt = static_cast<std::uint32_t>(first->attempt);
    failure.reason = Reason(*first);
    failure.time_us = first->ended_us;
  } else {
    failure.reason = rules.time_over;
    failure.time_us = rules.time_over_us;
  }
  for (const TaskEnd& end : ends) {
    if (&end == first || !HasEnded(end, rules) || end.ended_us < failure.time_us) continue;
    const bool follows = !end.success && first != nullptr && !rules.keep_going;
    if (WasStopped(end) || follows) failure.consequences.push_back(end.task);
  }
  return failure;
}

}  // namespace launcher
