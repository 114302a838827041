// Tests GPUs that the launchers of two yards share by locks, with real shims and kills.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/share/machine_locks.h"
#include "launcher/share/resources.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

using msg::TaskState;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Waits until the file $FOLDER/go exists.
constexpr char kUntilGo[] = "while [ ! -e $FOLDER/go ]; do sleep 0.01; done";

class SharedGpusTest : public ::testing::Test {
 protected:
  SharedGpusTest() {
    char name[] = "/tmp/ylmXXXXXX";
    machine_ = mkdtemp(name);
    for (TestingTable* yard : {&alice_, &bob_}) {
      yard->SetResources({*ParseResource("gpu=0,1")});
      yard->SetMachineDirectory(machine_);
      EXPECT_EQ(yard->Open(), absl::OkStatus());
    }
    third_ = MachineLocks::Open({.directory = machine_, .yard = "/third"});
  }
  ~SharedGpusTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(machine_, ignored);
  }

  static msg::JobSpecT Spec(TestingTable& yard, const std::string& script, unsigned gpus) {
    auto spec = yard.Shell(script);
    auto wish = std::make_unique<msg::ResourceRequestT>();
    wish->name = "gpu";
    wish->amount = gpus;
    AddGroup(&spec, "worker").resources.push_back(std::move(wish));
    return spec;
  }
  static std::string Launch(TestingTable& yard, const msg::JobSpecT& spec) {
    auto job = yard.Launch(spec);
    EXPECT_EQ(job.status(), absl::OkStatus());
    return job.ok() ? job->id : "";
  }
  static void Go(TestingTable& yard) {
    EXPECT_EQ(runtime::WriteFileAtomically(yard.folder() + "/go", "", 0600), absl::OkStatus());
  }
  // Returns true if no launcher or process holds the GPU.
  bool IsFree(const std::string& gpu) const {
    if (!third_->Claim("gpu", gpu, "j-third")) return false;
    third_->Release("gpu", gpu);
    return true;
  }
  bool AwaitFree(TestingTable& yard, const std::string& gpu) const {
    return yard.AwaitTrue([&] { return IsFree(gpu); });
  }
  static pid_t PidIn(const std::string& file) {
    int pid = 0;
    const auto text = runtime::ReadFile(file, 100);
    return text.ok() && absl::SimpleAtoi(*text, &pid) ? pid : 0;
  }

  TestingTable alice_, bob_;
  std::string machine_;
  std::unique_ptr<MachineLocks> third_;
};

TEST_F(SharedGpusTest, WhatOneYardHasTheOtherWaitsFor) {
  auto spec = Spec(alice_, kUntilGo, 1);
  spec.name = "sweeper";
  const std::string first = Launch(alice_, spec);
  const auto running = alice_.AwaitRunning(first);
  ASSERT_TRUE(running.has_value());
  EXPECT_THAT(TaskOf(*running, "worker-0").resources, ElementsAre("gpu=0"));
  const std::string second = Launch(bob_, Spec(bob_, "true", 2));
  const auto waiting = bob_.Await(second, [](const msg::JobT& job) { return !job.reason.empty(); });
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(waiting->state, TaskState::Pending);
  EXPECT_THAT(waiting->reason, AllOf(StartsWith("waits for 2 gpu: gpu 0 is held by "),
                                     HasSubstr("job sweeper"), HasSubstr(" since ")));
  EXPECT_TRUE(IsFree("1"));
  Go(alice_);
  const auto ended = bob_.AwaitEnd(second);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state, TaskState::Exited);
  EXPECT_TRUE(AwaitFree(bob_, "0"));
}

TEST_F(SharedGpusTest, AGpuIsHeldWithoutALauncherUntilTheTreeHasEnded) {
  // The child closes the inherited lock, but still belongs to the process tree.
  const std::string script =
      "bash -c 'exec 256>&-; echo $$ >$FOLDER/child; exec sleep 1000' & echo $$ >$FOLDER/main; "
      "wait";
  const std::string job = Launch(alice_, Spec(alice_, script, 2));
  ASSERT_TRUE(alice_.AwaitRunning(job).has_value());
  const std::string child = alice_.folder() + "/child", main = alice_.folder() + "/main";
  ASSERT_TRUE(alice_.AwaitTrue([&] { return PidIn(child) != 0 && PidIn(main) != 0; }));
  alice_.Close();
  EXPECT_FALSE(IsFree("0"));
  EXPECT_FALSE(IsFree("1"));
  const std::string waiting = Launch(bob_, Spec(bob_, "true", 1));
  ASSERT_TRUE(bob_.Await(waiting,
                         [](const msg::JobT& found) {
                           return found.reason.find("is held by") != std::string::npos;
                         })
                  .has_value());
  kill(PidIn(main), SIGKILL);
  // Its shim kills the rest of the tree without a launcher.
  const auto ended = bob_.AwaitEnd(waiting);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state, TaskState::Exited);
  EXPECT_NE(kill(PidIn(child), 0), 0);
  ASSERT_EQ(alice_.Open(), absl::OkStatus());
  EXPECT_TRUE(alice_.AwaitEnd(job).has_value());
  EXPECT_TRUE(AwaitFree(alice_, "1"));
}

