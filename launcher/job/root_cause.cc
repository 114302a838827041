#include "launcher/job/root_cause.h"

#include <signal.h>

#include <algorithm>
#include <climits>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

// Two ends that are this close may be recorded in the wrong order.
constexpr std::int64_t kTogetherUs = 100'000;
// Lines on stderr within this time before the end of a task count as its last words.
constexpr std::int64_t kLastWordsUs = 1'000'000;
// If the last words of one task are older than those of another by this much, they cannot be about
// the end of the other. (The margin is for two shims that do not read the clock at the same time.)
constexpr std::int64_t kEarlierUs = 2'000;

bool HasEnded(const TaskEnd& end, const FailureRules& rules) {
  return end.ended_us != 0 && end.ended_us >= rules.since_us;
}

bool WasStopped(const TaskEnd& end) {
  return end.was_stopped && (end.stopped_us == 0 || end.stopped_us <= end.ended_us);
}

// Ranks tasks that ended together by how likely each has brought the others down; 0: most likely.
int Weight(const TaskEnd& end) {
  if (end.out_of_memory) return 0;
  if (end.signal == SIGPIPE) return 3;
  return end.signal != 0 && end.signal != SIGABRT ? 1 : 2;
}

bool HasLastWords(const TaskEnd& end) {
  return end.spoke_us != 0 && end.spoke_us >= end.ended_us - kLastWordsUs;
}

// True if the end of a task was seen later but its last words came earlier. A process that exits
// closes its connections long before its end is seen if other processes use the CPU meanwhile.
bool SpokeEarlier(const TaskEnd& end, const TaskEnd& first) {
  return HasLastWords(end) && HasLastWords(first) && end.spoke_us + kEarlierUs <= first.spoke_us;
}

bool EndedBefore(const TaskEnd* a, const TaskEnd* b) { return a->ended_us < b->ended_us; }

// Returns the first failure among the tasks that failed by themselves, which are sorted by rank.
const TaskEnd* Cause(std::vector<const TaskEnd*> failed, bool keep_going) {
  const TaskEnd& first = **std::min_element(failed.begin(), failed.end(), EndedBefore);
  std::erase_if(failed, [&](const TaskEnd* end) {
    const bool may_be_first = !keep_going && SpokeEarlier(*end, first);
    return end->ended_us > first.ended_us + kTogetherUs && !may_be_first;
  });
  int weight = INT_MAX;
  for (const TaskEnd* const end : failed) weight = std::min(weight, Weight(*end));
  std::erase_if(failed, [&](const TaskEnd* end) { return Weight(*end) != weight; });
  const bool by_words = std::all_of(failed.begin(), failed.end(),
                                    [](const TaskEnd* end) { return HasLastWords(*end); });
  return *std::min_element(failed.begin(), failed.end(), [&](const TaskEnd* a, const TaskEnd* b) {
    return by_words ? std::tuple(a->spoke_us, a->ended_us) < std::tuple(b->spoke_us, b->ended_us)
                    : EndedBefore(a, b);
  });
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
  std::vector<const TaskEnd*> failed;
  std::int64_t first_us = std::numeric_limits<std::int64_t>::max();
  for (const TaskEnd& end : ends) {
    if (!HasEnded(end, rules) || end.success || WasStopped(end)) continue;
    failed.push_back(&end);
    first_us = std::min(first_us, end.ended_us);
  }
  const TaskEnd* const first =
      failed.empty() ? nullptr : Cause(std::move(failed), rules.keep_going);
  if (first == nullptr && rules.time_over_us == 0) return std::nullopt;
  msg::FailureT failure;
  if (first != nullptr) {
    failure.task = first->task;
    failure.attempt = static_cast<std::uint32_t>(first->attempt);
    failure.reason = Reason(*first);
    failure.time_us = first->ended_us;
  } else {
    failure.reason = rules.time_over;
    failure.time_us = first_us = rules.time_over_us;
  }
  for (const TaskEnd& end : ends) {
    if (&end == first || !HasEnded(end, rules) || end.ended_us < first_us) continue;
    const bool ends_others = first == nullptr || !rules.keep_going || first->task == rules.chief;
    const bool follows = !end.success && first != nullptr && !rules.keep_going;
    if ((WasStopped(end) && ends_others) || follows) failure.consequences.push_back(end.task);
  }
  return failure;
}

}  // namespace launcher
