// Tests trials that ask for resources, with a fake launcher: what is requested and when, the state
// of a waiting trial, and that its time and its silence count only once it runs.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/call/reply_stream.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/follow_call.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trials.h"
#include "trainer/testing/fake_jobs.h"
#include "trainer/testing/loop_thread.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kReport[] = R"({"t":"report","m":{"loss":0.5}})";
constexpr char kUsed[] = "waits for gpu: 1 of 1 is used by j-else/worker-0";

// Records the reasons that a follower received.
class Reasons : public bus::ReplyStream<msg::FollowTrialReplyT> {
 public:
  absl::Status SendPart(msg::FollowTrialReplyT part) override {
    sent.push_back(part.trial->reason);
    return absl::OkStatus();
  }
  void WhenWritable(std::function<void()>) override {}
  void Finish(absl::StatusOr<msg::FollowTrialReplyT>) override {}
  bool cancelled() const override { return false; }
  void OnCancel(std::function<void()>) override {}

  std::vector<std::string> sent;
};

class ResourceTrialsTest : public testing::Test {
 protected:
  ResourceTrialsTest() {
    char name[] = "/tmp/rt-XXXXXX";
    directory_ = mkdtemp(name);
    Start();
  }
  ~ResourceTrialsTest() override {
    Kill();
    std::filesystem::remove_all(directory_);
  }

  void Start() {
    loop_ = std::make_unique<LoopThread>(&clock_);
    jobs_.SetLoop(loop_->loop());
    for (auto& [id, job] : jobs_.jobs) job.follower = nullptr;
    auto store = TrialStore::Open(directory_ + "/trainer.db");
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    auto trials = Trials::Open({.loop = loop_->loop(),
                                .clock = &clock_,
                                .store = store_.get(),
                                .jobs = &jobs_,
                                .logdir = directory_ + "/runs",
                                .relay = "/relay",
                                .hostname = "host",
                                .slots = 3});
    ASSERT_TRUE(trials.ok()) << trials.status();
    trials_ = *std::move(trials);
    On([&] { trials_->Resume(); });
  }
  void Kill() {
    loop_->Stop();
    trials_.reset();
    store_.reset();
    loop_.reset();
  }
  void On(const std::function<void()>& body) {
    loop_->Call(body);
    loop_->Settle();
  }
  void Advance(absl::Duration step) {
    clock_.Advance(step);
    loop_->Settle();
  }
  std::int64_t NowMicros() const { return absl::ToUnixMicros(clock_.Now()); }

  static msg::RunTrialRequestT Request() {
    msg::RunTrialRequestT request;
    request.argv = {"prog"};
    request.working_directory = "/";
    request.options = std::make_unique<msg::TrialOptionsT>();
    return request;
  }
  static msg::RunTrialRequestT Asking(const std::string& name, std::uint32_t amount = 1) {
    msg::RunTrialRequestT request = Request();
    request.options->resources.push_back(std::make_unique<msg::ResourceRequestT>());
    request.options->resources.back()->name = name;
    request.options->resources.back()->amount = amount;
    return request;
  }
  absl::StatusOr<msg::TrialT> TryRun(const msg::RunTrialRequestT& request) {
    absl::StatusOr<msg::TrialT> trial;
    On([&] { trial = trials_->Run(absl::StrCat("request-", ++requests_), request, ""); });
    return trial;
  }
  std::string Run(const msg::RunTrialRequestT& request) {
    const auto trial = TryRun(request);
    EXPECT_TRUE(trial.ok()) << trial.status();
    return trial.ok() ? trial->id : "";
  }
  // Runs a trial whose job waits for a GPU that another job has.
  std::string RunWaiting(msg::RunTrialRequestT request = Asking("gpu")) {
    jobs_.none_left = kUsed;
    std::string id = Run(request);
    jobs_.none_left.clear();
    return id;
  }
  msg::TrialT Get(const std::string& id) {
    msg::TrialT trial;
    On([&] { trial = *trials_->Get(id); });
    return trial;
  }
  std::string ListedReason(const std::string& id) {
    std::string reason;
    On([&] {
      for (const auto& trial : trials_->List({.live_only = true})) {
        if (trial.id == id) reason = trial.reason;
      }
    });
    return reason;
  }
  void Grant(const std::string& job, std::int64_t started_us = 0) {
    On([&] { jobs_.Grant(job, started_us); });
  }
  void EndJob(const std::string& job) {
    On([&] { jobs_.End(job, 0); });
    Advance(absl::Seconds(2));  // Waits for late reports.
  }
  std::string Say(const std::string& job, std::int64_t number, const std::string& line) {
    std::string answer;
    On([&] {
      const auto key = trials_->Greet(jobs_.jobs[job].spec.report_channel->nonce);
      ASSERT_TRUE(key.ok()) << key.status();
      const auto got = trials_->Receive({{*key, number, line, false}}).front();
      answer = got.ok() ? *got : std::string(got.status().message());
    });
    return answer;
  }

