#include "launcher/testing/multi_process_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/testing/child.h"
#include "runtime/sanitizer.h"

// First the cases of TensorFlow's own tests of its runner, in their order, then further ones. No
// test sleeps: children report their progress, and wait for signals of the test.

namespace launcher::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

#if defined(RUNTIME_ADDRESS_SANITIZER) || defined(RUNTIME_THREAD_SANITIZER)
// The sanitizer's handler turns a segmentation fault into an exit code.
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// For waits that are expected to time out.
constexpr absl::Duration kSoon = absl::Milliseconds(50);
constexpr absl::Duration kLong = absl::Seconds(100);  // For waits that must not time out.

RunOptions Captured() {
  RunOptions options;
  options.return_output = true;
  options.stream_output = false;
  options.chief_courtesy = kSoon;
  options.force_kill_wait = absl::Seconds(20);
  options.terminate_wait = kLong;
  return options;
}

ClusterSpec Cluster(bool has_chief, int workers, int ps = 0, bool has_eval = false) {
  return CreateClusterSpec(has_chief, workers, ps, has_eval).value();
}

std::string Self() {
  const auto task = TaskOfThisProcess();
  return task ? TaskName(task->type, task->index) : "none";
}

[[noreturn]] void Hang() {
  for (;;) pause();
}

std::string OwnType() { return TaskOfThisProcess()->type; }
const Function kOwnType("OwnType", OwnType);

absl::Status Fail(const std::string& text) { return absl::InvalidArgumentError(text); }
const Function kFail("Fail", Fail);

void Nothing() {}
const Function kNothing("Nothing", Nothing);

void HangHere() { Hang(); }
const Function kHang("Hang", HangHere);

TEST(MultiProcessRunnerTest, ReturnsWhatEveryTaskReturns) {
  RunOptions options;
  options.chief_courtesy = kLong;
  const Outcome outcome = RunProcesses(kOwnType, Cluster(true, 2, 3), options);
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(*outcome.result.Values<std::string>(),
              UnorderedElementsAre("chief", "worker", "worker", "ps", "ps", "ps"));
  EXPECT_FALSE(outcome.result.Values<int>().ok());
}

TEST(MultiProcessRunnerTest, GivesTheErrorOfATask) {
  RunOptions options = Captured();
  options.max_run_time = absl::Seconds(100);
  const Outcome outcome = RunProcesses(kFail.With("This is an error."), Cluster(true, 1), options);
  EXPECT_EQ(outcome.error, RunError::kTaskFailed);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(outcome.status.message()),
              MatchesRegex("(chief|worker)-0: This is an error."));
  EXPECT_THAT(outcome.result.lines,
              Contains(AllOf(HasSubstr("[chief-0]:"), HasSubstr("This is an error."))));
}

TEST(MultiProcessRunnerTest, KeepsNothingOfARunForTheNext) {
  EXPECT_THAT(RunProcesses(kOwnType, Cluster(false, 2)).result.returns, Not(IsEmpty()));
  const Outcome second = RunProcesses(kNothing, Cluster(false, 2));
  EXPECT_TRUE(second.ok()) << second.status;
  EXPECT_THAT(second.result.returns, IsEmpty());
}

struct Named {
  std::string a;
  std::optional<int> b;
};
using Given = std::tuple<int, std::string, std::string, std::vector<double>>;

}  // namespace

template <>
struct Codec<Named> : Fields<&Named::a, &Named::b> {};

