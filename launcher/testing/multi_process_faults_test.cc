#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/testing/child.h"
#include "launcher/testing/multi_process_runner.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

// Tests tasks that fail, hang, or start others: restarts, the chief rule, time limits, and cases
// that the original handles wrongly.

namespace launcher::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kSoon = absl::Milliseconds(50);
constexpr absl::Duration kLong = absl::Seconds(100);
// Increasing time limits, within one of which a task returns even on a slow machine.
constexpr absl::Duration kLimits[] = {absl::Milliseconds(300), absl::Seconds(1), absl::Seconds(5),
                                      absl::Seconds(60)};

RunOptions Captured() {
  RunOptions options;
  options.return_output = true;
  options.stream_output = false;
  options.chief_courtesy = kSoon;
  options.force_kill_wait = absl::Seconds(20);
  options.terminate_wait = kLong;
  return options;
}

ClusterSpec Cluster(bool has_chief, int workers) {
  return CreateClusterSpec(has_chief, workers).value();
}

[[noreturn]] void Hang() {
  for (;;) pause();
}

// Waits for the end of a process that is not our child, by its pid; returns false after the
// time-out.
bool IsGone(pid_t pid, absl::Duration timeout = kLong) {
  const runtime::UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid()) return true;
  pollfd ready = {.fd = fd.get(), .events = POLLIN, .revents = 0};
  return poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout))) == 1;
}

// In a child: starts a program that inherits its output.
pid_t StartSleep(bool new_session, const std::vector<std::string>& environment = {}) {
  auto process = runtime::Subprocess::Start(
      {.argv = {"/bin/sleep", "1000"},
       .environment = environment,
       .fds = {{STDOUT_FILENO, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}},
       .new_session = new_session});
  return process.value().pid();
}

// ---- Restarts

absl::StatusOr<std::int64_t> SucceedAt(const SharedCounter& tries, std::int64_t wanted) {
  const auto number = tries.Add();
  if (!number.ok()) return number.status();
  if (*number == wanted) return *number;
  if (*number == 1) return absl::UnknownError("of the first attempt");
  exit(3);
}
const Function kSucceedAt("SucceedAt", SucceedAt);

TEST(MultiProcessRestartTest, RestartsATaskUntilItSucceeds) {
  RunOptions options = Captured();
  options.auto_restart = true;
  const Outcome outcome =
      RunProcesses(kSucceedAt.With(SharedCounter::Make(), 3), Cluster(false, 1), options);
  ASSERT_TRUE(outcome.ok()) << outcome.status << ": a failure that was cured is forgotten";
  EXPECT_THAT(*outcome.result.Values<std::int64_t>(), ElementsAre(3));
  const auto& attempts = outcome.result.attempts;
  ASSERT_THAT(attempts, SizeIs(3)) << "but kept in the history";
  EXPECT_EQ(attempts[0].status.message(), "of the first attempt");
  EXPECT_EQ(attempts[1].how, "exit code 3");
  EXPECT_EQ(attempts[2].how, "exit code 0");
}

TEST(MultiProcessRestartTest, RestartsAChiefLikeOthers) {
  RunOptions options = Captured();
  options.auto_restart = true;
  const Outcome outcome =
      RunProcesses(kSucceedAt.With(SharedCounter::Make(), 2), Cluster(true, 0), options);
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(outcome.result.attempts, SizeIs(2));
}

// The original restarts for ever.
TEST(MultiProcessRestartTest, GivesUpAfterSoManyRestarts) {
  RunOptions options = Captured();
  options.auto_restart = true;
  options.max_restarts = 2;
  const Outcome outcome =
      RunProcesses(kSucceedAt.With(SharedCounter::Make(), 0), Cluster(false, 1), options);
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit) << "which came after an error";
  EXPECT_EQ(outcome.status.message(), "Subprocess worker-0 exited with exit code 3");
  EXPECT_THAT(outcome.result.attempts, SizeIs(3));
}

void Nothing() {}
const Function kNothing("Nothing", Nothing);

