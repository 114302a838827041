// Trials of functions, as the service makes and launches them. (What happens in the process of one:
// function_process_test.cc.)

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/functions.h"
#include "trainer/named_values.h"
#include "trainer/store.h"
#include "trainer/testing/fake_jobs.h"
#include "trainer/testing/loop_thread.h"
#include "trainer/trials.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const RegisteredFunction kTrain("train", [](const NamedValues&) {});
const RegisteredFunction kOther("other", [](const NamedValues&) {});

class FunctionTrialsTest : public testing::Test {
 protected:
  FunctionTrialsTest() {
    char name[] = "/tmp/ft-XXXXXX";
    directory_ = mkdtemp(name);
    Start("/old/trainer");
  }
  ~FunctionTrialsTest() override {
    Kill();
    std::filesystem::remove_all(directory_);
  }

  // A trainer, of that program, on what the last one left.
  void Start(const std::string& executable) {
    loop_ = std::make_unique<LoopThread>(&clock_);
    jobs_.SetLoop(loop_->loop());
    for (auto& [id, job] : jobs_.jobs) job.follower = nullptr;
    store_ = *Store::Open(directory_ + "/trainer.db");
    trials_ = *Trials::Open({.loop = loop_->loop(),
                             .clock = &clock_,
                             .store = store_.get(),
                             .jobs = &jobs_,
                             .logdir = directory_ + "/runs",
                             .relay = "/relay",
                             .hostname = "host",
                             .slots = 2,
                             .executable = executable});
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
  static msg::RunTrialRequestT Request(const std::string& function) {
    msg::RunTrialRequestT request;
    request.working_directory = "/";
    request.options = std::make_unique<msg::TrialOptionsT>();
    request.options->function = function;
    return request;
  }
  absl::StatusOr<msg::TrialT> Run(const msg::RunTrialRequestT& request) {
    absl::StatusOr<msg::TrialT> trial;
    On([&] { trial = trials_->Run(absl::StrCat("request-", ++requests_), request, ""); });
    return trial;
  }

  runtime::FakeClock clock_;
  std::string directory_;
  FakeJobs jobs_;
  int requests_ = 0;
  std::unique_ptr<LoopThread> loop_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Trials> trials_;
};

TEST_F(FunctionTrialsTest, AFunctionIsLaunchedAsTheTrainerItself) {
  msg::RunTrialRequestT request = Request("train");
  request.options->heartbeat_ms = 2000;
  const auto trial = Run(request);
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_THAT(trial->argv, IsEmpty());
  EXPECT_THAT(jobs_.jobs["j-1"].spec.argv,
              ElementsAre("/old/trainer", "--run_function=train", "--heartbeat=500ms"));
  EXPECT_EQ(jobs_.jobs["j-1"].spec.report_channel->socket, "/relay");
}

TEST_F(FunctionTrialsTest, TheNextAttemptIsOfTheTrainerThatIsThereThen) {
  msg::RunTrialRequestT request = Request("train");
  request.max_restarts = 1;
  ASSERT_TRUE(Run(request).ok());
  EXPECT_THAT(jobs_.jobs["j-1"].spec.argv, ElementsAre("/old/trainer", "--run_function=train"));
  Kill();
  Start("/new/trainer");
  On([&] { jobs_.KillShim("j-1"); });
  EXPECT_THAT(jobs_.jobs["j-2"].spec.argv, ElementsAre("/new/trainer", "--run_function=train"));
}

TEST_F(FunctionTrialsTest, WhatCannotRunIsRefusedByName) {
  const auto refused = [&](const msg::RunTrialRequestT& request, const std::string& words) {
    const absl::Status status = Run(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  };
  refused(Request("unknown"), "no function unknown is registered; there is other, train");
  msg::RunTrialRequestT both = Request("train");
  both.argv = {"prog"};
  refused(both, "argv and function train are both given");
  msg::RunTrialRequestT tasks = Request("train");
  tasks.options->tasks.push_back(std::make_unique<msg::TrialTasksT>());
  refused(tasks, "function train and tasks are both given");
  EXPECT_TRUE(jobs_.jobs.empty());
}

}  // namespace
}  // namespace trainer