namespace {

Given Arguments4(int first, const std::string& second, const Named& named,
                 const std::vector<double>& numbers) {
  return {first, second, absl::StrCat(named.a, named.b.value_or(-1)), numbers};
}
const Function kArguments("Arguments", Arguments4);

TEST(MultiProcessRunnerTest, PassesArgumentsInOrder) {
  const Given given{1, std::string("b\0c", 3), "named7", {0.5, -1}};
  const Outcome outcome = RunProcesses(
      kArguments.With(1, std::string("b\0c", 3), Named{"named", 7}, {0.5, -1}), Cluster(false, 2));
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(*outcome.result.Values<Given>(), ElementsAre(given, given));
}

TEST(MultiProcessRunnerTest, TakesArgumentsLater) {
  MultiProcessRunner runner(kFail, Cluster(false, 1));
  EXPECT_EQ(runner.Start().code(), absl::StatusCode::kInvalidArgument) << "without arguments";
  EXPECT_EQ(runner.SetArgs(kArguments.Args(1, "", {}, {})).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(runner.SetArgs(kFail.Args("first")).ok());
  ASSERT_TRUE(runner.SetArgs(kFail.Args("second")).ok());
  ASSERT_TRUE(runner.SetArgs({}).ok()) << "none keep what there is";
  EXPECT_EQ(runner.Run().status.message(), "worker-0: second");
}

std::string Print() {
  puts("This is something printed.");
  fputs("This is an error printed.\n", stderr);
  return "This is returned.";
}
const Function kPrint("Print", Print);

TEST(MultiProcessRunnerTest, CapturesOutput) {
  const Outcome outcome = RunProcesses(kPrint, Cluster(false, 2), Captured());
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(outcome.result.lines, Contains("[worker-0]:    This is something printed.\n"));
  EXPECT_THAT(outcome.result.lines, Contains("[worker-1]:    This is something printed.\n"));
  EXPECT_THAT(outcome.result.lines, Contains("[worker-1]:    This is an error printed.\n"));
  EXPECT_THAT(*outcome.result.Values<std::string>(),
              ElementsAre("This is returned.", "This is returned."));
}

TEST(MultiProcessRunnerTest, SaysWhatHasStarted) {
  MultiProcessRunner runner(kNothing, Cluster(false, 1), Captured());
  ASSERT_TRUE(runner.Start().ok());
  const auto pid = runner.GetProcessId("worker", 0);
  const Outcome outcome = runner.Join();
  ASSERT_TRUE(pid.has_value());
  EXPECT_THAT(outcome.result.lines,
              Contains(HasSubstr(absl::StrCat("[worker-0]:    Process ", *pid,
                                              " runs worker-0, TF_CONFIG={\"cluster\": {"))));
}

// Prints a line, waits for `go_on`, and continues. `reached` counts the tasks that have printed
// "iteration 0".
void Iterate(const SharedCounter& reached, const SharedEvent& go_on) {
  printf("%s, iteration 0\n", Self().c_str());
  fflush(stdout);
  ASSERT_TRUE(reached.Add().ok());
  ASSERT_TRUE(go_on.Wait().ok());
  for (int i = 1; i < 10; ++i) printf("%s, iteration %d\n", Self().c_str(), i);
}
const Function kIterate("Iterate", Iterate);

TEST(MultiProcessRunnerTest, Terminates) {
  const auto reached = SharedCounter::Make();
  const auto go_on = SharedEvent::Make();
  MultiProcessRunner runner(kIterate.With(reached, go_on), Cluster(false, 2), Captured());
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(reached.WaitFor(2).ok());
  ASSERT_TRUE(runner.Terminate("worker", 0).ok());
  EXPECT_EQ(runner.GetProcessExitCode("worker", 0)->value(), 1);
  ASSERT_TRUE(go_on.Set().ok());
  const Outcome outcome = runner.Join();
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  const auto& lines = outcome.result.lines;
  EXPECT_THAT(lines, Contains(HasSubstr("worker-0, iteration 0")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("worker-0, iteration 9"))));
  EXPECT_THAT(lines, Contains(HasSubstr("worker-1, iteration 0")));
  EXPECT_THAT(lines, Contains(HasSubstr("worker-1, iteration 9")));
}

TEST(MultiProcessRunnerTest, TerminatesAndStartsAgain) {
  const auto reached = SharedCounter::Make();
  const auto go_on = SharedEvent::Make();
  MultiProcessRunner runner(kIterate.With(reached, go_on), Cluster(false, 2), Captured());
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(reached.WaitFor(2).ok());
  EXPECT_EQ(runner.StartSingleProcess("worker", 0).code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(runner.Terminate("worker", 0).ok());
  ASSERT_TRUE(runner.StartSingleProcess("worker", 0).ok());
  ASSERT_TRUE(reached.WaitFor(3).ok());
  ASSERT_TRUE(go_on.Set().ok());
  const Outcome outcome = runner.Join();
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  const auto& lines = outcome.result.lines;
  EXPECT_THAT(lines, Contains(HasSubstr("worker-0, iteration 0")).Times(2));
  EXPECT_THAT(lines, Contains(HasSubstr("worker-0, iteration 9")).Times(1));
  EXPECT_THAT(lines, Contains(HasSubstr("worker-1, iteration 0")).Times(1));
  EXPECT_THAT(lines, Contains(HasSubstr("worker-1, iteration 9")).Times(1));
}

void Stream() {
  for (int i = 0; i < 5; ++i) {
    fprintf(stderr, "(logging) %s, i: %d\n", Self().c_str(), i);
    std::cout << "(print) " << Self() << ", i: " << i << std::endl;
  }
}
// The tasks wait for each other, so that the end of the chief does not end the others early.
void StreamTogether(const SharedCounter& done, int tasks) {
  Stream();
  ASSERT_TRUE(done.Add().ok());
  ASSERT_TRUE(done.WaitFor(tasks).ok());
}
const Function kStreamTogether("StreamTogether", StreamTogether);

TEST(MultiProcessRunnerTest, StreamsEveryLineOfEveryTask) {
  RunOptions options = Captured();
  options.chief_courtesy = absl::Seconds(60);
  MultiProcessRunner runner(kStreamTogether.With(SharedCounter::Make(), 7), Cluster(true, 2, 2),
                            options);
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(runner.StartSingleProcess("worker", 2).ok());
  ASSERT_TRUE(runner.StartSingleProcess("ps", 2).ok());
  const Outcome outcome = runner.Join();
  for (const char* task : {"chief-0", "worker-0", "worker-1", "worker-2", "ps-0", "ps-1", "ps-2"}) {
    for (int i = 0; i < 5; ++i) {
      for (const char* how : {"(logging)", "(print)"}) {
        EXPECT_THAT(outcome.result.lines,
                    Contains(HasSubstr(absl::StrCat(how, " ", task, ", i: ", i))).Times(1));
      }
    }
  }
  EXPECT_THAT(outcome.result.lines, Not(Contains(HasSubstr("worker-3"))));
}

// The task in the test's own process ends once another task has started; the others wait for the
// test.
absl::Status InProcess(const SharedCounter& others, const SharedEvent& go_on) {
  if (!TaskOfThisProcess()) {
    if (auto came = others.WaitFor(1); !came.ok()) return came.status();
    return absl::CancelledError(getenv("TF_CONFIG"));
  }
  puts("here");
  fflush(stdout);
  if (auto added = others.Add(); !added.ok()) return added.status();
  return go_on.Wait();
}
const Function kInProcess("InProcess", InProcess);

TEST(MultiProcessRunnerTest, RunsOneTaskInThisProcess) {
  const auto others = SharedCounter::Make();
  const auto go_on = SharedEvent::Make();
  MultiProcessRunner runner(kInProcess.With(others, go_on), Cluster(true, 1, 0, true), Captured());
  const absl::Status status = runner.StartInProcessAs("chief", 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << "the function's own error";
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("\"task\": {\"type\": \"chief\", \"index\": 0}"));
  unsetenv("TF_CONFIG");
  EXPECT_FALSE(runner.GetProcessId("chief", 0).has_value());
  // Its end does not end the others.
  ASSERT_TRUE(others.WaitFor(2).ok());
  ASSERT_TRUE(runner.StartSingleProcess("evaluator", 1).ok());
  ASSERT_TRUE(others.WaitFor(3).ok());
  ASSERT_TRUE(go_on.Set().ok());
  const Outcome outcome = runner.Join();
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  for (const char* task : {"worker-0", "evaluator-0", "evaluator-1"}) {
    EXPECT_THAT(outcome.result.lines, Contains(AllOf(HasSubstr(task), HasSubstr("here"))));
  }
}

TEST(MultiProcessRunnerTest, MayHaveNoOtherProcess) {
  MultiProcessRunner runner(kFail.With("here"), {{"worker", {"localhost:1"}}});
  EXPECT_EQ(runner.StartInProcessAs("worker", 0), absl::InvalidArgumentError("here"));
  unsetenv("TF_CONFIG");
  const Outcome outcome = runner.Join();
  EXPECT_TRUE(outcome.ok()) << "the error was told already";
  EXPECT_THAT(outcome.result.returns, IsEmpty());
}

// Several threads use a runner: one joins it while the others use it.
TEST(MultiProcessRunnerTest, IsUsedWhileSomebodyJoinsIt) {
  const auto reached = SharedCounter::Make();
  const auto go_on = SharedEvent::Make();
  MultiProcessRunner runner(kIterate.With(reached, go_on), Cluster(false, 1), Captured());
  ASSERT_TRUE(runner.Start().ok());
  Outcome outcome;
  std::thread joiner([&] { outcome = runner.Join(); });
  EXPECT_TRUE(reached.WaitFor(1).ok());
  EXPECT_TRUE(runner.Terminate("worker", 0).ok());
  joiner.join();
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_EQ(runner.StartSingleProcess("worker", 1).code(), absl::StatusCode::kFailedPrecondition);
}

std::optional<int> AtBarrier() {
  const auto place = GetBarrier()->Wait();
  EXPECT_TRUE(place.ok()) << place.status();
  return place.ok() ? std::optional<int>(*place) : std::nullopt;
}
const Function kAtBarrier("AtBarrier", AtBarrier);

TEST(MultiProcessRunnerTest, HasABarrierForAllTasks) {
  RunOptions options;
  options.chief_courtesy = kLong;
  const Outcome outcome = RunProcesses(kAtBarrier, Cluster(true, 2, 1), options);
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(*outcome.result.Values<int>(), UnorderedElementsAre(0, 1, 2, 3));
}

TEST(MultiProcessRunnerTest, HasNoBarrierInTheTestItself) {
  EXPECT_EQ(GetBarrier().status().code(), absl::StatusCode::kFailedPrecondition);
}

std::string CodeAt(const Barrier::Options& options) {
  return absl::StatusCodeToString(GetBarrier()->Wait(options).status().code());
}

std::vector<std::string> AtSomeBarriers() {
  if (TaskOfThisProcess()->type == "ps") {
    return {CodeAt({.name = "some", .parties = {"worker"}}),
            CodeAt({.name = "no time", .timeout = absl::ZeroDuration()})};
  }
  std::vector<std::string> codes = {CodeAt({.name = "some", .parties = {"worker"}})};
  if (Self() == "worker-0") {
    codes.push_back(CodeAt({.name = "broken", .parties = {"worker"}, .timeout = kSoon}));
  }
  codes.push_back(CodeAt({.name = "next", .parties = {"worker-0", "worker-1"}}));
  codes.push_back(CodeAt({.name = "broken", .parties = {"worker"}}));
  return codes;
}
const Function kAtSomeBarriers("AtSomeBarriers", AtSomeBarriers);

TEST(MultiProcessRunnerTest, HasBarriersForSomeAndBreaksThem) {
  const Outcome outcome = RunProcesses(kAtSomeBarriers, Cluster(false, 2, 1), Captured());
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(
      *outcome.result.Values<std::vector<std::string>>(),
      UnorderedElementsAre(ElementsAre("OK", "DEADLINE_EXCEEDED", "OK", "FAILED_PRECONDITION"),
                           ElementsAre("OK", "OK", "FAILED_PRECONDITION"),
                           ElementsAre("INVALID_ARGUMENT", "DEADLINE_EXCEEDED")));
}

void PrintAndHang(const SharedCounter& printed) {
  puts("something");
  fflush(stdout);
  std::thread other([&] {
    EXPECT_TRUE(printed.Add().ok());
    Hang();
  });
  Hang();
}
const Function kPrintAndHang("PrintAndHang", PrintAndHang);

TEST(MultiProcessRunnerTest, HasTheOutputAndTheStacksAfterATimeout) {
  const auto printed = SharedCounter::Make();
  MultiProcessRunner runner(kPrintAndHang.With(printed), Cluster(false, 1), Captured());
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(printed.WaitFor(1).ok());
  const Outcome outcome = runner.Join(kSoon);
  EXPECT_EQ(outcome.error, RunError::kTimeout);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kDeadlineExceeded);
  const auto& lines = outcome.result.lines;
  EXPECT_THAT(lines, Contains("[worker-0]:    something\n"));
  EXPECT_THAT(lines, Contains(HasSubstr("The stacks of all threads")));
  EXPECT_THAT(lines, Contains(HasSubstr("PrintAndHang")));
  EXPECT_THAT(lines, Contains(MatchesRegex("\\[worker-0\\]:    Thread [0-9]+ .*\n")).Times(Ge(3)))
      << "two of its own and the one that talks to the test";
  EXPECT_THAT(outcome.result.attempts.back().how, HasSubstr("signal 15"));
}

absl::StatusOr<std::string> FailOrHang(const SharedCounter& printed) {
  if (TaskOfThisProcess()->index == 0) return absl::UnknownError("the first one failed");
  if (TaskOfThisProcess()->index == 2) return "the third one returned";
  puts("the second one hangs");
  fflush(stdout);
  EXPECT_TRUE(printed.Add().ok());
  Hang();
}
const Function kFailOrHang("FailOrHang", FailOrHang);

TEST(MultiProcessRunnerTest, GivesAnErrorRatherThanTheTimeout) {
  const auto printed = SharedCounter::Make();
  MultiProcessRunner runner(kFailOrHang.With(printed), Cluster(false, 3), Captured());
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(printed.WaitFor(1).ok());
  for (const int index : {0, 2}) ASSERT_TRUE(runner.AwaitExit("worker", index).ok());
  const Outcome outcome = runner.Join(kSoon);
  EXPECT_EQ(outcome.error, RunError::kTaskFailed);
  EXPECT_EQ(outcome.status.message(), "worker-0: the first one failed");
  EXPECT_THAT(outcome.result.lines, Contains(HasSubstr("the second one hangs")));
  EXPECT_THAT(*outcome.result.Values<std::string>(), ElementsAre("the third one returned"));
}

// The chief (or worker 0) dies; the other tasks run for ever.
void SegmentationFault() {
  if (TaskOfThisProcess()->type != "chief" && TaskOfThisProcess()->index != 0) Hang();
  if (TaskOfThisProcess()->type == "worker" && getenv("ONLY_CHIEF") != nullptr) Hang();
  raise(SIGSEGV);
  Hang();
}
const Function kSegmentationFault("SegmentationFault", SegmentationFault);

TEST(MultiProcessRunnerTest, ReportsASegmentationFault) {
  const Outcome outcome = RunProcesses(kSegmentationFault, Cluster(false, 1), Captured());
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
  EXPECT_THAT(std::string(outcome.status.message()),
              MatchesRegex(kSanitized ? "Subprocess worker-0 exited with .*"
                                      : "Subprocess worker-0 exited with signal 11 .*"));
  EXPECT_THAT(outcome.result.lines,
              Contains(HasSubstr(kSanitized ? "SEGV" : "Segmentation fault")));
}

TEST(MultiProcessRunnerTest, ReportsASegmentationFaultOfTheChiefWithoutWaitingForOthers) {
  RunOptions options = Captured();
  options.environment = {"ONLY_CHIEF=1"};
  const Outcome outcome = RunProcesses(kSegmentationFault, Cluster(true, 1), options);
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
  EXPECT_THAT(std::string(outcome.status.message()),
              AllOf(HasSubstr("Subprocess chief-0 exited with"), Not(HasSubstr("worker"))));
}

void ExitWith(const std::string& type, int code) {
  if (TaskOfThisProcess()->type == type) exit(code);
  Hang();
}
const Function kExitWith("ExitWith", ExitWith);

TEST(MultiProcessRunnerTest, ReportsTheExitCodeOfTheChief) {
  const Outcome outcome = RunProcesses(kExitWith.With("chief", 20), Cluster(true, 1), Captured());
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
  EXPECT_EQ(outcome.status.message(), "Subprocess chief-0 exited with exit code 20");
}

TEST(MultiProcessRunnerTest, ReportsTheExitCodeOfAWorker) {
  const Outcome outcome = RunProcesses(kExitWith.With("worker", 10), Cluster(false, 1), Captured());
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
  EXPECT_EQ(outcome.status.message(), "Subprocess worker-0 exited with exit code 10");
}

TEST(MultiProcessRunnerTest, TakesExitZeroForNoResult) {
  const Outcome outcome = RunProcesses(kExitWith.With("worker", 0), Cluster(false, 2));
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(outcome.result.returns, IsEmpty());
}

TEST(MultiProcessRunnerTest, KnowsItsProcesses) {
  MultiProcessRunner runner(kHang, Cluster(false, 1));
  ASSERT_TRUE(runner.Start().ok());
  EXPECT_TRUE(*runner.ProcessExists("worker", 0));
  EXPECT_FALSE(runner.GetProcessExitCode("worker", 0)->has_value());
  EXPECT_EQ(kill(runner.GetProcessId("worker", 0).value(), 0), 0);
  EXPECT_EQ(runner.ProcessExists("worker", 1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(runner.GetProcessExitCode("ps", 0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(runner.GetProcessId("ps", 0).has_value());
  EXPECT_EQ(runner.Terminate("ps", 0).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(runner.Terminate("worker", 0).ok());
  EXPECT_FALSE(*runner.ProcessExists("worker", 0));
  EXPECT_TRUE(runner.Join().ok());
}

absl::Status WaitAndFail(const SharedEvent& go_on) {
  if (absl::Status status = go_on.Wait(); !status.ok()) return status;
  return absl::UnknownError("after a long time");
}
const Function kWaitAndFail("WaitAndFail", WaitAndFail);

TEST(MultiProcessRunnerTest, WaitsForEverIfAsked) {
  const auto go_on = SharedEvent::Make();
  MultiProcessRunner runner(kWaitAndFail.With(go_on), Cluster(false, 1));
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(go_on.Set().ok());
  EXPECT_EQ(runner.Join(absl::InfiniteDuration()).status.message(), "worker-0: after a long time");
}

TEST(MultiProcessRunnerTest, RefusesWhatIsWrong) {
  ClusterSpec two = Cluster(true, 1);
  two[0].second.push_back("localhost:1");
  const Outcome chiefs = RunProcesses(kNothing, two);
  EXPECT_EQ(chiefs.error, RunError::kWrongCall);
  EXPECT_EQ(chiefs.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(chiefs.status.message()), HasSubstr("2"));
  EXPECT_EQ(RunProcesses(kNothing, {}).status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RunProcesses(Call{"nobody", ""}, Cluster(false, 1)).status.code(),
            absl::StatusCode::kInvalidArgument);

  MultiProcessRunner runner(kNothing, Cluster(false, 1));
  EXPECT_EQ(runner.Join().status.code(), absl::StatusCode::kFailedPrecondition) << "not started";
  EXPECT_EQ(runner.Join(-absl::Seconds(1)).status.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(runner.Start().ok());
  EXPECT_EQ(runner.Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(runner.StartInProcessAs("worker", 0).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(runner.Join().ok());
  EXPECT_EQ(runner.Join().error, RunError::kWrongCall);
  EXPECT_EQ(runner.StartSingleProcess("worker", 0).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(MultiProcessRunnerTest, StartsOneTaskInAnotherWay) {
  MultiProcessRunner runner(kPrint, Cluster(false, 1), Captured());
  ASSERT_TRUE(runner.Start().ok());
  EXPECT_EQ(runner.StartSingleProcess("p s", 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(runner.StartSingleProcess("ps", 0, {.arguments = kFail.Args("x")}).code(),
            absl::StatusCode::kInvalidArgument)
      << "arguments without a function";
  EXPECT_EQ(runner.StartSingleProcess("ps", 0, {.function = kFail}).code(),
            absl::StatusCode::kInvalidArgument)
      << "a function without its arguments";
  const ClusterSpec own = {{"ps", {"example.com:1"}}};
  ASSERT_TRUE(
      runner
          .StartSingleProcess(
              "ps", 0,
              {.cluster_spec = own, .function = kFail, .arguments = kFail.Args("in another way")})
          .ok());
  const Outcome outcome = runner.Join();
  EXPECT_EQ(outcome.status.message(), "ps-0: in another way");
  EXPECT_THAT(outcome.result.lines,
              Contains(AllOf(HasSubstr("[ps-0]:"),
                             HasSubstr("{\"cluster\": {\"ps\": [\"example.com:1\"]}"))));
  EXPECT_THAT(outcome.result.lines,
              Not(Contains(AllOf(HasSubstr("[worker-0]:"), HasSubstr("example.com")))));
}

using Variables = std::map<std::string, std::string>;
Variables OwnEnvironment(const std::vector<std::string>& names) {
  Variables values;
  for (const auto& name : names) {
    if (const char* value = getenv(name.c_str())) values[name] = value;
  }
  return values;
}
const Function kOwnEnvironment("OwnEnvironment", OwnEnvironment);

TEST(MultiProcessRunnerTest, TellsTasksOfEachOther) {
  RunOptions options = Captured();
  options.rpc_layer = "grpc+loas";
  options.grpc_fail_fast = false;
  options.environment = {"OWN=value"};
  const ClusterSpec spec = {{"worker", {"localhost:20001"}}};
  const Outcome outcome = RunProcesses(
      kOwnEnvironment.With({"TF_CONFIG", "GRPC_FAIL_FAST", "OWN", "TF_FORCE_GPU_ALLOW_GROWTH"}),
      spec, options);
  EXPECT_THAT(outcome.result.Values<Variables>()->at(0),
              ElementsAre(Pair("GRPC_FAIL_FAST", "False"), Pair("OWN", "value"),
                          Pair("TF_CONFIG", R"({"cluster": {"worker": ["localhost:20001"]}, )"
                                            R"("task": {"type": "worker", "index": 0}, )"
                                            R"("rpc_layer": "grpc+loas"})"),
                          Pair("TF_FORCE_GPU_ALLOW_GROWTH", "true")));
}

TEST(MultiProcessRunnerTest, GivesEachWorkerGpusOfItsOwn) {
  RunOptions options = Captured();
  options.share_gpu = false;
  options.chief_courtesy = kLong;
  const auto visible = [&](const std::vector<std::string>& gpus) {
    options.gpus = gpus;
    std::vector<std::string> all;
    const auto outcome =
        RunProcesses(kOwnEnvironment.With({"CUDA_VISIBLE_DEVICES"}), Cluster(true, 1), options);
    const auto values = outcome.result.Values<Variables>();
    for (const auto& value : values.value()) {
      all.push_back(value.at("CUDA_VISIBLE_DEVICES"));
    }
    return all;
  };
  EXPECT_THAT(visible({"0", "1"}), UnorderedElementsAre("0", "1"));
  EXPECT_THAT(visible({"0", "1", "2", "3"}), UnorderedElementsAre("0,2", "1,3"));
}

void Throw() { throw std::out_of_range("thrown"); }
const Function kThrow("Throw", Throw);

TEST(MultiProcessRunnerTest, TakesAnExceptionForAnError) {
  const Outcome outcome = RunProcesses(kThrow, Cluster(false, 1), Captured());
  EXPECT_EQ(outcome.status, absl::OutOfRangeError("worker-0: thrown"));
}

void Assert() {
  EXPECT_EQ(1 + 1, 3) << "said by the test";
  EXPECT_TRUE(true);
}
const Function kAssert("Assert", Assert);

TEST(MultiProcessRunnerTest, TakesAFailedAssertionForAnError) {
  const Outcome outcome = RunProcesses(kAssert, Cluster(false, 1), Captured());
  EXPECT_EQ(outcome.error, RunError::kTaskFailed);
  EXPECT_THAT(std::string(outcome.status.message()),
              AllOf(HasSubstr("worker-0: 1 failed assertions"), HasSubstr("said by the test"),
                    HasSubstr("multi_process_runner_test.cc")));
}

void PrintOnce() { puts("only once"); }
const Function kPrintOnce("PrintOnce", PrintOnce);

// Runs a task whose lines are streamed, returned, both or neither. Returns the lines in the result.
std::optional<std::vector<std::string>> RunWithin(bool stream, bool keep) {
  RunOptions options;
  options.stream_output = stream;
  options.return_output = keep;
  const Outcome outcome = RunProcesses(kPrintOnce, Cluster(false, 1), options);
  return outcome.result.lines;
}
const Function kRunWithin("RunWithin", RunWithin);

TEST(MultiProcessRunnerTest, StreamsAndReturnsIndependently) {
  for (const bool stream : {false, true}) {
    for (const bool keep : {false, true}) {
      const Outcome outer =
          RunProcesses(kRunWithin.With(stream, keep), {{"ps", {"localhost:1"}}}, Captured());
      ASSERT_TRUE(outer.ok()) << outer.status;
      EXPECT_THAT(outer.result.lines,
                  Contains("[ps-0]:        [worker-0]:    only once\n").Times(stream ? 1 : 0));
      EXPECT_THAT(outer.result.Values<std::vector<std::string>>()->at(0),
                  Contains("[worker-0]:    only once\n").Times(keep ? 1 : 0));
    }
  }
}

}  // namespace
}  // namespace launcher::testing