  std::string directory_;
  runtime::FakeClock clock_;
  FakeJobs jobs_;
  std::unique_ptr<LoopThread> loop_;
  std::unique_ptr<TrialStore> store_;
  std::unique_ptr<Trials> trials_;
  int requests_ = 0;
};

TEST_F(ResourceTrialsTest, ItsJobAsksForWhatTheTrialAsksFor) {
  msg::RunTrialRequestT request = Asking("gpu", 2);
  request.options->control_limits = std::make_unique<msg::ControlLimitsT>();
  request.options->control_limits->memory_bytes = 1 << 20;
  const std::string id = Run(request);
  const msg::JobSpecT& spec = jobs_.jobs["j-1"].spec;
  ASSERT_EQ(spec.groups.size(), 1u);
  EXPECT_EQ(spec.groups[0]->type, "worker");
  EXPECT_EQ(spec.groups[0]->count, 1u);
  ASSERT_EQ(spec.groups[0]->resources.size(), 1u);
  EXPECT_EQ(spec.groups[0]->resources[0]->name, "gpu");
  EXPECT_EQ(spec.groups[0]->resources[0]->amount, 2u);
  EXPECT_EQ(spec.groups[0]->control_limits->memory_bytes, 1u << 20);
  EXPECT_EQ(spec.argv.front(), "prog");
  EXPECT_EQ(Get(id).state, TrialState::Running) << "there was enough";
}

TEST_F(ResourceTrialsTest, WhatNoMachineHasIsRefusedWhenTheTrialIsMade) {
  const auto refused = TryRun(Asking("gpu", 0));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(jobs_.jobs, IsEmpty());
}

TEST_F(ResourceTrialsTest, WhatThereCannotBeFailsAtOnceWithTheLaunchersWords) {
  jobs_.refusal = absl::FailedPreconditionError("worker-0 asks for gpu=3, but there is gpu=0,1");
  msg::RunTrialRequestT request = Asking("gpu", 3);
  request.max_restarts = 5;
  const msg::TrialT trial = Get(Run(request));
  EXPECT_EQ(trial.state, TrialState::Failed);
  EXPECT_EQ(trial.reason, "cannot start: worker-0 asks for gpu=3, but there is gpu=0,1");
  EXPECT_EQ(trial.attempt, 1u);
  EXPECT_EQ(jobs_.launches, 1) << "it would not be there the next time";
}

TEST_F(ResourceTrialsTest, ItIsPendingAndSaysForWhatItWaitsUntilItRuns) {
  const std::string id = RunWaiting();
  msg::TrialT trial = Get(id);
  EXPECT_EQ(trial.state, TrialState::Pending);
  EXPECT_EQ(trial.job, "j-1");
  EXPECT_EQ(trial.started_us, 0);
  EXPECT_EQ(trial.reason, kUsed);
  EXPECT_EQ(ListedReason(id), kUsed);
  Grant("j-1");
  trial = Get(id);
  EXPECT_EQ(trial.state, TrialState::Running);
  EXPECT_EQ(trial.started_us, NowMicros());
  EXPECT_EQ(trial.reason, "");
  EndJob("j-1");
  EXPECT_EQ(Get(id).state, TrialState::Done);
}

TEST_F(ResourceTrialsTest, ItNamesTheTrialThatHasWhatItWaitsFor) {
  const std::string first = Run(Asking("gpu"));
  jobs_.none_left = "waits for gpu: 1 of 1 is used by j-1/worker-0";
  const std::string second = Run(Asking("gpu"));
  EXPECT_EQ(Get(second).reason, absl::StrCat("waits for gpu: 1 of 1 is used by ", first));
}

TEST_F(ResourceTrialsTest, AFollowerHearsEachReasonOnce) {
  const std::string id = RunWaiting();
  const auto reasons = std::make_shared<Reasons>();
  On([&] { StartFollowCall(trials_.get(), loop_->loop(), id, 0, true, reasons); });
  On([&] { jobs_.WaitFor("j-1", "waits for gpu behind j-other"); });
  On([&] { jobs_.WaitFor("j-1", "waits for gpu behind j-other"); });
  Grant("j-1");
  EXPECT_THAT(reasons->sent, ElementsAre(kUsed, "waits for gpu behind j-other", ""));
}

