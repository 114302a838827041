// Kills a launcher between any two of its durable steps, and checks that the next one ends up with
// one job that ran once. The test runs itself as the launcher that is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/run/job_table.h"
#include "launcher/share/resources.h"
#include "runtime/file/file.h"
#include "runtime/process/subprocess.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr char kRequest[] = "the same request";
constexpr absl::Duration kGrace = absl::Seconds(10);

std::vector<std::string> LinesOf(const std::string& path) {
  return absl::StrSplit(runtime::ReadFile(path, 1 << 20).value_or(""), '\n', absl::SkipEmpty());
}

std::vector<std::string> Ran(const TestingTable& yard) { return LinesOf(yard.folder() + "/ran"); }

// Returns the points that the launcher that is killed has passed.
std::vector<std::string> Passed(const TestingTable& yard) {
  return LinesOf(yard.folder() + "/points");
}

// ---- The launcher that is killed

// Appends the name of each point to a file, and ends this process at point number $CRASH_AT.
std::function<void(std::string_view)> KillAtPoint(const std::string& folder) {
  const auto left = std::make_shared<int>(atoi(getenv("CRASH_AT")));
  return [left, path = folder + "/points"](std::string_view point) {
    std::ofstream(path, std::ios::app) << point << '\n';
    if (--*left < 0) kill(getpid(), SIGKILL);
  };
}

using MakeSpec = msg::JobSpecT (*)(const TestingTable&);
// Sends a request about the job while the job runs.
using Ask = void (*)(TestingTable&, const std::string& job);

// Runs a job in the test's child process.
void RunLauncher(const char* folder, MakeSpec make_spec, Ask ask = nullptr) {
  TestingTable yard(folder);
  yard.SetResources({*ParseResource("slots=2")});
  const auto fault = KillAtPoint(folder);
  const auto opened = yard.Open(fault);
  ASSERT_TRUE(opened.ok()) << opened;
  const auto job = yard.Launch(make_spec(yard), kRequest);
  ASSERT_TRUE(job.ok()) << job.status();
  yard.OnLoop([&] { fault("launch: after reply"); });
  if (ask != nullptr) {
    ask(yard, job->id);
    yard.OnLoop([&] { fault("what was asked: after reply"); });
  }
  const auto ended = yard.AwaitEnd(job->id);
  ASSERT_TRUE(ended.has_value());
  // Waits until the shims were released.
  for (const auto& task : ended->tasks) {
    for (const auto& attempt : task->attempts) {
      EXPECT_TRUE(yard.AwaitNoFile(
          absl::StrCat(yard.state_directory(), "/jobs/", task->id, ".", attempt->number, "/spec")));
    }
  }
}

// Removes an ended job in the test's child process.
void RunRemoval(const char* folder) {
  TestingTable yard(folder);
  const auto fault = KillAtPoint(folder);
  const auto opened = yard.Open(fault);
  ASSERT_TRUE(opened.ok()) << opened;
  const auto jobs = yard.List();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(yard.Remove(jobs[0].id), absl::OkStatus());
  yard.OnLoop([&] { fault("remove: after reply"); });
}

// Returns true if the launcher was killed at that point; false if there are fewer points.
bool RunLauncherUntil(int point, const std::string& folder) {
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  runtime::Subprocess::Options options;
  options.program = std::filesystem::read_symlink("/proc/self/exe");
  options.argv = {options.program, absl::StrCat("--gtest_filter=CrashTest.", test)};
  // The child writes no test results, and is not a shard.
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("XML_OUTPUT_FILE=") || text.starts_with("GTEST_")) continue;
    options.environment.emplace_back(text);
  }
  options.environment.push_back("CRASH_FOLDER=" + folder);
  options.environment.push_back(absl::StrCat("CRASH_AT=", point));
  auto child = runtime::Subprocess::Start(options);
  EXPECT_TRUE(child.ok()) << child.status();
  const auto status = child->Wait(absl::Seconds(30));
  EXPECT_TRUE(status.ok()) << status.status();
  EXPECT_TRUE(status->signal == SIGKILL || status->ok()) << status->ToString();
  return status->signal == SIGKILL;
}

// The points of a whole life, by name: a missing point is one at which no launcher was killed.
using Points = std::set<std::string>;

