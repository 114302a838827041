// The launcher of a FakeYard.

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_methods.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/testing/fake_yard.h"
#include "tools/yard/testing/lookup.h"

namespace yard {
namespace {

using runtime::MutexLock;

constexpr std::int64_t kSomeTime = 1'700'000'000'000'000;

}  // namespace

void FakeYard::AddJob(const std::string& id, const std::string& name, msg::TaskState state) {
  msg::JobT job;
  job.id = id;
  job.name = name;
  job.state = state;
  job.argv = {"sleep", "9"};
  job.created_us = kSomeTime;
  AddJob(std::move(job));
}

void FakeYard::AddJob(msg::JobT job) {
  MutexLock lock(mutex_);
  jobs_.push_back(std::move(job));
}

void FakeYard::AddOutput(const std::string& job, msg::LogStream stream, const std::string& bytes) {
  AddTaskOutput(job + "/worker-0", 1, stream, bytes);
  MutexLock lock(mutex_);
  for (Held& held : trials_) {
    if (held.trial.job.empty()) held.trial.job = job;
  }
}

void FakeYard::AddTaskOutput(const std::string& task, std::uint32_t attempt, msg::LogStream stream,
                             const std::string& bytes) {
  MutexLock lock(mutex_);
  auto& parts = output_[task.substr(0, task.find('/'))];
  msg::LogsReplyT part;
  part.task = task;
  part.attempt = attempt;
  part.stream = stream;
  for (const auto& before : parts) {
    const bool same = before.task == task && before.attempt == attempt && before.stream == stream;
    part.offset += same ? before.data.size() : 0;
  }
  part.data.assign(bytes.begin(), bytes.end());
  parts.push_back(std::move(part));
}

msg::JobSpecT FakeYard::last_launch() {
  MutexLock lock(mutex_);
  return last_launch_;
}

msg::LogsRequestT FakeYard::last_logs() {
  MutexLock lock(mutex_);
  return last_logs_;
}

std::vector<msg::SearchLogsRequestT> FakeYard::searches() {
  MutexLock lock(mutex_);
  return searches_;
}

std::vector<std::string> FakeYard::asked() {
  MutexLock lock(mutex_);
  return asked_;
}

bool FakeYard::AwaitFollower() {
  MutexLock lock(mutex_);
  while (held_.empty()) {
    if (!changed_.WaitWithTimeout(mutex_, absl::Seconds(30))) return !held_.empty();
  }
  return true;
}

void FakeYard::CutOff() {
  MutexLock lock(mutex_);
  for (const auto& finish : std::exchange(held_, {})) finish(absl::AbortedError("cut off"));
}

absl::StatusOr<int> FakeYard::FindJob(const std::string& name) const {
  const auto itself = [](const msg::JobT& job) -> const msg::JobT& { return job; };
  return FindThingIn(jobs_, name.substr(0, name.find('/')), itself, "there is no job ");
}

void FakeYard::ServeLauncher() {
  using rpc::Launcher;
  bus::Service& service = Serve("launcher");
  service.Handle<Launcher::Services>(
      [](const bus::CallContext&, const auto&) -> absl::StatusOr<msg::ServicesReplyT> {
        msg::ServicesReplyT reply;
        auto trainer = std::make_unique<msg::SupervisedServiceT>();
        trainer->name = "trainer";
        trainer->restarts = 3;
        reply.services.push_back(std::move(trainer));
        return reply;
      });
  service.Handle<Launcher::Jobs>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::JobsReplyT> {
        if (absl::Status broken = Check("launcher"); !broken.ok()) return broken;
        MutexLock lock(mutex_);
        msg::JobsReplyT reply;
        if (request.job.empty()) {
          std::vector<const msg::JobT*> all;
          for (const auto& job : jobs_) all.push_back(&job);
          reply.jobs = ListedOf(all, request);
          listed_ += reply.jobs.size();
          return reply;
        }
        const auto found = FindJob(request.job);
        if (!found.ok()) return found.status();
        reply.jobs.push_back(std::make_unique<msg::JobT>(jobs_[*found]));
        return reply;
      });
  service.Handle<Launcher::StopJob>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::StopJobReplyT> {
        MutexLock lock(mutex_);
        const auto found = FindJob(request.job);
        if (!found.ok()) return found.status();
        stopped_.push_back(jobs_[*found].id);
        asked_.push_back(absl::StrCat("stop ", request.job, " ", request.grace_ms));
        const bool only_asks = request.grace_ms == 0;
        if (keeps_running_ && only_asks) return msg::StopJobReplyT();
        jobs_[*found].stop_requested = true;
        jobs_[*found].state = msg::TaskState::Failed;
        jobs_[*found].ended_us = kSomeTime + static_cast<std::int64_t>(stopped_.size());
        for (const auto& finish : std::exchange(held_, {})) finish(absl::OkStatus());
        return msg::StopJobReplyT();
      });
  service.HandleAsync<Launcher::WaitJob>([this](auto writer, const auto& request) {
    MutexLock lock(mutex_);
    const auto found = FindJob(request.job);
    if (!found.ok()) return writer->Finish(found.status());
    msg::JobT& job = jobs_[*found];
    for (const std::string& why : std::exchange(waits_, {})) {
      msg::WaitJobReplyT part;
      part.job = std::make_unique<msg::JobT>(job);
      part.job->state = msg::TaskState::Pending;
      part.job->reason = why;
      (void)writer->SendPart(std::move(part));
      job.state = msg::TaskState::Running;
      job.reason.clear();
    }
    if (job.state == msg::TaskState::Running) {
      msg::WaitJobReplyT part;
      part.job = std::make_unique<msg::JobT>(job);
      (void)writer->SendPart(std::move(part));
    }
    if (!HasEnded(job.state)) job.state = msg::TaskState::Exited;
    msg::WaitJobReplyT reply;
    reply.job = std::make_unique<msg::JobT>(job);
    writer->Finish(std::move(reply));
  });
  service.Handle<Launcher::SearchLogs>(
      [this](const bus::CallContext&,
             const msg::SearchLogsRequestT& request) -> absl::StatusOr<msg::SearchLogsReplyT> {
        MutexLock lock(mutex_);
        searches_.push_back(request);
        if (request.pattern == "(") return absl::InvalidArgumentError("pattern: missing )");
        // The search has two answers with one line each.
        msg::SearchLogsReplyT reply;
        const bool is_first = request.cursor.empty();
        reply.lines.push_back(std::make_unique<msg::FoundLineT>());
        msg::FoundLineT& line = *reply.lines.back();
        line.task = is_first ? "j-abcde/worker-1" : "j-other/worker-0";
        line.attempt = 1;
        line.stream = is_first ? msg::LogStream::Stderr : msg::LogStream::Stdout;
        line.offset = 7;
        line.time_us = 1'714'573'805'000'000 - (is_first ? 0 : 1'000'000);
        const std::string text = is_first ? "newer" : "older";
        line.text.assign(text.begin(), text.end());
        reply.jobs.push_back(std::make_unique<msg::SearchedJobT>());
        reply.jobs.back()->id = is_first ? "j-abcde" : "j-other";
        if (is_first) reply.jobs.back()->name = "train";
        if (is_first) reply.next = "further on";
        return reply;
      });
  service.HandleAsync<Launcher::Logs>([this](auto writer, const auto& request) {
    MutexLock lock(mutex_);
    last_logs_ = request;
    const std::string job = request.job.substr(0, request.job.find('/'));
    const auto found = output_.find(job);
    if (found == output_.end() && !holds_)
      return writer->Finish(absl::NotFoundError("no such job"));
    for (const auto& part : output_[job]) {
      const bool wanted = (request.job == job || request.job == part.task) &&
                          (!request.errors_only || part.stream == msg::LogStream::Stderr);
      if (wanted) (void)writer->SendPart(msg::LogsReplyT(part));
    }
    if (!holds_ || !request.follow) return writer->Finish(msg::LogsReplyT());
    held_.push_back([writer](const absl::Status& status) {
      if (status.ok()) return writer->Finish(msg::LogsReplyT());
      writer->Finish(status);
    });
    changed_.SignalAll();
  });
  service.Handle<Launcher::Usage>(
      [this](const bus::CallContext&, const auto&) -> absl::StatusOr<msg::UsageReplyT> {
        return usage_;
      });
  if (kill_modes_.has_value()) {
    service.Handle<Launcher::KillModes>(
        [this](const bus::CallContext&, const auto&) -> absl::StatusOr<msg::KillModesReplyT> {
          return *kill_modes_;
        });
  }
  ServeControl(&service);
}

