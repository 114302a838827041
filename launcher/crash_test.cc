// A launcher that is killed between any two of its durable steps is replaced by one that ends up
// with one job, run once. The test runs itself as the launcher that is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job_table.h"
#include "launcher/testing_table.h"
#include "runtime/file.h"
#include "runtime/subprocess.h"

namespace launcher {
namespace {

constexpr char kScript[] = "echo ran >> $FOLDER/ran; echo out; read r < $FOLDER/go; exit 7";
constexpr char kRequest[] = "the same request";

msg::JobSpecT OneTask(const TestingTable& yard) { return yard.Shell(kScript); }

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

using MakeSpec = msg::JobSpecT (*)(const TestingTable&);

// What the test's child process does: a launcher that kills itself at point number $CRASH_AT.
void RunLauncher(const char* folder, MakeSpec make_spec) {
  int left = atoi(getenv("CRASH_AT"));
  TestingTable yard(folder);
  const auto fault = [&left](std::string_view) {
    if (--left < 0) kill(getpid(), SIGKILL);
  };
  const auto opened = yard.Open(fault);
  ASSERT_TRUE(opened.ok()) << opened;
  const auto job = yard.Launch(make_spec(yard), kRequest);
  ASSERT_TRUE(job.ok()) << job.status();
  yard.OnLoop([&] { fault("launch: after reply"); });
  const auto ended = yard.AwaitEnd(job->id);
  ASSERT_TRUE(ended.has_value());
  // Until the shims have been let go.
  for (const auto& task : ended->tasks) {
    for (const auto& attempt : task->attempts) {
      EXPECT_TRUE(yard.AwaitNoFile(
          absl::StrCat(yard.state_directory(), "/jobs/", task->id, ".", attempt->number, "/spec")));
    }
  }
}

// What it does to an ended job: removes it, with a launcher that kills itself on the way.
void RunRemoval(const char* folder) {
  int left = atoi(getenv("CRASH_AT"));
  TestingTable yard(folder);
  const auto opened = yard.Open([&left](std::string_view) {
    if (--left < 0) kill(getpid(), SIGKILL);
  });
  ASSERT_TRUE(opened.ok()) << opened;
  const auto jobs = yard.List();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(yard.Remove(jobs[0].id), absl::OkStatus());
}

// True if the launcher was killed at that point; false if there are no so many.
bool RunLauncherUntil(int point, const std::string& folder) {
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  runtime::Subprocess::Options options;
  options.program = std::filesystem::read_symlink("/proc/self/exe");
  options.argv = {options.program, absl::StrCat("--gtest_filter=CrashTest.", test)};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string(*entry).rfind("XML_OUTPUT_FILE=", 0) != 0)
      options.environment.push_back(*entry);
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

TEST(CrashTest, EveryPointOfAJobsLifeLeavesOneJobThatRanOnce) {
  if (const char* folder = getenv("CRASH_FOLDER")) return RunLauncher(folder, OneTask);
  int points = 0;
  for (bool killed = true; killed; ++points) {
    SCOPED_TRACE(points);
    TestingTable yard;  // Owns the folder.
    // Points before the program's end are reached with the program still running, those after
    // with the program let go: a file in place of the pipe the script would wait for.
    ASSERT_TRUE(runtime::WriteFileAtomically(yard.folder() + "/go", "now\n", 0600).ok());
    killed = RunLauncherUntil(points, yard.folder());
    ASSERT_TRUE(yard.Open().ok());
    const auto job = yard.Launch(OneTask(yard), kRequest);
    ASSERT_TRUE(job.ok()) << job.status();
    const auto ended = yard.AwaitEnd(job->id);
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->reason, "exit code 7");
    EXPECT_EQ(yard.List().size(), 1u);
    EXPECT_TRUE(yard.AwaitNoFile(
        absl::StrCat(yard.state_directory(), "/jobs/", job->id, "/worker-0.1/spec")));
    EXPECT_EQ(runtime::ReadFile(yard.folder() + "/ran", 1000).value_or(""), "ran\n");
    EXPECT_EQ(runtime::ReadFile(ended->tasks[0]->stdout_path, 1000).value_or(""), "out\n");
  }
  // (What comes together is stored together, so that there are fewer on a busy machine.)
  EXPECT_GE(points, 14);
}

TEST(CrashTest, EveryPointOfARemovalLeavesAJobThatCanBeRemovedOrNothing) {
  if (const char* folder = getenv("CRASH_FOLDER")) return RunRemoval(folder);
  int points = 0;
  for (bool killed = true; killed; ++points) {
    SCOPED_TRACE(points);
    TestingTable yard;  // Owns the folder.
    ASSERT_TRUE(yard.Open().ok());
    const auto job = yard.Launch(yard.Shell("echo out"));
    ASSERT_TRUE(job.ok()) << job.status();
    ASSERT_TRUE(yard.AwaitEnd(job->id).has_value());
    ASSERT_TRUE(yard.AwaitNoFile(
        absl::StrCat(yard.state_directory(), "/jobs/", job->id, "/worker-0.1/spec")));
    yard.Close();
    killed = RunLauncherUntil(points, yard.folder());
    ASSERT_TRUE(yard.Open().ok());
    for (const msg::JobT& left : yard.List()) {
      EXPECT_EQ(yard.Remove(left.id), absl::OkStatus());
    }
    EXPECT_EQ(yard.List().size(), 0u);
    EXPECT_TRUE(std::filesystem::is_empty(yard.state_directory() + "/jobs"));
  }
  EXPECT_GE(points, 4);
}

TEST(CrashTest, EveryPointOfAGangsRestartLeavesOneGangThatRanOnce) {
  if (const char* folder = getenv("CRASH_FOLDER")) return RunLauncher(folder, Gang);
  int points = 0;
  for (bool killed = true; killed; ++points) {
    SCOPED_TRACE(points);
    TestingTable yard;  // Owns the folder.
    killed = RunLauncherUntil(points, yard.folder());
    ASSERT_TRUE(yard.Open().ok());
    const auto job = yard.Launch(Gang(yard), kRequest);
    ASSERT_TRUE(job.ok()) << job.status();
    const auto ended = yard.AwaitEnd(job->id);
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->state, msg::TaskState::Exited) << ended->reason;
    EXPECT_EQ(ended->restarts, 1u);
    EXPECT_EQ(yard.List().size(), 1u);
    std::vector<std::string> ran = absl::StrSplit(
        runtime::ReadFile(yard.folder() + "/ran", 1000).value_or(""), '\n', absl::SkipEmpty());
    EXPECT_THAT(ran, ::testing::UnorderedElementsAre("0 0", "1 0", "2 0", "0 1", "1 1", "2 1"));
  }
  EXPECT_GE(points, 40);
}

}  // namespace
}  // namespace launcher