TEST_F(SharedGpusTest, AKilledShimFreesNothingThatAProcessStillHas) {
  const std::string script = "sh -c 'echo $$ >$FOLDER/child; exec sleep 1000' & wait";
  const std::string job = Launch(alice_, Spec(alice_, script, 1));
  const auto running = alice_.AwaitRunning(job);
  ASSERT_TRUE(running.has_value());
  const std::string child = alice_.folder() + "/child";
  ASSERT_TRUE(alice_.AwaitTrue([&] { return PidIn(child) != 0; }));
  const pid_t shim = ShimOf(alice_.state_directory(), *running);
  alice_.Close();
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  ASSERT_TRUE(bob_.AwaitTrue([&] { return ShimOf(alice_.state_directory(), *running) == 0; }));
  // (In a pid namespace all processes die with the shim.)
  if (IsFree("0")) {
    EXPECT_TRUE(bob_.AwaitTrue([&] { return kill(PidIn(child), 0) != 0; }));
  }
  ASSERT_EQ(alice_.Open(), absl::OkStatus());
  EXPECT_TRUE(alice_.AwaitEnd(job).has_value());
  EXPECT_NE(kill(PidIn(child), 0), 0);
  EXPECT_TRUE(AwaitFree(alice_, "0"));
}

TEST_F(SharedGpusTest, TheNextLauncherKeepsItForTheNextAttempt) {
  auto spec = Spec(alice_, "exec sleep 1000", 1);
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  const std::string job = Launch(alice_, spec);
  ASSERT_TRUE(alice_.AwaitRunning(job).has_value());
  alice_.Close();
  ASSERT_EQ(alice_.Open(), absl::OkStatus());
  const auto taken_up = alice_.AwaitRunning(job);
  ASSERT_TRUE(taken_up.has_value());
  EXPECT_FALSE(IsFree("0"));
  ASSERT_EQ(kill(taken_up->tasks[0]->attempts.back()->pid, SIGKILL), 0);
  // The GPU is also held between the two attempts.
  bool was_free = false;
  EXPECT_TRUE(alice_
                  .Await(job,
                         [&](const msg::JobT& found) {
                           was_free |= IsFree("0");
                           return found.restarts == 1 && found.state == TaskState::Running;
                         })
                  .has_value());
  EXPECT_FALSE(was_free);
  EXPECT_EQ(alice_.Stop(job, absl::ZeroDuration()), absl::OkStatus());
  EXPECT_TRUE(alice_.AwaitEnd(job).has_value());
  EXPECT_TRUE(AwaitFree(alice_, "0"));
}

TEST_F(SharedGpusTest, AnAttemptDoesNotStartWithAGpuThatSomebodyElseGotMeanwhile) {
  auto spec = Spec(alice_, "exec sleep 1000", 1);
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  const std::string job = Launch(alice_, spec);
  const auto running = alice_.AwaitRunning(job);
  ASSERT_TRUE(running.has_value());
  alice_.Close();
  // The attempt ends without a launcher, and another yard claims the GPU before the next launcher
  // starts.
  ASSERT_EQ(kill(running->tasks[0]->attempts.back()->pid, SIGKILL), 0);
  ASSERT_TRUE(bob_.AwaitTrue([&] { return third_->Claim("gpu", "0", "j-third"); }));
  ASSERT_EQ(alice_.Open(), absl::OkStatus());
  const auto ended = alice_.AwaitEnd(job);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state, TaskState::Failed);
  EXPECT_THAT(TaskOf(*ended, "worker-0").attempts.back()->reason,
              HasSubstr("cannot start: gpu 0 is held by "));
}

}  // namespace
}  // namespace launcher