// The original restarts the task with the function of the other tasks.
TEST(MultiProcessRestartTest, KeepsWhatIsDifferentForATask) {
  RunOptions options = Captured();
  options.auto_restart = true;
  MultiProcessRunner runner(kNothing, Cluster(false, 1), options);
  MultiProcessRunner::Overrides overrides;
  overrides.function = kSucceedAt.With(SharedCounter::Make(), 2);
  ASSERT_TRUE(runner.StartSingleProcess("worker", 0, overrides).ok());
  const Outcome outcome = runner.Join();
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(*outcome.result.Values<std::int64_t>(), ElementsAre(2));
}

TEST(MultiProcessRestartTest, ReportsTasksThatCannotBeStarted) {
  RunOptions options = Captured();
  options.environment = {"TOO_LARGE=" + std::string(4 << 20, 'x')};
  MultiProcessRunner runner(kNothing, Cluster(true, 1), options);
  ASSERT_TRUE(runner.Start().ok());
  EXPECT_FALSE(*runner.ProcessExists("chief", 0));
  EXPECT_FALSE(runner.GetProcessId("chief", 0).has_value());
  const Outcome outcome = runner.Join();
  EXPECT_EQ(outcome.error, RunError::kTaskFailed);
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("chief-0: "));
  ASSERT_THAT(outcome.result.attempts, SizeIs(2));
  for (const auto& attempt : outcome.result.attempts) EXPECT_EQ(attempt.how, "not started");
}

absl::Status CountAndWait(const SharedCounter& started, const SharedEvent& end) {
  if (auto counted = started.Add(); !counted.ok()) return counted.status();
  return end.Wait();
}
const Function kCountAndWait("CountAndWait", CountAndWait);

TEST(MultiProcessRestartTest, RestartsATaskThatWasTerminated) {
  RunOptions options = Captured();
  options.auto_restart = true;
  options.max_restarts = 0;
  const auto started = SharedCounter::Make();
  const auto end = SharedEvent::Make();
  MultiProcessRunner runner(kCountAndWait.With(started, end), Cluster(false, 1), options);
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(started.WaitFor(1).ok());
  const auto first = runner.GetProcessId("worker", 0);
  ASSERT_TRUE(runner.Terminate("worker", 0).ok());
  ASSERT_TRUE(started.WaitFor(2).ok());
  EXPECT_NE(runner.GetProcessId("worker", 0), first);
  runner.TerminateAll();
  ASSERT_TRUE(started.WaitFor(3).ok());
  ASSERT_TRUE(end.Set().ok());
  EXPECT_TRUE(runner.Join().ok());
}

// Fails once; later attempts report that they run, and hang.
absl::Status FailThenHang(const SharedCounter& tries) {
  const auto number = tries.Add();
  if (!number.ok()) return number.status();
  if (*number == 1) return absl::DataLossError("of the first attempt");
  Hang();
}
const Function kFailThenHang("FailThenHang", FailThenHang);

absl::Status FailUnlessChief(const SharedCounter& tries) {
  if (TaskOfThisProcess()->type != "chief") return FailThenHang(tries);
  return tries.WaitFor(2).status();
}
const Function kFailUnlessChief("FailUnlessChief", FailUnlessChief);

void ExpectErrorOfTheFirstAttempt(const Outcome& outcome) {
  EXPECT_EQ(outcome.error, RunError::kTaskFailed);
  EXPECT_EQ(outcome.status, absl::DataLossError("worker-0: of the first attempt"));
}

TEST(MultiProcessRestartTest, KeepsAnErrorWhenTheTimeOfJoinEndsTheNextAttempt) {
  RunOptions options = Captured();
  options.auto_restart = true;
  const auto tries = SharedCounter::Make();
  MultiProcessRunner runner(kFailThenHang.With(tries), Cluster(false, 1), options);
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(tries.WaitFor(2).ok());
  ExpectErrorOfTheFirstAttempt(runner.Join(absl::ZeroDuration()));
}

