#include "launcher/job/job_order.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

std::string Words(const msg::AfterJobT& after) {
  constexpr const char* kWords[] = {"start", "be ready", "complete"};
  return absl::StrCat("job ", after.job, " to ", kWords[static_cast<int>(after.milestone)]);
}

bool WasStopped(const JobRow& row) {
  return row.status.stop_requested ||
         (row.tasks.size() == 1 && row.status.tasks[0].stop == StopCause::kAsked);
}

bool HasCome(const JobRow& row, msg::Milestone milestone) {
  if (milestone == msg::Milestone::Completed) {
    return row.has_ended() && StateOf(row.status) == msg::TaskState::Exited;
  }
  return std::all_of(row.status.tasks.begin(), row.status.tasks.end(),
                     [&](const TaskStatus& task) { return HasReached(task, milestone); });
}

}  // namespace

Event OrderOf(const msg::JobSpecT& spec, const FindRow& find) {
  for (const auto& after : spec.after) {
    const JobRow* const row = find(after->job);
    if (row == nullptr) {
      return event::JobsFailed{
          absl::StrCat("waited for ", Words(*after), ", and that job is forgotten")};
    }
    const bool is_stopped = row->has_ended() && WasStopped(*row);
    if (!is_stopped && HasCome(*row, after->milestone)) continue;
    if (!row->has_ended()) return event::JobsAwaited{absl::StrCat("waits for ", Words(*after))};
    if (is_stopped) {
      return event::JobsAwaited{
          absl::StrCat("waits for ", Words(*after), ", which somebody has stopped")};
    }
    const msg::JobT job = JobMessage(*row, "");
    return event::JobsFailed{
        absl::StrCat("waited for ", Words(*after), ", and it has ",
                     job.state == msg::TaskState::Exited ? "ended without that" : "failed",
                     job.reason.empty() ? "" : ": ", job.reason)};
  }
  return event::JobsCame{};
}

absl::Status CheckOrder(const msg::JobSpecT& spec, const FindRow& find) {
  for (const auto& after : spec.after) {
    if (after->job == spec.name && !spec.name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("after: job ", spec.name, " cannot wait for itself"));
    }
    if (find(after->job) == nullptr) {
      return absl::NotFoundError(absl::StrCat("after: there is no job ", after->job));
    }
  }
  return absl::OkStatus();
}

}  // namespace launcher
