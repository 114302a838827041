#include "tools/yard/follow/failure_block.h"

#include <errno.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/text/table.h"

namespace yard {
namespace {

constexpr std::size_t kLines = 20;
constexpr std::size_t kLongestLine = 500;
constexpr std::size_t kNames = 16;

// Returns "worker-0" for the task "j-abcde/worker-0".
std::string ShortName(const msg::TaskT& task) { return task.id.substr(task.id.find('/') + 1); }

bool IsBad(msg::TaskState state) {
  return state == msg::TaskState::Failed || state == msg::TaskState::Lost;
}

const msg::TaskT* FindTask(const msg::JobT& job, const std::string& name) {
  for (const auto& task : job.tasks) {
    if (ShortName(*task) == name) return task.get();
  }
  return nullptr;
}

// Fallback for a launcher that reports no failure: returns the bad task that ended first.
const msg::TaskT* FirstBad(const msg::JobT& job) {
  const msg::TaskT* first = nullptr;
  const auto end = [](const msg::TaskT& task) {
    return task.attempts.empty() ? std::int64_t{0} : task.attempts.back()->ended_us;
  };
  for (const auto& task : job.tasks) {
    if (IsBad(task->state) && (first == nullptr || end(*task) < end(*first))) first = task.get();
  }
  return first;
}

const msg::TaskT* Culprit(const msg::JobT& job) {
  return job.failure != nullptr ? FindTask(job, job.failure->task) : FirstBad(job);
}

const msg::AttemptT* CulpritsAttempt(const msg::JobT& job) {
  const msg::TaskT* const task = Culprit(job);
  if (task == nullptr || task->attempts.empty()) return nullptr;
  for (const auto& attempt : task->attempts) {
    if (job.failure != nullptr && attempt->number == job.failure->attempt) return attempt.get();
  }
  return task->attempts.back().get();
}

void Row(std::string* text, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  std::string padded(key);
  padded.resize(std::max<std::size_t>(padded.size(), 10), ' ');
  absl::StrAppend(text, "  ", padded, runtime::Printable(value), "\n");
}

std::string Names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNames);
  std::string text =
      absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", ");
  if (names.size() > shown) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

// Returns the headline of the failure, for example "j-abcde FAILED: worker-1: exit code 3".
std::string Headline(const msg::JobT& job, const msg::TaskT* culprit) {
  std::string text = job.id;
  if (!job.name.empty() && job.name != job.id) absl::StrAppend(&text, " ", job.name);
  absl::StrAppend(&text, " FAILED: ");
  const std::string& why = job.failure != nullptr ? job.failure->reason : job.reason;
  const std::string name = culprit == nullptr ? "" : ShortName(*culprit);
  if (!name.empty() && !why.starts_with(name)) absl::StrAppend(&text, name, ": ");
  return runtime::Printable(absl::StrCat(text, why.empty() ? "no reason is known" : why)) + "\n";
}

std::string When(const msg::JobT& job, const msg::AttemptT* attempt) {
  if (attempt == nullptr) return "";
  const std::int64_t end = attempt->ended_us != 0   ? attempt->ended_us
                           : job.failure != nullptr ? job.failure->time_us
                                                    : 0;
  std::string text = absl::StrCat(attempt->number);
  if (attempt->started_us != 0 && end > attempt->started_us) {
    absl::StrAppend(&text, ", after ",
                    ShortDuration(absl::Microseconds(end - attempt->started_us)));
  }
  if (attempt->core_dumped) absl::StrAppend(&text, ", core dumped");
  if (attempt->out_of_memory) absl::StrAppend(&text, ", out of memory");
  return text;
}

// Returns the tasks that failed by themselves, besides the culprit.
std::vector<std::string> Others(const msg::JobT& job, const msg::TaskT* culprit) {
  std::vector<std::string> others;
  for (const auto& task : job.tasks) {
    if (task.get() == culprit || !IsBad(task->state)) continue;
    const std::string name = ShortName(*task);
    if (job.failure != nullptr &&
        std::count(job.failure->consequences.begin(), job.failure->consequences.end(), name) > 0) {
      continue;
    }
    others.push_back(task->reason.empty() ? name : absl::StrCat(name, " (", task->reason, ")"));
  }
  return others;
}

}  // namespace

bool HasFailed(const msg::JobT& job) { return IsBad(job.state) && !job.stop_requested; }

std::string FailureBlock(const msg::JobT& job) {
  if (!HasFailed(job)) return "";
  const msg::TaskT* const culprit = Culprit(job);
  std::string text = "\n" + Headline(job, culprit);
  std::string log = culprit == nullptr ? "" : culprit->stderr_path;
  if (job.failure != nullptr) {
    const auto& lines = job.failure->last_lines;
    for (std::size_t i = lines.size() - std::min(lines.size(), kLines); i < lines.size(); ++i) {
      absl::StrAppend(&text, "  | ", runtime::Printable(lines[i].substr(0, kLongestLine)), "\n");
    }
    if (!job.failure->log_path.empty()) log = job.failure->log_path;
  }
  Row(&text, "attempt", When(job, CulpritsAttempt(job)));
  Row(&text, "log", log);
  Row(&text, "also", Names(Others(job, culprit)));
  if (job.failure != nullptr && !job.failure->consequences.empty()) {
    Row(&text, "ended", absl::StrCat("because of it: ", Names(job.failure->consequences)));
  }
  Row(&text, "next",
      absl::StrCat("yard logs ",
                   culprit == nullptr || job.tasks.size() == 1 ? job.id : culprit->id));
  return text;
}

int JobExitCode(const msg::JobT& job) {
  if (!HasFailed(job)) return kDone;
  if (job.failure != nullptr && job.failure->task.empty()) return kTimedOut;
  const msg::AttemptT* const attempt = CulpritsAttempt(job);
  if (attempt == nullptr) return kFailed;
  if (attempt->error_number == ENOENT) return 127;
  if (attempt->error_number != 0) return 126;
  if (attempt->signal != 0) return 128 + attempt->signal;
  return attempt->exit_code != 0 ? attempt->exit_code : kFailed;
}

}  // namespace yard