TEST(MultiProcessRestartTest, KeepsAnErrorWhenTheChiefEndsTheNextAttempt) {
  RunOptions options = Captured();
  options.auto_restart = true;
  ExpectErrorOfTheFirstAttempt(
      RunProcesses(kFailUnlessChief.With(SharedCounter::Make()), Cluster(true, 1), options));
}

TEST(MultiProcessRestartTest, KeepsAnErrorWhenTheNextAttemptIsKilled) {
  const auto tries = SharedCounter::Make();
  MultiProcessRunner runner(kFailThenHang.With(tries), Cluster(false, 1), Captured());
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(runner.AwaitExit("worker", 0).ok());
  ASSERT_TRUE(runner.StartSingleProcess("worker", 0).ok());
  ASSERT_TRUE(tries.WaitFor(2).ok());
  runner.TerminateAll();
  ExpectErrorOfTheFirstAttempt(runner.Join());
}

TEST(MultiProcessRestartTest, KeepsAnErrorWhenTheNextAttemptRunsTooLong) {
  RunOptions options = Captured();
  options.auto_restart = true;
  Outcome outcome;
  for (const absl::Duration limit : kLimits) {
    options.max_run_time = limit;
    const auto tries = SharedCounter::Make();
    outcome = RunProcesses(kFailThenHang.With(tries), Cluster(false, 1), options);
    if (*tries.Value() == 2) break;
  }
  ExpectErrorOfTheFirstAttempt(outcome);
}

std::string CloseEverything() {
  syscall(SYS_close_range, 3, ~0U, 0);
  return "lost";
}
const Function kCloseEverything("CloseEverything", CloseEverything);

// Daemons often close all descriptors; a child of the original would lose its queue in the same
// way.
TEST(MultiProcessRestartTest, SaysThatAResultIsLost) {
  const Outcome outcome = RunProcesses(kCloseEverything, Cluster(false, 1), Captured());
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
  EXPECT_EQ(outcome.status.message(),
            "Subprocess worker-0 exited with exit code 71: what its function has returned is lost, "
            "because it has closed the socket to the runner");
  EXPECT_THAT(outcome.result.returns, IsEmpty());
}

// ---- The chief

void ChiefLeads(const SharedCounter& others, int wanted, const SharedEvent& end, bool is_over) {
  if (TaskOfThisProcess()->type == "chief") {
    ASSERT_TRUE(others.WaitFor(wanted).ok());
    EXPECT_TRUE(!is_over || end.Set().ok());
    return;
  }
  ASSERT_TRUE(others.Add().ok());
  ASSERT_TRUE(end.Wait().ok());
  puts("the worker ends by itself");
}
const Function kChiefLeads("ChiefLeads", ChiefLeads);

TEST(MultiProcessChiefTest, EndsTheOthersWithTheChief) {
  const Outcome outcome =
      RunProcesses(kChiefLeads.With(SharedCounter::Make(), 3, SharedEvent::Make(), false),
                   Cluster(true, 3), Captured());
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  ASSERT_THAT(outcome.result.attempts, SizeIs(4));
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_TRUE(outcome.result.attempts[i].stopped);
    EXPECT_THAT(outcome.result.attempts[i].how, HasSubstr("signal 9"));
  }
}

TEST(MultiProcessChiefTest, GivesTheOthersTimeToEndByThemselves) {
  RunOptions options = Captured();
  options.chief_courtesy = kLong;
  const Outcome outcome =
      RunProcesses(kChiefLeads.With(SharedCounter::Make(), 2, SharedEvent::Make(), true),
                   Cluster(true, 2), options);
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(outcome.result.lines, Contains(HasSubstr("the worker ends by itself")).Times(2));
}

