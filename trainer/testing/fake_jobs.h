#ifndef TRAINER_TESTING_FAKE_JOBS_H_
#define TRAINER_TESTING_FAKE_JOBS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "runtime/event_loop.h"

namespace trainer {

// A fake launcher that outlives trainers: keeps jobs by request id, and ends one when a test says
// so. Use it on the loop's thread of the current trainer.
class FakeJobs : public bus::JobControl {
 public:
  struct Job {
    std::string request_id;
    std::string trace;
    msg::JobSpecT spec;
    std::function<void()> answer;
    std::optional<msg::JobT> ended;
    std::string waits_for;  // In the launcher's words, until Grant().
    std::int64_t started_us = 0;
    std::vector<absl::Duration> stops;
    std::vector<std::string> stop_traces;
    std::function<void(const msg::JobT&)> watcher;
    std::function<void(absl::StatusOr<msg::JobT>)> follower;
  };
  std::map<std::string, Job> jobs;  // By id: "j-1", "j-2", ...
  std::set<std::string> requests;   // Request ids of launches.
  int launches = 0;                 // Includes refused ones.
  absl::Status refusal;             // Answer to every launch, unless OK.
  bool holds_refusals = false;      // If true, refusals wait for Refuse().
  bool answers = true;              // If false, launches succeed but their answers are lost.
  // If set, new jobs that ask for resources wait with this reason; if empty, they get them at once.
  std::string none_left;

  void SetLoop(runtime::EventLoop* loop) { loop_ = loop; }

  void Launch(const std::string& request_id, const std::string& trace, const msg::JobSpecT& spec,
              std::function<void(absl::StatusOr<std::string>)> done) override {
    ++launches;
    requests.insert(request_id);
    if (!refusal.ok()) {
      refuse_ = [done = std::move(done), error = refusal] { done(error); };
      return holds_refusals ? void() : Refuse();
    }
    std::string id;
    for (const auto& [known, job] : jobs) {
      if (job.request_id == request_id) id = known;
    }
    if (id.empty()) {
      id = absl::StrCat("j-", jobs.size() + 1);
      jobs[id].request_id = request_id;
      jobs[id].trace = trace;
      jobs[id].spec = spec;
      const bool asks = !spec.groups.empty() && !spec.groups.front()->resources.empty();
      if (asks) jobs[id].waits_for = none_left;
    }
    jobs[id].answer = [done = std::move(done), id] { done(id); };
    if (answers) Answer(id);
  }
  // Delivers the refusal of the last refused launch.
  void Refuse() { loop_->Post(refuse_); }
  // Delivers the answer to the last launch of that job.
  void Answer(const std::string& id) { loop_->Post(jobs[id].answer); }

  void Follow(const std::string& id, std::function<void(const msg::JobT&)> changed,
              std::function<void(absl::StatusOr<msg::JobT>)> ended) override {
    if (jobs.count(id) == 0) {
      return loop_->Post([=] { ended(absl::NotFoundError(absl::StrCat("no job ", id))); });
    }
    jobs[id].watcher = std::move(changed);
    jobs[id].follower = std::move(ended);
    if (jobs[id].ended) return Tell(id);
    TellOfNow(id);
  }

  void Stop(const std::string& id, absl::Duration grace, const std::string&,
            const std::string& trace) override {
    jobs[id].stops.push_back(grace);
    jobs[id].stop_traces.push_back(trace);
  }

  void End(const std::string& id, int exit_code, const std::string& stderr_path = "") {
    Finish(id, exit_code == 0 ? "" : absl::StrCat("exit code ", exit_code), exit_code, stderr_path,
           false);
  }
  // Changes what the job waits for.
  void WaitFor(const std::string& id, const std::string& words) {
    jobs[id].waits_for = words;
    TellOfNow(id);
  }
  // Grants the resources that its tasks wait for, and starts them.
  void Grant(const std::string& id, std::int64_t started_us = 0) {
    jobs[id].waits_for.clear();
    jobs[id].started_us = started_us;
    TellOfNow(id);
  }
  // Ends a job that never ran.
  void EndWaiting(const std::string& id) {
    msg::JobT job = Now(id);
    job.state = job.tasks.front()->state = msg::TaskState::Exited;
    job.reason = "stopped: asked to";
    EndAs(id, std::move(job));
  }
  // Reports this state of a job that continues.
  void Change(const std::string& id, const msg::JobT& job) {
    if (jobs[id].watcher) jobs[id].watcher(job);
  }
  // Ends a job of several tasks with the given state.
  void EndAs(const std::string& id, msg::JobT job) {
    jobs[id].ended = std::move(job);
    Tell(id);
  }
  void KillShim(const std::string& id) { Finish(id, "killed", 0, "", true); }

 private:
  void Finish(const std::string& id, const std::string& reason, int exit_code,
              const std::string& stderr_path, bool shim_lost) {
    msg::JobT job;
    job.id = id;
    job.state = reason.empty() ? msg::TaskState::Exited : msg::TaskState::Failed;
    job.reason = reason;
    auto task = std::make_unique<msg::TaskT>();
    task->stderr_path = stderr_path;
    auto attempt = std::make_unique<msg::AttemptT>();
    attempt->exit_code = exit_code;
    attempt->reason = job.reason;
    attempt->shim_lost = shim_lost;
    task->attempts.push_back(std::move(attempt));
    job.tasks.push_back(std::move(task));
    jobs[id].ended = std::move(job);
    Tell(id);
  }
  // Returns the message of a job that has not ended.
  msg::JobT Now(const std::string& id) {
    const bool waits = !jobs[id].waits_for.empty();
    msg::JobT job;
    job.id = id;
    job.state = waits ? msg::TaskState::Pending : msg::TaskState::Running;
    job.reason = jobs[id].waits_for;
    auto task = std::make_unique<msg::TaskT>();
    task->state = job.state;
    if (!waits) {
      task->attempts.push_back(std::make_unique<msg::AttemptT>());
      task->attempts.back()->started_us = jobs[id].started_us;
    }
    job.tasks.push_back(std::move(task));
    return job;
  }
  void TellOfNow(const std::string& id) {
    loop_->Post([this, id] {
      if (jobs[id].watcher && !jobs[id].ended) jobs[id].watcher(Now(id));
    });
  }
  void Tell(const std::string& id) {
    loop_->Post([this, id] {
      if (jobs[id].follower) jobs[id].follower(*jobs[id].ended);
    });
  }
  runtime::EventLoop* loop_ = nullptr;
  std::function<void()> refuse_;
};

}  // namespace trainer

#endif  // TRAINER_TESTING_FAKE_JOBS_H_
