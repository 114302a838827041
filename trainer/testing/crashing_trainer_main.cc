// A trainer without a bus that kills itself with SIGKILL:
//   crashing_trainer DIRECTORY TRIALS POINT COUNT [MODE]
// when it reaches POINT for the COUNT-th time (COUNT 0: never). Prints "ready" once shims may
// connect. MODE:
//   remove   first removes a trial of its own, "removed"
//   spread   writes files some time after the answers
//   tidy     often moves stored entries to their tables, a few at a time
//   launch   exits once all trials run
//   fail     each job fails and each trial is retried once; exits once all have failed
//   pause    pauses all trials, and exits once they are paused
//   resume   resumes all trials, and exits once they run

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "glog/logging.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/thread_pool.h"
#include "trainer/attempt/relay.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trials.h"

namespace {

// A launcher that outlives trainers: DIRECTORY/jobs has a line for each job that was started, and
// for each that has ended. Jobs run until they are stopped, or fail at once.
class StoredJobs : public bus::JobControl {
 public:
  StoredJobs(runtime::EventLoop* loop, const std::string& directory, bool all_fail)
      : loop_(loop), path_(directory + "/jobs"), all_fail_(all_fail) {}
  void Launch(const std::string& request_id, const std::string&, const msg::JobSpecT&,
              std::function<void(absl::StatusOr<std::string>)> done) override {
    const std::string job = "j-" + request_id;
    if (!Knows("launched " + job)) Note("launched " + job);
    if (all_fail_ && !Knows("ended " + job)) Note("ended " + job);
    loop_->Post([=] { done(job); });
  }
  void Follow(const std::string& job, std::function<void(const msg::JobT&)>,
              std::function<void(absl::StatusOr<msg::JobT>)> ended) override {
    followers_[job] = std::move(ended);
    if (Knows("ended " + job)) TellOfTheEnd(job);
  }
  void Stop(const std::string& job, absl::Duration, const std::string&,
            const std::string&) override {
    if (!Knows("ended " + job)) Note("ended " + job);
    TellOfTheEnd(job);
  }

 private:
  bool Knows(const std::string& line) const {
    std::ifstream file(path_);
    for (std::string known; std::getline(file, known);) {
      if (known == line) return true;
    }
    return false;
  }
  void Note(const std::string& line) { std::ofstream(path_, std::ios::app) << line << "\n"; }
  void TellOfTheEnd(const std::string& job) {
    loop_->Post([this, job] {
      const auto found = followers_.find(job);
      if (found == followers_.end()) return;
      const auto ended = std::move(found->second);
      followers_.erase(found);
      msg::JobT end;
      end.id = job;
      end.state = msg::TaskState::Failed;
      end.reason = "exit code 3";
      end.tasks.push_back(std::make_unique<msg::TaskT>());
      auto attempt = std::make_unique<msg::AttemptT>();
      attempt->exit_code = 3;
      attempt->shim_lost = true;  // Nobody waits for more reports then.
      end.tasks.back()->attempts.push_back(std::move(attempt));
      ended(std::move(end));
    });
  }

  runtime::EventLoop* const loop_;
  const std::string path_;
  const bool all_fail_;
  std::map<std::string, std::function<void(absl::StatusOr<msg::JobT>)>> followers_;
};

// The trial never starts: there is no slot for it.
void RemoveOne(trainer::Trials* trials) {
  msg::RunTrialRequestT request;
  request.name = "removed";
  request.argv.emplace_back("prog");
  request.working_directory = std::string("/");
  const auto trial = trials->Run("removed", request, "");
  CHECK(trial.ok()) << trial.status();
  CHECK(trials->Stop(trial->id, absl::ZeroDuration(), "").ok());
  const auto removed = trials->RemoveTrial("removed", "rm");
  CHECK(removed.ok()) << removed.status();
}

// Returns the state that all trials reach in the end.
std::optional<msg::TrialState> GoalOf(std::string_view mode) {
  if (mode == "launch" || mode == "resume") return msg::TrialState::Running;
  if (mode == "fail") return msg::TrialState::Failed;
  if (mode == "pause") return msg::TrialState::Paused;
  return std::nullopt;
}

void ExitAt(trainer::Trials* trials, int trial_count, std::optional<msg::TrialState> goal) {
  const auto all = trials->List({});
  if (!goal || all.size() < static_cast<std::size_t>(trial_count)) return;
  for (const msg::TrialT& trial : all) {
    if (trial.state != *goal) return;
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  CHECK(argc == 5 || argc == 6);
  const std::string directory = argv[1];
  const int trial_count = std::atoi(argv[2]);
  const std::string_view mode = argc == 6 ? argv[5] : "";
  const auto goal = GoalOf(mode);
  runtime::Coordinator coordinator;
  const auto threads = runtime::ThreadPool::Create(&coordinator, {.name = "disk", .threads = 1});
  std::function<void(std::string_view)> fault = [&, hits = 0](std::string_view point) mutable {
    if (point == argv[3] && ++hits == std::atoi(argv[4])) kill(getpid(), SIGKILL);
  };
  const std::function<void(std::function<void()>)> background = [&](std::function<void()> work) {
    CHECK(threads
              ->Submit([&fault, work] {
                fault("before background work");
                work();
                fault("after background work");
                return absl::OkStatus();
              })
              .ok());
  };
  const auto loop = runtime::EventLoop::Create();
  trainer::TrialStore::Options recent;
  if (mode == "tidy") recent = {.most_recent = 4, .fewest_moved = 2};
  auto store = trainer::TrialStore::Open(directory + "/trainer.db", recent);
  CHECK(store.ok()) << store.status();
  StoredJobs jobs(loop.get(), directory, mode == "fail");
  absl::StatusOr<std::unique_ptr<trainer::Trials>> trials = trainer::Trials::Open(
      {.loop = loop.get(),
       .store = store->get(),
       .jobs = &jobs,
       .logdir = directory,
       .relay = directory + "/relay",
       .hostname = "host",
       .slots = trial_count,
       .background = background,
       .spread_every = mode == "spread" ? absl::Milliseconds(5) : absl::ZeroDuration(),
       .on_event =
           [&](const msg::TrialEventT&) {
             loop->Post([&] { ExitAt(trials->get(), trial_count, goal); });
           },
       .fault = fault});
  CHECK(trials.ok()) << trials.status();
  auto relay = trainer::Relay::Listen({.loop = loop.get(),
                                       .receiver = trials->get(),
                                       .socket_path = directory + "/relay",
                                       .fault = fault});
  CHECK(relay.ok()) << relay.status();
  loop->Post([&] {
    (*trials)->Resume();
    for (int i = 1; i <= trial_count; ++i) {
      msg::RunTrialRequestT request;
      request.name = absl::StrCat("run", i);
      request.argv.emplace_back("prog");
      request.working_directory = std::string("/");
      request.max_restarts = mode == "fail" ? 1 : 0;
      const auto trial = (*trials)->Run(request.name, request, "");
      CHECK(trial.ok()) << trial.status();
      if (mode == "pause") CHECK((*trials)->PauseTrial(trial->id, "").ok());
      if (mode == "resume") CHECK((*trials)->ResumeTrial(trial->id).ok());
    }
    if (mode == "remove") RemoveOne(trials->get());
    std::puts("ready");
    std::fflush(stdout);
    ExitAt(trials->get(), trial_count, goal);
  });
  loop->Run();
}