// For each point: prepares a yard, has a launcher killed at the point, and calls `look` to check
// what the next launcher makes of it. Returns the points.
Points KillAtEachPoint(const std::function<void(TestingTable&)>& prepare,
                       const std::function<void(TestingTable&)>& look) {
  for (int point = 0;; ++point) {
    SCOPED_TRACE(point);
    TestingTable yard;  // Owns the folder.
    yard.SetResources({*ParseResource("slots=2")});
    prepare(yard);
    const bool killed = RunLauncherUntil(point, yard.folder());
    const auto points = Passed(yard);
    const auto opened = yard.Open();
    EXPECT_TRUE(opened.ok()) << opened;
    if (opened.ok()) look(yard);
    if (!killed || ::testing::Test::HasFatalFailure()) return {points.begin(), points.end()};
  }
}

// Launches the same job again as the killed launcher, with the same request id, and repeats the
// request `ask`.
msg::JobT LaunchAgain(TestingTable& yard, MakeSpec make_spec, Ask ask = nullptr) {
  const auto job = yard.Launch(make_spec(yard), kRequest);
  EXPECT_TRUE(job.ok()) << job.status();
  if (!job.ok()) return {};
  if (ask != nullptr) ask(yard, job->id);
  auto ended = yard.AwaitEnd(job->id);
  EXPECT_TRUE(ended.has_value());
  EXPECT_EQ(yard.List().size(), 1u);
  return ended ? *std::move(ended) : msg::JobT();
}

void Nothing(TestingTable&) {}

// ---- One task

msg::JobSpecT OneTask(const TestingTable& yard) {
  return yard.Shell("echo ran >> $FOLDER/ran; echo out; read r < $FOLDER/go; exit 7");
}

TEST(CrashTest, EveryPointOfAJobsLifeLeavesOneJobThatRanOnce) {
  if (const char* folder = getenv("CRASH_FOLDER")) return RunLauncher(folder, OneTask);
  // Points before the program's end are passed while the program runs; for later points the program
  // may end: the script waits for a file, which is written here.
  const auto let_go = [](TestingTable& yard) {
    ASSERT_TRUE(runtime::WriteFileAtomically(yard.folder() + "/go", "now\n", 0600).ok());
  };
  const Points points = KillAtEachPoint(let_go, [](TestingTable& yard) {
    const msg::JobT ended = LaunchAgain(yard, OneTask);
    EXPECT_EQ(ended.reason, "exit code 7");
    EXPECT_TRUE(yard.AwaitNoFile(
        absl::StrCat(yard.state_directory(), "/jobs/", ended.id, "/worker-0.1/spec")));
    EXPECT_THAT(Ran(yard), ElementsAre("ran"));
    ASSERT_EQ(ended.tasks.size(), 1u);
    EXPECT_EQ(runtime::ReadFile(ended.tasks[0]->stdout_path, 1000).value_or(""), "out\n");
  });
  EXPECT_THAT(points, UnorderedElementsAre("launch: before insert", "launch: after insert",
                                           "launch: before reply", "launch: after reply",
                                           "before spec", "after spec, before spawn", "after spawn",
                                           "before save", "after save", "over",
                                           "before acknowledge", "after acknowledge", "let go"));
}

// ---- A removal

TEST(CrashTest, EveryPointOfARemovalLeavesAJobThatCanBeRemovedOrNothing) {
  if (const char* folder = getenv("CRASH_FOLDER")) return RunRemoval(folder);
  const auto have_a_job = [](TestingTable& yard) {
    ASSERT_TRUE(yard.Open().ok());
    const auto job = yard.Launch(yard.Shell("echo out"));
    ASSERT_TRUE(job.ok()) << job.status();
    ASSERT_TRUE(yard.AwaitEnd(job->id).has_value());
    ASSERT_TRUE(yard.AwaitNoFile(
        absl::StrCat(yard.state_directory(), "/jobs/", job->id, "/worker-0.1/spec")));
    yard.Close();
  };
  const Points points = KillAtEachPoint(have_a_job, [](TestingTable& yard) {
    for (const msg::JobT& left : yard.List()) {
      EXPECT_EQ(yard.Remove(left.id), absl::OkStatus());
    }
    EXPECT_EQ(yard.List().size(), 0u);
    EXPECT_TRUE(std::filesystem::is_empty(yard.state_directory() + "/jobs"));
  });
  EXPECT_THAT(points, UnorderedElementsAre("before remove", "folder removed", "after remove",
                                           "remove: after reply"));
}

// ---- A requested stop and restart

// Fails when it is asked to stop, after which it would be restarted. Its second run ends at once.
msg::JobSpecT UntilTold(const TestingTable& yard) {
  auto spec = yard.Shell(
      "trap 'exit 9' TERM; echo ran >> $FOLDER/ran; "
      "[ $(wc -l < $FOLDER/ran) = 1 ] || exit 0; while :; do sleep 0.01; done");
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 3;
  return spec;
}

