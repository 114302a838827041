// A trainer with one sweep, without a bus, that kills itself with SIGKILL:
//   crashing_sweep DIRECTORY POINT COUNT PLAN
// the COUNT-th time it comes to POINT (COUNT 0: never). PLAN is the sweep's, with a parameter x.
// The programs of its trials run in here, and outlive it in DIRECTORY/jobs: each says one line a
// turn, six in all, and ends, or ends after it was told to. Once the sweep has ended it prints each
// event of it, without what differs from run to run, and what became of each trial.

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "glog/logging.h"
#include "runtime/event_loop.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/store.h"
#include "trainer/sweep/sweeps.h"
#include "trainer/table/trials.h"

namespace {

constexpr int kSteps = 6;

// A launcher, and the programs that it has started: both outlive trainers, in a file of lines
// "launched JOB X NONCE", "line JOB" (a line was answered), "told JOB" (to stop or pause), "ended
// JOB".
class Programs : public bus::JobControl {
 public:
  Programs(runtime::EventLoop* loop, const std::string& directory)
      : loop_(loop), path_(directory + "/jobs") {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) Take(line);
  }
  void Launch(const std::string& request_id, const std::string&, const msg::JobSpecT& spec,
              std::function<void(absl::StatusOr<std::string>)> done) override {
    const std::string job = "j-" + request_id;
    if (!programs_.contains(job)) {
      std::string x = "0";
      for (const std::string& word : spec.argv) {
        if (absl::StartsWith(word, "--x=")) x = word.substr(4);
      }
      Note(absl::StrCat("launched ", job, " ", x, " ", spec.report_channel->nonce));
    }
    loop_->Post([=] { done(job); });
  }
  void Follow(const std::string& job, std::function<void(const msg::JobT&)>,
              std::function<void(absl::StatusOr<msg::JobT>)> ended) override {
    programs_.at(job).follower = std::move(ended);
    if (programs_.at(job).ended) TellOfTheEnd(job);
  }
  void Stop(const std::string& job, absl::Duration, const std::string&,
            const std::string&) override {
    if (!programs_.at(job).ended) Note("ended " + job);
    TellOfTheEnd(job);
  }

  // Each program that runs goes on by a line.
  void Step(trainer::Trials& trials) {
    std::vector<std::string> running;
    for (const auto& [job, program] : programs_) {
      if (!program.ended && program.follower) running.push_back(job);
    }
    for (const std::string& job : running) StepOne(job, trials);
  }

 private:
  struct Program {
    double x = 0;
    std::string nonce;
    std::int64_t lines = 0;
    bool told = false, ended = false;
    std::function<void(absl::StatusOr<msg::JobT>)> follower = {};
  };
  void Take(const std::string& line) {
    std::istringstream words(line);
    std::string what, job;
    words >> what >> job;
    Program& program = programs_[job];
    if (what == "launched") words >> program.x >> program.nonce;
    if (what == "line") ++program.lines;
    if (what == "told") program.told = true;
    if (what == "ended") program.ended = true;
  }
  void Note(const std::string& line) {
    std::ofstream(path_, std::ios::app) << line << "\n";
    Take(line);
  }
  void StepOne(const std::string& job, trainer::Trials& trials) {
    Program& program = programs_.at(job);
    const auto attempt = trials.Greet(program.nonce);
    if (!attempt.ok()) return;
    if (program.told || program.lines >= kSteps) {
      (void)trials.Receive({{*attempt, program.lines, "", true}});
      Note("ended " + job);
      return TellOfTheEnd(job);
    }
    const std::int64_t step = program.lines + 1;
    const double loss = (program.x - 0.3) * (program.x - 0.3) + 1.0 / static_cast<double>(step);
    const std::string text = absl::StrFormat(
        R"({"t":"report","step":%d,"seq":%d,"m":{"loss":%.17g}})", step, step, loss);
    const auto answers = trials.Receive({{*attempt, step, text, false}});
    CHECK(answers.front().ok()) << answers.front().status();
    const bool leaves = absl::StrContains(*answers.front(), R"("t":"stop")") ||
                        absl::StrContains(*answers.front(), R"("t":"pause")");
    if (leaves) Note("told " + job);
    Note("line " + job);
  }
  void TellOfTheEnd(const std::string& job) {
    loop_->Post([this, job] {
      auto& follower = programs_.at(job).follower;
      if (!follower) return;
      const auto ended = std::exchange(follower, {});
      msg::JobT end;
      end.id = job;
      end.state = msg::TaskState::Exited;
      end.tasks.push_back(std::make_unique<msg::TaskT>());
      auto last = std::make_unique<msg::AttemptT>();
      last->shim_lost = true;  // So nobody waits for more reports.
      end.tasks.back()->attempts.push_back(std::move(last));
      ended(std::move(end));
    });
  }