TEST(MultiProcessChiefTest, LetsTheOthersGoOnIfAsked) {
  RunOptions options = Captured();
  options.dependence_on_chief = false;
  // Otherwise they would be killed together with the chief.
  options.chief_courtesy = absl::ZeroDuration();
  const auto others = SharedCounter::Make();
  const auto end = SharedEvent::Make();
  MultiProcessRunner runner(kChiefLeads.With(others, 1, end, false), Cluster(true, 1), options);
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(runner.AwaitExit("chief", 0).ok());
  ASSERT_TRUE(*runner.ProcessExists("worker", 0));
  ASSERT_TRUE(end.Set().ok());
  const Outcome outcome = runner.Join();
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(outcome.result.lines, Contains(HasSubstr("the worker ends by itself")));
}

// ---- Time

absl::StatusOr<std::string> ReturnOrHang() {
  if (TaskOfThisProcess()->index == 0) return "returned";
  Hang();
}
const Function kReturnOrHang("ReturnOrHang", ReturnOrHang);

TEST(MultiProcessTimeTest, KillsAndNamesWhatRunsTooLong) {
  RunOptions options = Captured();
  options.auto_restart = true;
  Outcome outcome;
  for (const absl::Duration limit : kLimits) {
    options.max_run_time = limit;
    outcome = RunProcesses(kReturnOrHang, Cluster(false, 3), options);
    EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
    EXPECT_THAT(outcome.result.attempts, SizeIs(3)) << "nothing is restarted";
    if (outcome.result.attempts[0].how == "exit code 0") break;
  }
  EXPECT_EQ(outcome.status.message(),
            absl::StrCat("max_run_time of ", absl::FormatDuration(options.max_run_time),
                         " is over: killed worker-1, worker-2"));
  EXPECT_THAT(*outcome.result.Values<std::string>(), ElementsAre("returned"));
}

TEST(MultiProcessTimeTest, LimitsWhatIsStartedAfterTheOthersHaveEnded) {
  RunOptions options = Captured();
  Outcome outcome;
  for (const absl::Duration limit : kLimits) {
    options.max_run_time = limit;
    MultiProcessRunner runner(kReturnOrHang, Cluster(false, 2), options);
    ASSERT_TRUE(runner.StartSingleProcess("worker", 0).ok());
    ASSERT_TRUE(runner.AwaitExit("worker", 0).ok());
    const absl::Status started = runner.StartSingleProcess("worker", 1);
    outcome = runner.Join();
    if (started.ok()) break;
    EXPECT_EQ(started.code(), absl::StatusCode::kFailedPrecondition) << "the time was over";
  }
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("is over: killed worker-1"));
  EXPECT_THAT(*outcome.result.Values<std::string>(), ElementsAre("returned"));
}

TEST(MultiProcessTimeTest, ZeroIsNoLimit) {
  RunOptions options = Captured();
  options.max_run_time = absl::ZeroDuration();
  const Outcome outcome = RunProcesses(kReturnOrHang, Cluster(false, 1), options);
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  options.max_run_time = -absl::Seconds(1);
  EXPECT_EQ(RunProcesses(kReturnOrHang, Cluster(false, 1), options).error, RunError::kWrongCall);
}

void IgnoreAndHang(const SharedCounter& ready) {
  signal(SIGTERM, SIG_IGN);
  StartSleep(false);
  StartSleep(true);
  ASSERT_TRUE(ready.Add().ok());
  Hang();
}
const Function kIgnoreAndHang("IgnoreAndHang", IgnoreAndHang);

TEST(MultiProcessTimeTest, KillsWhatDoesNotEndInTime) {
  RunOptions options = Captured();
  options.force_kill_wait = kSoon;
  options.output_wait = kLong;
  const auto ready = SharedCounter::Make();
  MultiProcessRunner runner(kIgnoreAndHang.With(ready), Cluster(false, 1), options);
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(ready.WaitFor(1).ok());
  const Outcome outcome = runner.Join(absl::ZeroDuration());
  EXPECT_EQ(outcome.error, RunError::kTimeout);
  EXPECT_THAT(outcome.result.attempts.back().how, HasSubstr("signal 9"));
  EXPECT_THAT(outcome.result.notes, IsEmpty()) << "what it has started is gone too";
}

// ---- Terminate