TEST_F(ResourceTrialsTest, OfEachResourceOneTrialAsksAtATimeTheHighestPriorityFirst) {
  const std::string first = RunWaiting();
  const std::string second = Run(Asking("gpu"));
  EXPECT_EQ(jobs_.launches, 1) << "it would be given its GPU before a more important one";
  EXPECT_EQ(Get(second).reason, absl::StrCat("waits for gpu behind ", first));
  EXPECT_EQ(ListedReason(second), Get(second).reason);
  const std::string other = Run(Asking("disk")), none = Run(Request());
  EXPECT_EQ(Get(other).state, TrialState::Running);
  EXPECT_EQ(Get(none).state, TrialState::Running);
  msg::RunTrialRequestT request = Asking("gpu");
  request.options->priority = 1;
  const std::string important = Run(request);
  EXPECT_EQ(Get(important).reason, absl::StrCat("waits for gpu behind ", first));
  Grant("j-1");
  EXPECT_EQ(Get(important).reason, "waits for a slot (3 of 3 in use)");
  EXPECT_EQ(Get(second).reason, "waits for a slot (3 of 3 in use), 1 before it");
  EndJob("j-1");
  EXPECT_EQ(Get(first).state, TrialState::Done);
  EXPECT_EQ(Get(important).job, "j-4");
  EXPECT_EQ(Get(second).job, "");
}

TEST_F(ResourceTrialsTest, OneThatWaitsIsNeitherSilentNorUsesItsTimeUp) {
  msg::RunTrialRequestT request = Asking("gpu");
  request.options->heartbeat_ms = 5'000;
  request.options->time_budget_ms = 60'000;
  const std::string id = RunWaiting(request);
  Advance(absl::Hours(1));
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty());
  Grant("j-1");
  for (int line = 1; line <= 14; ++line) {
    Advance(absl::Seconds(4));
    Say("j-1", line, R"({"t":"hb"})");
  }
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty()) << "after 56 s";
  EXPECT_THAT(Say("j-1", 15, kReport), HasSubstr("ok"));
  Advance(absl::Seconds(4));
  EXPECT_THAT(Say("j-1", 16, kReport), HasSubstr("stop")) << "its time is used up";
}

