#include "launcher/barrier_calls.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"
#include "launcher/share/barrier_line.h"

namespace launcher {

BarrierCalls::~BarrierCalls() {
  for (const auto& [id, job] : jobs_) table_->Forget(job->observer);
}

void BarrierCalls::Arrive(const std::string& id, const msg::BarrierRequestT& request,
                          absl::Duration longest, Done done) {
  const auto named = table_->Find(request.task);
  if (!named.ok()) return done(named.status());
  if (named->task == kWholeJob) {
    return done(absl::InvalidArgumentError(
        absl::StrCat("task: \"", request.task, "\" is no task; JOB/worker-0 is one")));
  }
  const JobRow& row = *table_->Row(named->job);
  if (row.has_ended()) {
    return done(absl::FailedPreconditionError(absl::StrCat("job ", row.id, " has ended")));
  }
  Job& job = Find(row);
  const absl::Duration asked =
      request.timeout_ms == 0 ? absl::InfiniteDuration() : absl::Milliseconds(request.timeout_ms);
  const Barriers::Arrival arrival{.ticket = ++last_ticket_,
                                  .id = id,
                                  .task = row.tasks[static_cast<std::size_t>(named->task)].name(),
                                  .name = request.name,
                                  .parties = request.parties,
                                  .timeout = std::min(asked, longest)};
  job.waiting[arrival.ticket] = std::move(done);
  Answer(row.id, job.barriers.Arrive(arrival, clock_->Monotonic()));
}

void BarrierCalls::ArriveByLine(const std::string& id, const std::string& task,
                                std::string_view line, std::function<void(std::string)> answer) {
  auto barrier = ParseBarrierLine(line);
  if (!barrier.ok()) return answer(BarrierAnswer("", barrier.status()));
  barrier->request.task = task;
  Arrive(id, barrier->request, absl::InfiniteDuration(),
         [seq = barrier->seq, answer = std::move(answer)](const absl::StatusOr<int>& place) {
           answer(BarrierAnswer(seq, place));
         });
}

BarrierCalls::Job& BarrierCalls::Find(const JobRow& row) {
  std::unique_ptr<Job>& job = jobs_[row.id];
  if (job == nullptr) {
    std::vector<std::string> names;
    for (const TaskRow& task : row.tasks) names.push_back(task.name());
    job = std::make_unique<Job>(names);
    job->restarts = row.status.restarts;
    for (std::size_t i = 0; i < row.tasks.size(); ++i) {
      job->known[i].attempt = row.status.tasks[i].attempt;
    }
    job->observer = table_->Observe(row.id, [this, id = row.id] { Look(id); });
    Look(row.id);  // Some tasks may have already ended.
  }
  return *job;
}

// Informs the job's barriers of the tasks that have started or ended since the last call.
void BarrierCalls::Look(const std::string& id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  Job& job = *found->second;
  const JobRow* const row = table_->Row(id);
  if (row == nullptr || row->has_ended()) return Forget(id);
  std::vector<Barriers::Answer> answers;
  const auto add = [&](std::vector<Barriers::Answer> more) {
    std::move(more.begin(), more.end(), std::back_inserter(answers));
  };
  if (std::exchange(job.restarts, row->status.restarts) != row->status.restarts) {
    add(job.barriers.Reset());
    for (Job::Known& known : job.known) known.has_ended = false;
  }
  for (std::size_t i = 0; i < job.known.size(); ++i) {
    const TaskStatus& status = row->status.tasks[i];
    const std::string name = row->tasks[i].name();
    const bool is_over =
        HasEnded(status.state) || (status.state == msg::TaskState::Pending && status.attempt > 0);
    const bool is_another = status.attempt != job.known[i].attempt;
    if ((is_over || is_another) && !job.known[i].has_ended && job.known[i].attempt > 0) {
      const AttemptRow* const attempt = row->tasks[i].attempt(job.known[i].attempt);
      add(job.barriers.TaskEnded(name, attempt == nullptr ? status.reason : attempt->reason));
    }
    if (!is_over && (is_another || job.known[i].has_ended)) job.barriers.TaskStarted(name);
    job.known[i] = {.attempt = status.attempt, .has_ended = is_over};
  }
  Answer(id, std::move(answers));
}

// Passes on answers. (A callback may call Arrive() again, or end the job's barriers.)
void BarrierCalls::Answer(const std::string& id, std::vector<Barriers::Answer> answers) {
  SetTimer(id);
  for (Barriers::Answer& answer : answers) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) return;
    auto waiting = job->second->waiting.extract(answer.ticket);
    if (!waiting.empty()) waiting.mapped()(std::move(answer.place));
  }
}

void BarrierCalls::SetTimer(const std::string& id) {
  Job& job = *jobs_.at(id);
  job.timer.Cancel();
  const absl::Duration next = job.barriers.NextTimeout();
  if (next == absl::InfiniteDuration()) return;
  job.timer.Start(loop_, std::max(next - clock_->Monotonic(), absl::ZeroDuration()), [this, id] {
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) return;
    Answer(id, job->second->barriers.Expire(clock_->Monotonic()));
  });
}

void BarrierCalls::Forget(const std::string& id) {
  const auto job = jobs_.extract(id);
  table_->Forget(job.mapped()->observer);
  for (const auto& [ticket, done] : job.mapped()->waiting) {
    done(absl::FailedPreconditionError(absl::StrCat("job ", id, " has ended")));
  }
}

}  // namespace launcher