absl::Status NoteAndStop(const SharedQueue<int>& pids) {
  if (auto put = pids.Put(getpid()); !put.ok()) return put;
  raise(SIGSTOP);
  Hang();
}
const Function kNoteAndStop("NoteAndStop", NoteAndStop);

// The original waits for the task for ever, with its lock held.
TEST(MultiProcessTerminateTest, EndsATaskThatDoesNotListen) {
  RunOptions options = Captured();
  options.terminate_wait = kSoon;
  const auto pids = SharedQueue<int>::Make();
  MultiProcessRunner runner(kNoteAndStop.With(pids), Cluster(false, 1), options);
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(pids.Take().ok());
  ASSERT_TRUE(runner.Terminate("worker", 0).ok());
  EXPECT_FALSE(*runner.ProcessExists("worker", 0));
  EXPECT_TRUE(runner.Join().ok());
}

void StartOthersAndHang(const SharedQueue<int>& pids) {
  ASSERT_TRUE(pids.Put(StartSleep(false)).ok());
  ASSERT_TRUE(pids.Put(StartSleep(true)).ok());
  Hang();
}
const Function kStartOthersAndHang("StartOthersAndHang", StartOthersAndHang);

// The original kills only its own children.
TEST(MultiProcessTerminateTest, EndsWhatTheTaskHasStartedToo) {
  for (const bool all : {false, true}) {
    const auto pids = SharedQueue<int>::Make();
    MultiProcessRunner runner(kStartOthersAndHang.With(pids), Cluster(false, 1), Captured());
    ASSERT_TRUE(runner.Start().ok());
    const std::vector<int> others = {pids.Take().value(), pids.Take().value()};
    if (all) {
      runner.TerminateAll();
    } else {
      ASSERT_TRUE(runner.Terminate("worker", 0).ok());
    }
    const Outcome outcome = runner.Join();
    EXPECT_TRUE(outcome.ok()) << outcome.status;
    for (const pid_t pid : others) EXPECT_TRUE(IsGone(pid));
  }
}

void ExitAfterStop(const SharedCounter& started) {
  signal(SIGTERM, SIG_DFL);
  if (started.Add().value() > 1) exit(5);
  Hang();
}
const Function kExitAfterStop("ExitAfterStop", ExitAfterStop);

TEST(MultiProcessTerminateTest, TakesNoSignalOfItsOwnForAnUnexpectedExit) {
  const auto started = SharedCounter::Make();
  MultiProcessRunner runner(kExitAfterStop.With(started), Cluster(false, 1), Captured());
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(started.WaitFor(1).ok());
  runner.TerminateAll(SIGTERM);
  const Outcome outcome = runner.Join();
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  ASSERT_THAT(outcome.result.attempts, SizeIs(1));
  EXPECT_TRUE(outcome.result.attempts[0].stopped);
  EXPECT_THAT(outcome.result.attempts[0].how, HasSubstr("signal 15"));
}

TEST(MultiProcessTerminateTest, ForgetsTheStopOnceTheTaskStartsAgain) {
  const auto started = SharedCounter::Make();
  MultiProcessRunner runner(kExitAfterStop.With(started), Cluster(false, 1), Captured());
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(started.WaitFor(1).ok());
  runner.TerminateAll(SIGTERM);
  ASSERT_TRUE(runner.AwaitExit("worker", 0).ok());
  EXPECT_EQ(*runner.GetProcessExitCode("worker", 0), -SIGTERM);
  ASSERT_TRUE(runner.StartSingleProcess("worker", 0).ok());
  EXPECT_EQ(runner.Join().status.message(), "Subprocess worker-0 exited with exit code 5");
}

// ---- The end of the test's own process

void SayAndWait(const SharedQueue<int>& pids, const SharedEvent& said, const SharedEvent& end) {
  ASSERT_TRUE(pids.Put(getpid()).ok());
  ASSERT_TRUE(said.Set().ok());
  ASSERT_TRUE(end.Wait().ok());
}
const Function kSayAndWait("SayAndWait", SayAndWait);