  runtime::EventLoop* const loop_;
  const std::string path_;
  std::map<std::string, Program> programs_;
};

void Print(trainer::Store& store, trainer::Sweeps& sweeps, const std::string& id) {
  const absl::Status read = store.ForEachSweepEvent(1, [](const trainer::SweepEventRow& row) {
    // (The text of a start is the trial's id.)
    std::printf("%d %d %d %d %g %.17g %d %d %s\n", static_cast<int>(row.seq),
                static_cast<int>(row.kind), static_cast<int>(row.trial),
                static_cast<int>(row.number), row.resource, row.value,
                static_cast<int>(row.decided), static_cast<int>(row.end),
                row.kind == 3 ? "" : row.text.c_str());
    return absl::OkStatus();
  });
  CHECK(read.ok()) << read;
  const auto details = sweeps.Details(id);
  CHECK(details.ok()) << details.status();
  for (const auto& trial : details->trials) {
    std::printf("%d %s %s %.17g %s\n", static_cast<int>(trial->number), trial->config.c_str(),
                msg::EnumNameSweepStage(trial->stage), trial->value, trial->reason.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  CHECK(argc == 5);
  const std::string directory = argv[1];
  const std::function<void(std::string_view)> fault = [&,
                                                       hits = 0](std::string_view point) mutable {
    if (point == argv[2] && ++hits == std::atoi(argv[3])) kill(getpid(), SIGKILL);
  };
  const auto loop = runtime::EventLoop::Create();
  auto store = trainer::Store::Open(directory + "/trainer.db");
  CHECK(store.ok()) << store.status();
  Programs programs(loop.get(), directory);
  auto sweeps = trainer::Sweeps::Open(
      {.loop = loop.get(), .store = store->get(), .logdir = directory, .slots = 1, .fault = fault});
  CHECK(sweeps.ok()) << sweeps.status();
  auto trials = trainer::Trials::Open({.loop = loop.get(),
                                       .store = store->get(),
                                       .jobs = &programs,
                                       .logdir = directory,
                                       .relay = directory + "/relay",
                                       .hostname = "host",
                                       .slots = 1,
                                       .judge = sweeps->get(),
                                       .fault = fault});
  CHECK(trials.ok()) << trials.status();
  std::string id;
  const std::function<void()> turn = [&] {
    programs.Step(**trials);
    if ((*sweeps)->Get(id)->ended_us != 0) {
      Print(**store, **sweeps, id);
      std::fflush(stdout);
      _exit(0);
    }
    loop->Post(turn);
  };
  loop->Post([&] {
    (*trials)->Resume();
    (*sweeps)->Resume(trials->get());
    msg::RunSweepRequestT request;
    request.name = "study";
    request.plan = argv[4];
    request.trial = std::make_unique<msg::RunTrialRequestT>();
    request.trial->argv = {"prog", "${args}"};
    request.trial->working_directory = "/";
    const auto sweep = (*sweeps)->Run("the request", request, "");
    CHECK(sweep.ok()) << sweep.status();
    id = sweep->id;
    turn();
  });
  loop->Run();
}