TEST_F(ResourceTrialsTest, SilenceCountsFromItsStart) {
  msg::RunTrialRequestT request = Asking("gpu");
  request.options->heartbeat_ms = 5'000;
  RunWaiting(request);
  Advance(absl::Hours(1));
  Grant("j-1");
  Advance(absl::Milliseconds(4'999));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty());
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

TEST_F(ResourceTrialsTest, TheNextTrainerFindsItWaiting) {
  msg::RunTrialRequestT request = Asking("gpu");
  request.options->heartbeat_ms = 5'000;
  const std::string id = RunWaiting(request);
  const std::string behind = Run(Asking("gpu"));
  Kill();
  clock_.Advance(absl::Hours(1));
  Start();
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  EXPECT_EQ(Get(id).reason, kUsed);
  EXPECT_EQ(Get(behind).reason, absl::StrCat("waits for gpu behind ", id));
  Advance(absl::Minutes(1));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty());
  EXPECT_EQ(jobs_.launches, 1);
  Grant("j-1");
  EXPECT_EQ(Get(id).state, TrialState::Running);
  ASSERT_EQ(jobs_.launches, 2);
  ASSERT_EQ(jobs_.jobs["j-2"].spec.groups.size(), 1u);
  EXPECT_EQ(jobs_.jobs["j-2"].spec.groups[0]->resources.at(0)->name, "gpu");
}

TEST_F(ResourceTrialsTest, OneThatStartedWithoutATrainerRunsSinceThen) {
  msg::RunTrialRequestT request = Asking("gpu");
  request.options->time_budget_ms = 60'000;
  const std::string id = RunWaiting(request);
  Kill();
  clock_.Advance(absl::Hours(1));
  jobs_.jobs["j-1"].waits_for.clear();
  jobs_.jobs["j-1"].started_us = NowMicros();
  clock_.Advance(absl::Seconds(40));
  Start();
  EXPECT_EQ(Get(id).state, TrialState::Running);
  Advance(absl::Milliseconds(19'999));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty());
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

TEST_F(ResourceTrialsTest, AClockThatWasSetMeanwhileAddsNoMoreThanItHasWaited) {
  for (const auto by : {absl::Hours(2), -absl::Hours(2)}) {
    msg::RunTrialRequestT request = Asking("gpu");
    request.options->time_budget_ms = 60'000;
    const std::string id = RunWaiting(request);
    const std::string job = Get(id).job;
    Kill();
    clock_.Advance(absl::Seconds(10));
    jobs_.jobs[job].waits_for.clear();
    jobs_.jobs[job].started_us = NowMicros();
    clock_.ShiftWall(by);
    clock_.Advance(absl::Seconds(40));
    Start();
    EXPECT_EQ(Get(id).state, TrialState::Running);
    Advance(absl::Milliseconds(9'999));
    EXPECT_THAT(jobs_.jobs[job].stops, IsEmpty());
    Advance(absl::Seconds(51));
    EXPECT_EQ(jobs_.jobs[job].stops.size(), 1u);
    EndJob(job);
  }
}

TEST_F(ResourceTrialsTest, OneThatSpeaksRunsWhateverTheLauncherHasSaid) {
  const std::string id = RunWaiting();
  EXPECT_THAT(Say("j-1", 1, kReport), HasSubstr("ok"));
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Get(id).reason, "");
  Grant("j-1");
  EXPECT_EQ(Get(id).reports, 1u);
}

TEST_F(ResourceTrialsTest, OneThatWaitsIsStoppedAtOnce) {
  const std::string id = RunWaiting(), behind = Run(Asking("gpu"));
  On([&] { ASSERT_TRUE(trials_->Stop(id, absl::ZeroDuration(), "").ok()); });
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
  On([&] { jobs_.EndWaiting("j-1"); });
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
  EXPECT_EQ(Get(behind).job, "j-2") << "its turn";
}

TEST_F(ResourceTrialsTest, OneThatWaitsIsPausedAndGoesOnWithAllItsTime) {
  msg::RunTrialRequestT request = Asking("gpu");
  request.options->time_budget_ms = 60'000;
  const std::string id = RunWaiting(request);
  Advance(absl::Hours(1));
  On([&] { ASSERT_TRUE(trials_->PauseTrial(id, "").ok()); });
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
  On([&] { jobs_.EndWaiting("j-1"); });
  EXPECT_EQ(Get(id).state, TrialState::Paused);
  On([&] { ASSERT_TRUE(trials_->ResumeTrial(id).ok()); });
  EXPECT_EQ(Get(id).state, TrialState::Running);
  EXPECT_EQ(Get(id).job, "j-2");
  Advance(absl::Seconds(59));
  EXPECT_THAT(jobs_.jobs["j-2"].stops, IsEmpty());
  Advance(absl::Seconds(1));
  EXPECT_EQ(jobs_.jobs["j-2"].stops.size(), 1u);
}

TEST_F(ResourceTrialsTest, OneWhoseJobSomebodyStoppedWhileItWaitedIsNotDone) {
  const std::string id = RunWaiting();
  On([&] { jobs_.EndWaiting("j-1"); });
  EXPECT_EQ(Get(id).state, TrialState::Failed);
  EXPECT_EQ(Get(id).reason, "stopped: asked to");
}

TEST_F(ResourceTrialsTest, ANewAttemptAsksAgain) {
  msg::RunTrialRequestT request = Asking("gpu");
  request.max_restarts = 1;
  const std::string id = Run(request);
  jobs_.none_left = kUsed;
  On([&] { jobs_.End("j-1", 1); });
  Advance(absl::Seconds(2));
  EXPECT_EQ(Get(id).job, "j-2");
  EXPECT_EQ(Get(id).state, TrialState::Pending);
  EXPECT_EQ(Get(id).reason, kUsed);
  EXPECT_EQ(jobs_.jobs["j-2"].spec.groups.size(), 1u);
}

TEST_F(ResourceTrialsTest, AFailureForWantOfMemoryNamesTheLimit) {
  for (const bool is_limited : {true, false}) {
    msg::RunTrialRequestT request = Request();
    request.options->control_limits = std::make_unique<msg::ControlLimitsT>();
    request.options->control_limits->memory_bytes = is_limited ? 64 << 20 : 0;
    request.options->control_limits->processes = 100;
    const std::string id = Run(request);
    const std::string job = Get(id).job;
    msg::JobT ended;
    ended.state = msg::TaskState::Failed;
    ended.reason = "signal 9 (Killed)";
    ended.tasks.push_back(std::make_unique<msg::TaskT>());
    ended.tasks[0]->attempts.push_back(std::make_unique<msg::AttemptT>());
    ended.tasks[0]->attempts[0]->signal = 9;
    ended.tasks[0]->attempts[0]->out_of_memory = true;
    On([&] { jobs_.EndAs(job, std::move(ended)); });
    Advance(absl::Seconds(2));
    EXPECT_EQ(Get(id).state, TrialState::Failed);
    EXPECT_EQ(Get(id).reason,
              is_limited ? "out of memory, with a limit of 64MiB for each task (--memory): "
                           "signal 9 (Killed)"
                         : "signal 9 (Killed)");
  }
}

}  // namespace
}  // namespace trainer