// Runs a task in a process that then ends in some way.
void LeaveAChild(bool daemon, bool killed, const SharedQueue<int>& pids, const SharedEvent& end) {
  RunOptions options;
  options.daemon = daemon;
  const auto said = SharedEvent::Make();
  static auto* const runner =  // (For the leak checker.)
      new MultiProcessRunner(kSayAndWait.With(pids, said, end), Cluster(false, 1), options);
  ASSERT_TRUE(runner->Start().ok());
  // Waits for the child's message, so that it has finished its start.
  ASSERT_TRUE(said.Wait().ok());
  if (killed) kill(getpid(), SIGKILL);
}
const Function kLeaveAChild("LeaveAChild", LeaveAChild);

TEST(MultiProcessDaemonTest, IsKilledWithItsParent) {
  for (const bool killed : {false, true}) {
    const auto pids = SharedQueue<int>::Make();
    MultiProcessRunner runner(kLeaveAChild.With(true, killed, pids, SharedEvent::Make()),
                              Cluster(false, 1), Captured());
    ASSERT_TRUE(runner.Start().ok());
    const auto outcome = runner.Join();
    EXPECT_EQ(outcome.ok(), !killed) << outcome.status;
    const auto pid = pids.Take(absl::ZeroDuration());
    ASSERT_TRUE(pid.ok());
    EXPECT_TRUE(IsGone(*pid));
  }
}

TEST(MultiProcessDaemonTest, IsKilledWithItsRunnerAndNotRestarted) {
  RunOptions options = Captured();
  options.daemon = true;
  options.auto_restart = true;
  const auto pids = SharedQueue<int>::Make();
  const auto said = SharedEvent::Make();
  const auto end = SharedEvent::Make();
  {
    MultiProcessRunner runner(kSayAndWait.With(pids, said, end), Cluster(false, 1), options);
    ASSERT_TRUE(runner.Start().ok());
    ASSERT_TRUE(said.Wait().ok());
  }
  EXPECT_TRUE(IsGone(pids.Take().value(), absl::ZeroDuration()));
  EXPECT_EQ(*pids.Size(), 0);
}

TEST(MultiProcessDaemonTest, IsWaitedForIfItIsNone) {
  const auto pids = SharedQueue<int>::Make();
  const auto end = SharedEvent::Make();
  MultiProcessRunner runner(kLeaveAChild.With(false, false, pids, end), Cluster(false, 1),
                            Captured());
  ASSERT_TRUE(runner.Start().ok());
  const auto pid = pids.Take();
  ASSERT_TRUE(pid.ok());
  EXPECT_FALSE(IsGone(*runner.GetProcessId("worker", 0), kSoon)) << "waits at its exit";
  ASSERT_TRUE(end.Set().ok());
  const Outcome outcome = runner.Join();
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_TRUE(IsGone(*pid));
}

// ---- Output

int HoldOutput() { return StartSleep(true); }
const Function kHoldOutput("HoldOutput", HoldOutput);

// The original waits for the end of the pipe.
TEST(MultiProcessOutputTest, DoesNotWaitForSomebodyElseWhoHoldsTheOutput) {
  RunOptions options = Captured();
  options.output_wait = kSoon;
  const Outcome outcome = RunProcesses(kHoldOutput, Cluster(false, 1), options);
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  const int pid = outcome.result.Values<int>()->at(0);
  EXPECT_THAT(outcome.result.notes,
              ElementsAre(AllOf(HasSubstr("worker-0 has ended"),
                                HasSubstr(absl::StrCat("process ", pid, " (sleep)")))));
  EXPECT_EQ(kill(pid, SIGKILL), 0) << "it is nobody's business to end it";
}

void PrintBytes(const std::string& bytes) { fwrite(bytes.data(), 1, bytes.size(), stdout); }
const Function kPrintBytes("PrintBytes", PrintBytes);

