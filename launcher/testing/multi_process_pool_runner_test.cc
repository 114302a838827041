#include "launcher/testing/multi_process_pool_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "launcher/testing/child.h"
#include "launcher/testing/multi_process_runner.h"
#include "launcher/testing/shared_objects.h"
#include "runtime/file/unique_fd.h"

namespace launcher::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

ClusterSpec Cluster(bool has_chief, int workers) {
  return CreateClusterSpec(has_chief, workers).value();
}

int OwnPid() { return getpid(); }
const Function kOwnPid("OwnPid", OwnPid);

std::string OwnTask() {
  const auto task = TaskOfThisProcess();
  const char* config = getenv("TF_CONFIG");
  EXPECT_NE(std::string(config).find("\"type\": \"" + task->type + "\""), std::string::npos);
  return TaskName(task->type, task->index);
}
const Function kOwnTask("OwnTask", OwnTask);

int value = 0;
void Initialize(int to) { value += to; }
const Function kInitialize("Initialize", Initialize);
int OwnValue() { return value; }
const Function kOwnValue("OwnValue", OwnValue);

absl::StatusOr<int> FailAt(int index) {
  if (TaskOfThisProcess()->index == index) return absl::DataLossError("failed");
  return TaskOfThisProcess()->index;
}
const Function kFailAt("FailAt", FailAt);

void DieAt(int index) {
  if (TaskOfThisProcess()->index == index) raise(SIGKILL);
}
const Function kDieAt("DieAt", DieAt);

std::vector<int> Pids(MultiProcessPoolRunner& pool) {
  return pool.Run(kOwnPid).result.Values<int>().value();
}

bool IsGone(pid_t pid) {
  const runtime::UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid()) return true;
  pollfd ready = {.fd = fd.get(), .events = POLLIN, .revents = 0};
  return poll(&ready, 1, 100'000) == 1;
}

TEST(MultiProcessPoolRunnerTest, KeepsItsProcesses) {
  MultiProcessPoolRunner pool(Cluster(false, 2));
  const auto first = Pids(pool);
  EXPECT_THAT(first, SizeIs(2));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Pids(pool), first);
}

TEST(MultiProcessPoolRunnerTest, AnswersInTheOrderOfTheTasks) {
  MultiProcessPoolRunner pool(Cluster(true, 3));
  const Outcome outcome = pool.Run(kOwnTask);
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(*outcome.result.Values<std::string>(),
              ElementsAre("chief-0", "worker-0", "worker-1", "worker-2"));
}

TEST(MultiProcessPoolRunnerTest, InitializesEachProcessOnce) {
  MultiProcessPoolRunner pool(Cluster(false, 2), kInitialize.With(1));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(*pool.Run(kOwnValue).result.Values<int>(), ElementsAre(1, 1));
  }
  EXPECT_EQ(value, 0);
}

// A pool that its first run starts, in whichever test that is.
MultiProcessPoolRunner& GlobalPool() {
  static MultiProcessPoolRunner pool(Cluster(false, 2));
  return pool;
}

TEST(MultiProcessPoolRunnerTest, MayBeGlobal) {
  EXPECT_THAT(*GlobalPool().Run(kOwnTask).result.Values<std::string>(),
              ElementsAre("worker-0", "worker-1"));
}

std::vector<std::string> RunNested() {
  return GlobalPool().Run(kOwnTask).result.Values<std::string>().value();
}
const Function kRunNested("RunNested", RunNested);

TEST(MultiProcessPoolRunnerTest, MayBeNested) {
  MultiProcessPoolRunner pool(Cluster(false, 2));
  const Outcome outcome = pool.Run(kRunNested);
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(
      *outcome.result.Values<std::vector<std::string>>(),
      ElementsAre(ElementsAre("worker-0", "worker-1"), ElementsAre("worker-0", "worker-1")));
}

TEST(MultiProcessPoolRunnerTest, SurvivesAnError) {
  MultiProcessPoolRunner pool(Cluster(false, 3));
  const auto before = Pids(pool);
  const Outcome outcome = pool.Run(kFailAt.With(1));
  EXPECT_EQ(outcome.error, RunError::kTaskFailed);
  EXPECT_EQ(outcome.status, absl::DataLossError("worker-1: failed"));
  EXPECT_THAT(*outcome.result.Values<int>(), ElementsAre(0, 2));
  EXPECT_EQ(Pids(pool), before);
}

TEST(MultiProcessPoolRunnerTest, ShutsDownWhenAProcessHasDied) {
  MultiProcessPoolRunner pool(Cluster(false, 2));
  const auto before = Pids(pool);
  const Outcome outcome = pool.Run(kDieAt.With(1));
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("worker-1: "));
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("signal 9"));
  for (const int pid : before) EXPECT_TRUE(IsGone(pid));
  const auto after = Pids(pool);
  EXPECT_THAT(after, SizeIs(2)) << "a new run has new processes";
  for (const int pid : before) EXPECT_THAT(after, Not(Contains(pid)));
}