// Waits until the job runs, and what an earlier launcher has done to it has had its effect.
void AwaitFirstRun(TestingTable& yard, const std::string& job) {
  ASSERT_TRUE(yard.AwaitInFile(yard.folder() + "/ran", "ran"));
  const auto passed = Passed(yard);
  if (std::find(passed.begin(), passed.end(), "after stop") == passed.end()) return;
  ASSERT_TRUE(yard.Await(
      job, [](const msg::JobT& now) { return now.tasks[0]->attempts[0]->ended_us != 0; }));
}

void AskToStop(TestingTable& yard, const std::string& job) {
  AwaitFirstRun(yard, job);
  ASSERT_EQ(yard.Stop(job, kGrace), absl::OkStatus());
}

// (A restart that was stored is not requested again, since that would be a second restart.)
void AskToRestart(TestingTable& yard, const std::string& job) {
  AwaitFirstRun(yard, job);
  yard.OnLoop([&] {
    const msg::JobT now = yard.table()->Message(*yard.table()->Row(job));
    if (now.state == msg::TaskState::Stopping || now.tasks[0]->attempts.size() > 1) return;
    EXPECT_EQ(yard.table()->Restart({job}, kGrace), absl::OkStatus());
  });
}

TEST(CrashTest, EveryPointOfAStopLeavesAStoppedJobThatRanOnce) {
  if (const char* folder = getenv("CRASH_FOLDER")) {
    return RunLauncher(folder, UntilTold, AskToStop);
  }
  const Points points = KillAtEachPoint(Nothing, [](TestingTable& yard) {
    const msg::JobT ended = LaunchAgain(yard, UntilTold, AskToStop);
    EXPECT_EQ(ended.state, msg::TaskState::Exited);
    EXPECT_EQ(ended.reason, "stopped: exit code 9");
    EXPECT_TRUE(ended.stop_requested);
    EXPECT_EQ(ended.restarts, 0u);
    EXPECT_THAT(Ran(yard), ElementsAre("ran"));
  });
  EXPECT_THAT(points, UnorderedElementsAre("launch: before insert", "launch: after insert",
                                           "launch: before reply", "launch: after reply",
                                           "before spec", "after spec, before spawn", "after spawn",
                                           "before save", "after save", "before stop", "after stop",
                                           "what was asked: after reply", "over",
                                           "before acknowledge", "after acknowledge", "let go"));
}

TEST(CrashTest, EveryPointOfARestartByHandLeavesOneMoreRun) {
  if (const char* folder = getenv("CRASH_FOLDER")) {
    return RunLauncher(folder, UntilTold, AskToRestart);
  }
  const Points points = KillAtEachPoint(Nothing, [](TestingTable& yard) {
    const msg::JobT ended = LaunchAgain(yard, UntilTold, AskToRestart);
    EXPECT_EQ(ended.state, msg::TaskState::Exited);
    EXPECT_EQ(ended.reason, "");
    EXPECT_EQ(ended.restarts, 0u) << "it does not count";
    ASSERT_EQ(ended.tasks.size(), 1u);
    ASSERT_EQ(ended.tasks[0]->attempts.size(), 2u);
    EXPECT_EQ(ended.tasks[0]->attempts[0]->exit_code, 9);
    EXPECT_THAT(Ran(yard), ElementsAre("ran", "ran"));
  });
  EXPECT_THAT(points, UnorderedElementsAre("launch: before insert", "launch: after insert",
                                           "launch: before reply", "launch: after reply",
                                           "before spec", "after spec, before spawn", "after spawn",
                                           "before save", "after save", "before stop", "after stop",
                                           "what was asked: after reply", "over",
                                           "before acknowledge", "after acknowledge", "let go"));
}

// ---- Restarts

// A gang that fails once.
msg::JobSpecT Gang(const TestingTable& yard) {
  auto spec = yard.Shell(
      "echo $RANK $TORCHELASTIC_RESTART_COUNT >> $FOLDER/ran; "
      "[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0; [ $RANK = 1 ] || exec sleep 1000; "
      "while [ $(wc -l < $FOLDER/ran) -lt 3 ]; do sleep 0.01; done; exit 5");
  AddGroup(&spec, "worker", 3);
  spec.gang = true;
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  return spec;
}

