// The report path of a trainer, without a bus, that kills itself with SIGKILL:
//   crashing_trainer DIRECTORY TRIALS POINT COUNT [remove | spread]
// the COUNT-th time it comes to POINT (COUNT 0: never). Prints "ready" once shims may connect. With
// "remove" it removes a trial of its own, "removed", before. With "spread" files are written some
// time after the answers.

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/job_control.h"
#include "glog/logging.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/thread_pool.h"
#include "trainer/relay.h"
#include "trainer/store.h"
#include "trainer/trials.h"

namespace {

// Jobs that run for ever.
class EndlessJobs : public bus::JobControl {
 public:
  explicit EndlessJobs(runtime::EventLoop* loop) : loop_(loop) {}
  void Launch(const std::string& request_id, const std::string&, const msg::JobSpecT&,
              std::function<void(absl::StatusOr<std::string>)> done) override {
    loop_->Post([=] { done("j-" + request_id); });
  }
  void Follow(const std::string&, std::function<void(const msg::JobT&)>,
              std::function<void(absl::StatusOr<msg::JobT>)>) override {}
  void Stop(const std::string&, absl::Duration, const std::string&, const std::string&) override {}

 private:
  runtime::EventLoop* const loop_;
};

// It never starts: there is no slot for it.
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

}  // namespace

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  CHECK(argc == 5 || argc == 6);
  const std::string directory = argv[1];
  const int trial_count = std::atoi(argv[2]);
  const std::string_view more = argc == 6 ? argv[5] : "";
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
  auto store = trainer::Store::Open(directory + "/trainer.db");
  CHECK(store.ok()) << store.status();
  EndlessJobs jobs(loop.get());
  auto trials = trainer::Trials::Open(
      {.loop = loop.get(),
       .store = store->get(),
       .jobs = &jobs,
       .logdir = directory,
       .relay = directory + "/relay",
       .hostname = "host",
       .slots = trial_count,
       .background = background,
       .spread_every = more == "spread" ? absl::Milliseconds(5) : absl::ZeroDuration(),
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
      const auto trial = (*trials)->Run(request.name, request, "");
      CHECK(trial.ok()) << trial.status();
    }
    if (more == "remove") RemoveOne(trials->get());
    std::puts("ready");
    std::fflush(stdout);
  });
  loop->Run();
}