TEST(MultiProcessPoolRunnerTest, FindsThatAProcessHasDiedBetweenTwoRuns) {
  MultiProcessPoolRunner pool(Cluster(false, 2));
  const auto before = Pids(pool);
  ASSERT_THAT(before, SizeIs(2));
  ASSERT_EQ(kill(before[0], SIGKILL), 0);
  ASSERT_TRUE(IsGone(before[0]));
  EXPECT_EQ(pool.Run(kOwnPid).error, RunError::kUnexpectedExit);
  EXPECT_TRUE(pool.Run(kOwnPid).ok());
}

TEST(MultiProcessPoolRunnerTest, StartsAgainAfterAShutDown) {
  MultiProcessPoolRunner pool(Cluster(false, 1), kInitialize.With(1));
  const auto before = Pids(pool);
  pool.ShutDown();
  pool.ShutDown();
  EXPECT_TRUE(IsGone(before[0]));
  EXPECT_NE(Pids(pool), before);
  EXPECT_THAT(*pool.Run(kOwnValue).result.Values<int>(), ElementsAre(1));
}

TEST(MultiProcessPoolRunnerTest, SaysWhyAnInitializerFailed) {
  MultiProcessPoolRunner pool(Cluster(false, 1), kFailAt.With(0));
  const Outcome outcome = pool.Run(kOwnPid);
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
  EXPECT_EQ(outcome.status.message(), "worker-0: failed");
}

void HangAt(int index) {
  while (TaskOfThisProcess()->index == index) pause();
}
const Function kHangAt("HangAt", HangAt);

TEST(MultiProcessPoolRunnerTest, GivesUpOnAProcessThatHangs) {
  PoolOptions options;
  options.run.return_output = true;
  Outcome outcome;
  // On a slow machine the task may not have started to hang when the shorter limits pass.
  for (const int seconds : {1, 5, 60}) {
    options.task_timeout = absl::Seconds(seconds) / 5;
    MultiProcessPoolRunner pool(Cluster(false, 2), std::nullopt, options);
    outcome = pool.Run(kHangAt.With(1));
    EXPECT_EQ(outcome.error, RunError::kTimeout);
    if (::testing::Matches(Contains(HasSubstr("HangAt")))(outcome.result.lines)) break;
  }
  EXPECT_THAT(outcome.result.lines, Contains(HasSubstr("HangAt"))) << "its stack";
}

void PrintNumber(int number) { printf("number %d\n", number); }
const Function kPrintNumber("PrintNumber", PrintNumber);

TEST(MultiProcessPoolRunnerTest, HasTheLinesOfEachRun) {
  PoolOptions options;
  options.run.return_output = true;
  MultiProcessPoolRunner pool(Cluster(false, 2), std::nullopt, options);
  EXPECT_THAT(pool.Run(kOwnPid).result.lines, SizeIs(2)) << "each says that it starts";
  for (int i = 0; i < 3; ++i) {
    const std::string line = "number " + std::to_string(i) + "\n";
    EXPECT_THAT(pool.Run(kPrintNumber.With(i)).result.lines,
                UnorderedElementsAre("[worker-0]:    " + line, "[worker-1]:    " + line));
  }
}

TEST(MultiProcessPoolRunnerTest, RefusesWhatIsNoCall) {
  MultiProcessPoolRunner pool(Cluster(false, 1));
  EXPECT_EQ(pool.Run(kFailAt).error, RunError::kWrongCall);
  EXPECT_EQ(pool.Run(Call{"nobody", ""}).error, RunError::kWrongCall);
}

// Runs in a test's process that ends, normally or by abort(), with a pool.
void LeaveAPool(const SharedQueue<int>& pids, bool aborts) {
  auto* pool = new MultiProcessPoolRunner(Cluster(false, 1));
  static MultiProcessPoolRunner* kept = pool;
  ASSERT_TRUE(pids.Put(Pids(*kept)[0]).ok());
  if (aborts) raise(SIGKILL);
}
const Function kLeaveAPool("LeaveAPool", LeaveAPool);

TEST(MultiProcessPoolRunnerTest, EndsWithItsParent) {
  for (const bool aborts : {false, true}) {
    const auto pids = SharedQueue<int>::Make();
    const Outcome outcome = RunProcesses(kLeaveAPool.With(pids, aborts), Cluster(false, 1));
    EXPECT_EQ(outcome.ok(), !aborts) << outcome.status;
    const auto pid = pids.Take(absl::ZeroDuration());
    ASSERT_TRUE(pid.ok());
    EXPECT_TRUE(IsGone(*pid));
  }
}

}  // namespace
}  // namespace launcher::testing