TEST(CrashTest, EveryPointOfAGangsRestartLeavesOneGangThatRanOnce) {
  if (const char* folder = getenv("CRASH_FOLDER")) return RunLauncher(folder, Gang);
  const Points points = KillAtEachPoint(Nothing, [](TestingTable& yard) {
    const msg::JobT ended = LaunchAgain(yard, Gang);
    EXPECT_EQ(ended.state, msg::TaskState::Exited) << ended.reason;
    EXPECT_EQ(ended.restarts, 1u);
    EXPECT_THAT(Ran(yard), UnorderedElementsAre("0 0", "1 0", "2 0", "0 1", "1 1", "2 1"));
  });
  EXPECT_THAT(points, UnorderedElementsAre(
                          "launch: before insert", "launch: after insert", "launch: before reply",
                          "launch: after reply", "before spec", "after spec, before spawn",
                          "after spawn", "before save", "after save", "before stop", "after stop",
                          "over", "before acknowledge", "after acknowledge", "let go"));
}

// One task waits for another one, which fails twice and so is restarted after a delay. Together
// they hold all resources.
msg::JobSpecT OneAfterTheOther(const TestingTable& yard) {
  auto spec = yard.Shell(
      "echo $YARD_TASK $TORCHELASTIC_RESTART_COUNT >> $FOLDER/ran; "
      "[ $YARD_TASK = worker-0 ] || [ $TORCHELASTIC_RESTART_COUNT = 2 ]");
  for (const char* type : {"worker", "data"}) {
    auto wish = std::make_unique<msg::ResourceRequestT>();
    wish->name = "slots";
    wish->amount = 1;
    AddGroup(&spec, type).resources.push_back(std::move(wish));
  }
  auto after = std::make_unique<msg::StartAfterT>();
  after->type = "data";
  after->milestone = msg::Milestone::Completed;
  spec.groups[0]->start_after.push_back(std::move(after));
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 2;
  return spec;
}

TEST(CrashTest, EveryPointOfWaitsAndDelaysLeavesTheSameRuns) {
  if (const char* folder = getenv("CRASH_FOLDER")) return RunLauncher(folder, OneAfterTheOther);
  const Points points = KillAtEachPoint(Nothing, [](TestingTable& yard) {
    const msg::JobT ended = LaunchAgain(yard, OneAfterTheOther);
    EXPECT_EQ(ended.state, msg::TaskState::Exited) << ended.reason;
    EXPECT_EQ(ended.restarts, 2u);
    EXPECT_THAT(Ran(yard), ElementsAre("data-0 0", "data-0 1", "data-0 2", "worker-0 0"));
  });
  EXPECT_THAT(points, UnorderedElementsAre("launch: before insert", "launch: after insert",
                                           "launch: before reply", "launch: after reply",
                                           "before spec", "after spec, before spawn", "after spawn",
                                           "before save", "after save", "over",
                                           "before acknowledge", "after acknowledge", "let go"));
}

// ---- Readiness

// A server writes that it is ready, and other lines; it ends when the worker, which waits for that
// line, has run.
msg::JobSpecT ServerAndWorker(const TestingTable& yard) {
  auto spec = yard.Shell("echo worker >> $FOLDER/ran; : > $FOLDER/go");
  msg::TaskGroupT& server = AddGroup(&spec, "server");
  server.argv = {"sh", "-c",
                 "echo server >> $FOLDER/ran; echo listening on 80; echo more; "
                 "while [ ! -e $FOLDER/go ]; do sleep 0.01; done"};
  server.ready_pattern = "^listening";
  auto after = std::make_unique<msg::StartAfterT>();
  after->type = "server";
  after->milestone = msg::Milestone::Ready;
  AddGroup(&spec, "worker").start_after.push_back(std::move(after));
  return spec;
}

TEST(CrashTest, EveryPointOfAWaitForAReadyLineLeavesTheSameRuns) {
  if (const char* folder = getenv("CRASH_FOLDER")) return RunLauncher(folder, ServerAndWorker);
  const Points points = KillAtEachPoint(Nothing, [](TestingTable& yard) {
    const msg::JobT ended = LaunchAgain(yard, ServerAndWorker);
    EXPECT_EQ(ended.state, msg::TaskState::Exited) << ended.reason;
    EXPECT_EQ(ended.restarts, 0u);
    EXPECT_THAT(Ran(yard), ElementsAre("server", "worker"));
  });
  EXPECT_THAT(points, UnorderedElementsAre("launch: before insert", "launch: after insert",
                                           "launch: before reply", "launch: after reply",
                                           "before spec", "after spec, before spawn", "after spawn",
                                           "before save", "after save", "over",
                                           "before acknowledge", "after acknowledge", "let go"));
}

}  // namespace
}  // namespace launcher