void FakeYard::ServeControl(bus::Service* service) {
  using rpc::Launcher;
  service->Handle<Launcher::Launch>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::LaunchReplyT> {
        if (absl::Status broken = Check("launcher"); !broken.ok()) return broken;
        MutexLock lock(mutex_);
        last_launch_ = *request.spec;
        if (jobs_.empty()) return absl::InternalError("the test has no job to launch");
        msg::LaunchReplyT reply;
        reply.job = std::make_unique<msg::JobT>(jobs_.front());
        return reply;
      });
  service->Handle<Launcher::SignalJob>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::SignalJobReplyT> {
        MutexLock lock(mutex_);
        const auto found = FindJob(request.job);
        if (!found.ok()) return found.status();
        asked_.push_back(absl::StrCat("signal ", request.job, " ", request.signal));
        msg::SignalJobReplyT reply;
        for (const auto& task : jobs_[*found].tasks) {
          if (!HasEnded(task->state)) reply.tasks.push_back(task->id);
        }
        return reply;
      });
  service->Handle<Launcher::RestartJob>(
      [this](const bus::CallContext&,
             const auto& request) -> absl::StatusOr<msg::RestartJobReplyT> {
        MutexLock lock(mutex_);
        const auto found = FindJob(request.job);
        if (!found.ok()) return found.status();
        asked_.push_back(absl::StrCat("restart ", request.job, " ", request.grace_ms));
        msg::RestartJobReplyT reply;
        reply.job = std::make_unique<msg::JobT>(jobs_[*found]);
        return reply;
      });
  service->Handle<Launcher::RemoveJob>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::RemoveJobReplyT> {
        MutexLock lock(mutex_);
        const auto found = FindJob(request.job);
        if (!found.ok()) return found.status();
        if (!HasEnded(jobs_[*found].state)) {
          return absl::FailedPreconditionError(
              absl::StrCat("the job ", jobs_[*found].id, " has not ended"));
        }
        asked_.push_back(absl::StrCat("remove ", request.job));
        return msg::RemoveJobReplyT();
      });
}

}  // namespace yard