TEST(MultiProcessOutputTest, PassesEveryByteOfALine) {
  const std::string nul(1, '\0');
  const std::string hostile = "NUL " + nul + " and \xff\xfe broken UTF-8, and no newline";
  const Outcome bytes = RunProcesses(kPrintBytes.With(hostile), Cluster(false, 1), Captured());
  EXPECT_THAT(bytes.result.lines, Contains("[worker-0]:    " + hostile + "\n"));
  const std::string large(4 << 20, 'x');
  const Outcome line = RunProcesses(kPrintBytes.With(large + "\n"), Cluster(false, 1), Captured());
  EXPECT_TRUE(line.result.lines.back() == "[worker-0]:    " + large + "\n");
}

constexpr int kLines = 2000;

void PrintManyLines() {
  const std::string text(100, static_cast<char>('a' + TaskOfThisProcess()->index));
  for (int i = 0; i < kLines; ++i) {
    // Written in pieces, on both streams.
    FILE* file = i % 2 == 0 ? stdout : stderr;
    setvbuf(file, nullptr, _IONBF, 0);
    fputs(text.substr(0, 50).c_str(), file);
    fputs((text.substr(50) + "\n").c_str(), file);
  }
}
const Function kPrintManyLines("PrintManyLines", PrintManyLines);

// In the original a line can be interrupted by lines of other tasks, and the two streams of a task
// can interrupt each other.
TEST(MultiProcessOutputTest, NeverMixesLines) {
  const Outcome outcome = RunProcesses(kPrintManyLines, Cluster(false, 3), Captured());
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  for (int task = 0; task < 3; ++task) {
    const std::string line = absl::StrCat(
        "[worker-", task, "]:    ", std::string(100, static_cast<char>('a' + task)), "\n");
    EXPECT_EQ(std::count(outcome.result.lines.begin(), outcome.result.lines.end(), line), kLines);
  }
  EXPECT_THAT(outcome.result.lines, SizeIs(3 * kLines + 3)) << "and one that says that it starts";
}

std::string Large(std::int64_t bytes) { return std::string(static_cast<std::size_t>(bytes), 'x'); }
const Function kLarge("Large", Large);

TEST(MultiProcessOutputTest, SaysThatAResultIsTooLarge) {
  const Outcome outcome =
      RunProcesses(kLarge.With(std::int64_t{256} << 20), Cluster(false, 1), Captured());
  EXPECT_EQ(outcome.error, RunError::kTaskFailed);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kResourceExhausted) << outcome.status;
}

TEST(MultiProcessOutputTest, KeepsNoMoreThanAskedFor) {
  RunOptions options = Captured();
  options.return_output_limit = 1000;
  const Outcome outcome = RunProcesses(kPrintManyLines, Cluster(false, 1), options);
  std::size_t kept = 0;
  for (const auto& line : outcome.result.lines) kept += line.size();
  EXPECT_LE(kept, 1000);
  EXPECT_EQ(outcome.result.lines.size() + outcome.result.lines_dropped, kLines + 1);
}

// ---- Ports

void BindOwnPort(int port) {
  const runtime::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << port;
}
const Function kBindOwnPort("BindOwnPort", BindOwnPort);

int PortOf(const ClusterSpec& spec) {
  const std::string& address = spec[0].second[0];
  return std::stoi(address.substr(address.rfind(':') + 1));
}

TEST(MultiProcessPortTest, GivesPortsThatNobodyElseGets) {
  std::set<std::string> all;
  for (int i = 0; i < 5; ++i) {
    const ClusterSpec many = Cluster(false, 20);
    for (const auto& address : many[0].second) EXPECT_TRUE(all.insert(address).second);
  }
  const ClusterSpec spec = Cluster(false, 1);
  const Outcome taken =
      RunProcesses(kBindOwnPort.With(PortOf(spec)), Cluster(false, 1), Captured());
  EXPECT_FALSE(taken.ok()) << "it is held until its own task starts";
  const Outcome own = RunProcesses(kBindOwnPort.With(PortOf(spec)), spec, Captured());
  EXPECT_TRUE(own.ok()) << own.status;
}

}  // namespace
}  // namespace launcher::testing
