#include "launcher/run/job_table.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/job/supervisor.h"
#include "launcher/process/process_table.h"
#include "runtime/file/file.h"
#include "runtime/process/subprocess.h"

namespace launcher {
namespace {

using msg::TaskState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class JobTableTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(yard_.Open().ok()); }

  msg::JobT Launch(const msg::JobSpecT& spec, const std::string& request_id = "") {
    auto job = yard_.Launch(spec, request_id);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : msg::JobT();
  }
  msg::JobT RunToEnd(const msg::JobSpecT& spec) {
    auto job = yard_.AwaitEnd(Launch(spec).id);
    EXPECT_TRUE(job.has_value());
    return job.value_or(msg::JobT());
  }
  static std::string Read(const std::string& path) {
    return runtime::ReadFile(path, 64 << 20).value_or("(no file)");
  }
  static std::string Output(const msg::JobT& job) { return Read(job.tasks[0]->stdout_path); }

  static void AddCallersLimit(msg::JobSpecT* spec, const std::string& name, std::uint64_t soft,
                              std::uint64_t hard) {
    auto& limits = spec->caller->limits;
    limits.push_back(std::make_unique<msg::ProcessLimitT>());
    limits.back()->name = name;
    limits.back()->soft = soft;
    limits.back()->hard = hard;
  }

  static void AddFiles(const std::string& folder) {
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(std::ofstream(absl::StrCat(folder, "/worker-0.", i, ".stdout")).good());
    }
  }

  static std::string Job(const absl::StatusOr<JobTable::Named>& named) {
    return named.ok() ? named->job : named.status().ToString();
  }

  TestingTable yard_;
};

TEST_F(JobTableTest, RunsAJobToItsEnd) {
  const msg::JobT job = RunToEnd(yard_.Shell("echo out; echo err >&2"));
  EXPECT_EQ(job.state, TaskState::Exited);
  EXPECT_EQ(job.reason, "");
  EXPECT_GT(job.ended_us, job.created_us);
  ASSERT_EQ(job.tasks.size(), 1u);
  EXPECT_EQ(job.tasks[0]->id, job.id + "/worker-0");
  ASSERT_EQ(job.tasks[0]->attempts.size(), 1u);
  EXPECT_GT(job.tasks[0]->attempts[0]->pid, 0);
  EXPECT_EQ(job.tasks[0]->attempts[0]->reason, "exit code 0");
  EXPECT_FALSE(job.tasks[0]->attempts[0]->shim_lost);
  EXPECT_EQ(Output(job), "out\n");
  EXPECT_EQ(Read(job.tasks[0]->stderr_path), "err\n");
}

TEST_F(JobTableTest, SaysWhyAJobHasFailed) {
  EXPECT_EQ(RunToEnd(yard_.Shell("exit 3")).reason, "exit code 3");
  const msg::JobT killed = RunToEnd(yard_.Shell("kill -9 $$"));
  EXPECT_EQ(killed.reason, "signal 9 (Killed)");
  EXPECT_FALSE(killed.tasks[0]->attempts[0]->shim_lost);
  auto spec = yard_.Shell("");
  spec.argv = {"nothing-of-this-name"};
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(job.state, TaskState::Failed);
  EXPECT_EQ(job.reason, "program not found: nothing-of-this-name");
}

TEST_F(JobTableTest, SaysWhetherACoreWasWritten) {
  constexpr char kCrash[] = "ulimit -S -c $(ulimit -H -c); kill -SEGV $$";
  // The expected status is that of the same program as a child of the test.
  runtime::Subprocess::Options options;
  options.argv = {"sh", "-c", kCrash};
  options.environment = {"PATH=/usr/bin:/bin"};
  options.working_directory = yard_.folder();
  auto own = runtime::Subprocess::Start(options);
  ASSERT_TRUE(own.ok()) << own.status();
  const auto status = own->Wait(absl::Seconds(20));
  ASSERT_TRUE(status.ok()) << status.status();
  const msg::JobT job = RunToEnd(yard_.Shell(kCrash));
  EXPECT_EQ(job.tasks[0]->attempts[0]->core_dumped, status->core_dumped);
  EXPECT_EQ(job.reason, status->ToString());
  const msg::JobT none = RunToEnd(yard_.Shell("ulimit -c 0; kill -SEGV $$"));
  EXPECT_FALSE(none.tasks[0]->attempts[0]->core_dumped);
  EXPECT_EQ(none.reason, "signal 11 (Segmentation fault)");
}

TEST_F(JobTableTest, KeepsTheErrnoOfAProgramThatCannotBeExecuted) {
  const msg::JobT ran = RunToEnd(yard_.Shell("exit 3"));
  EXPECT_EQ(ran.tasks[0]->attempts[0]->error_number, 0);
  auto spec = yard_.Shell("");
  spec.argv = {"nothing-of-this-name"};
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(job.tasks[0]->attempts[0]->error_number, ENOENT);
  yard_.Close();
  ASSERT_TRUE(yard_.Open().ok());
  for (const auto& known : yard_.List()) {
    EXPECT_EQ(known.tasks[0]->attempts[0]->error_number, known.id == job.id ? ENOENT : 0);
  }
}

TEST_F(JobTableTest, OutputPastTheLimitIsDroppedAndTheReasonSaysSo) {
  auto spec = yard_.Shell("printf 0123456789; printf abcde >&2");
  spec.log_limit_bytes = 8;
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(job.state, TaskState::Exited);
  EXPECT_EQ(Output(job), "01234567");
  EXPECT_EQ(Read(job.tasks[0]->stderr_path), "abcde");
  EXPECT_EQ(job.tasks[0]->attempts[0]->reason,
            "exit code 0; 2 bytes of output are past the limit of 8 bytes a file");
  EXPECT_THAT(yard_.Lines(), UnorderedElementsAre("01234567", "abcde"));
}

TEST_F(JobTableTest, EachAttemptHasTheLimitToItself) {
  auto spec =
      yard_.Shell("printf $(cat $FOLDER/tries 2>/dev/null)23456; echo 1 > $FOLDER/tries; exit 1");
  spec.log_limit_bytes = 5;
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  const msg::JobT job = RunToEnd(spec);
  ASSERT_EQ(job.tasks[0]->attempts.size(), 2u);
  EXPECT_EQ(job.tasks[0]->attempts[0]->reason, "exit code 1");
  EXPECT_EQ(job.tasks[0]->attempts[1]->reason,
            "exit code 1; 1 byte of output is past the limit of 5 bytes a file");
  EXPECT_EQ(Output(job), "12345");
}

TEST_F(JobTableTest, TheNextLauncherKnowsTheLimitToo) {
  auto spec = yard_.Shell(
      "if [ -e $FOLDER/go ]; then printf 0123456789; exit 0; fi; "
      "while [ ! -e $FOLDER/go ]; do sleep 0.01; done; exit 1");
  spec.log_limit_bytes = 8;
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  const msg::JobT job = Launch(spec);
  ASSERT_TRUE(yard_.AwaitRunning(job.id));
  yard_.Close();
  ASSERT_TRUE(yard_.Open().ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600).ok());
  const auto ended = yard_.AwaitEnd(job.id);
  ASSERT_TRUE(ended.has_value());
  ASSERT_EQ(ended->tasks[0]->attempts.size(), 2u);
  EXPECT_EQ(Output(*ended), "01234567");
}

TEST_F(JobTableTest, AnnouncesWholeLines) {
  RunToEnd(yard_.Shell("echo one; printf 'two\nlast'"));
  EXPECT_THAT(yard_.Lines(), ElementsAre("one", "two", "last"));
}

TEST_F(JobTableTest, GivesTheTaskTheCallersWholeEnvironment) {
  auto spec = yard_.Shell("env | sort | grep -v -e PWD -e ^_ -e YARD_");
  spec.environment = {"PATH=/usr/bin:/bin",
                      "A=b c",
                      "EMPTY=",
                      "RUNFILES_DIR=/x",
                      "TEST_TMPDIR=/x",
                      "BUILD_WORKING_DIRECTORY=/x",
                      "BAZEL_TEST_RETRIES=1",
                      "YARD_SOCKET=/another"};
  EXPECT_EQ(Output(RunToEnd(spec)),
            "A=b c\nBAZEL_TEST_RETRIES=1\nBUILD_WORKING_DIRECTORY=/x\nEMPTY=\nPATH=/usr/bin:/bin\n"
            "RUNFILES_DIR=/x\nTEST_TMPDIR=/x\n");
}

TEST_F(JobTableTest, ATaskIsLikeItsCaller) {
  auto spec = yard_.Shell(
      "echo $(umask) $(nice) $(ulimit -Sc) $(ulimit -Hn) $(grep allowed_list: /proc/self/status)");
  spec.caller = std::make_unique<msg::CallersProcessT>();
  spec.caller->umask = 0027;
  spec.caller->nice = 19;
  spec.caller->cpus = "0";
  AddCallersLimit(&spec, "core", 0, 0);
  AddCallersLimit(&spec, "nofile", 123, 123);
  const msg::JobT job = RunToEnd(spec);
  EXPECT_THAT(Output(job), HasSubstr("0027 19 0 123 Cpus_allowed_list: 0 "));
  EXPECT_EQ(std::filesystem::status(job.tasks[0]->stdout_path).permissions(),
            std::filesystem::perms(0640));
  // Properties that the kernel refuses are left out.
  spec.caller->nice = -20;
  spec.caller->cpus = "8000";
  AddCallersLimit(&spec, "nofile", 123, 999'999'999'999);
  AddCallersLimit(&spec, "of_the_future", 7, 8);
  EXPECT_EQ(RunToEnd(spec).state, TaskState::Exited);
}

TEST_F(JobTableTest, WritesLogsWhereItIsTold) {
  auto spec = yard_.Shell("echo x");
  spec.log_directory = yard_.folder() + "/some/where";
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(job.tasks[0]->stdout_path, yard_.folder() + "/some/where/worker-0.1.stdout");
  EXPECT_EQ(Output(job), "x\n");
}

TEST_F(JobTableTest, NobodyElseCanReadTheEnvironment) {
  auto spec = yard_.Shell("read r <&3");
  spec.environment.push_back("SECRET=hunter2");
  const msg::JobT job = Launch(spec);
  ASSERT_TRUE(yard_.AwaitRunning(job.id));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(yard_.folder())) {
    if (!entry.is_regular_file()) continue;
    if (Read(entry.path()).find("hunter2") == std::string::npos) continue;
    struct stat status = {};
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0077, 0u) << entry.path();
  }
}

TEST_F(JobTableTest, RestartsOnFailureUntilItSucceeds) {
  auto spec = yard_.Shell("echo x >> $FOLDER/tries; [ $(wc -l < $FOLDER/tries) = 3 ]");
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 5;
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(job.state, TaskState::Exited);
  ASSERT_EQ(job.tasks[0]->attempts.size(), 3u);
  EXPECT_EQ(job.tasks[0]->attempts[1]->exit_code, 1);
  EXPECT_EQ(job.tasks[0]->attempts[2]->exit_code, 0);
  EXPECT_THAT(job.tasks[0]->stdout_path, HasSubstr("worker-0.3.stdout"));
}

TEST_F(JobTableTest, StopsATaskAndAllItStarted) {
  const msg::JobT job = Launch(
      yard_.Shell("trap '' TERM; (setsid sleep 1000 &); echo ready; while :; do read r <&3; done"));
  ASSERT_TRUE(yard_.AwaitInFile(job.tasks[0]->stdout_path, "ready"));
  ASSERT_TRUE(yard_.AwaitRunning(job.id));
  ASSERT_TRUE(yard_.Stop(job.id, absl::Milliseconds(50)).ok());
  const auto ended = yard_.AwaitEnd(job.id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->stop_requested);
  EXPECT_EQ(ended->state, TaskState::Exited);
  EXPECT_EQ(ended->reason, "stopped: signal 9 (Killed)");
}

TEST_F(JobTableTest, AKilledShimEndsTheAttemptAndItsTreeWithinASecond) {
  const msg::JobT job =
      Launch(yard_.Shell("echo begin; setsid sleep 1000 & env -i setsid -f sleep 1001; echo ready; "
                         "wait; echo never"));
  ASSERT_TRUE(yard_.AwaitInFile(job.tasks[0]->stdout_path, "ready"));
  ASSERT_TRUE(yard_.AwaitRunning(job.id));
  const pid_t shim = ShimOf(yard_.state_directory(), job);
  ASSERT_GT(shim, 0);
  const auto tree = Descendants(ReadProcesses(), shim);
  EXPECT_EQ(tree.size(), 3u);
  const absl::Time start = absl::Now();
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  const auto ended = yard_.AwaitEnd(job.id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_LT(absl::Now() - start, absl::Seconds(1));
  EXPECT_EQ(ended->state, TaskState::Failed);
  EXPECT_EQ(ended->reason, "the shim was killed (signal 9)");
  EXPECT_TRUE(ended->tasks[0]->attempts[0]->shim_lost);
  yard_.Close();
  ASSERT_TRUE(yard_.Open().ok());
  EXPECT_TRUE(yard_.List()[0].tasks[0]->attempts[0]->shim_lost);
  for (const pid_t pid : tree) {
    const auto row = ReadProcess(pid);
    EXPECT_TRUE(!row || row->state == 'Z') << pid;
  }
}

TEST_F(JobTableTest, ARetriedLaunchIsTheSameJobAlsoForTheNextLauncher) {
  const auto spec = yard_.Shell("echo ran >> $FOLDER/ran");
  const msg::JobT job = Launch(spec, "request-1");
  EXPECT_EQ(Launch(spec, "request-1").id, job.id);
  yard_.Close();
  ASSERT_TRUE(yard_.Open().ok());
  EXPECT_EQ(Launch(spec, "request-1").id, job.id);
  EXPECT_NE(Launch(spec, "request-2").id, job.id);
  for (const auto& known : yard_.List()) ASSERT_TRUE(yard_.AwaitEnd(known.id));
  EXPECT_EQ(Read(yard_.folder() + "/ran"), "ran\nran\n");
}

TEST_F(JobTableTest, TheNextLauncherTakesUpARunningTask) {
  const msg::JobT job = Launch(
      yard_.Shell("echo one; while [ ! -e $FOLDER/go ]; do sleep 0.01; done; echo two; exit 7"));
  const auto before = yard_.AwaitRunning(job.id);
  ASSERT_TRUE(before.has_value());
  yard_.Close();
  ASSERT_TRUE(yard_.Open().ok());
  const auto after = yard_.AwaitRunning(job.id);
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->tasks[0]->attempts[0]->pid, before->tasks[0]->attempts[0]->pid);
  ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600).ok());
  const auto ended = yard_.AwaitEnd(job.id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->reason, "exit code 7");
  EXPECT_EQ(Output(*ended), "one\ntwo\n");
}

TEST_F(JobTableTest, TheNextLauncherLearnsWhatEndedInBetween) {
  const msg::JobT job =
      Launch(yard_.Shell("while [ ! -e $FOLDER/go ]; do sleep 0.01; done; exit 9"));
  ASSERT_TRUE(yard_.AwaitRunning(job.id));
  yard_.Close();
  ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600).ok());
  const std::string folder = absl::StrCat(yard_.state_directory(), "/jobs/", job.id, "/worker-0.1");
  ASSERT_TRUE(yard_.AwaitInFile(folder + "/exit", "exited"));
  ASSERT_TRUE(yard_.Open().ok());
  const auto ended = yard_.AwaitEnd(job.id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->reason, "exit code 9");
}

TEST_F(JobTableTest, TheNextLauncherLetsTheShimsGoOfWhatHasEnded) {
  // Makes two attempts. After each, the launcher is killed after it has stored the end and before
  // it acknowledges the end to the shim.
  auto spec = yard_.Shell("exit 3");
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  yard_.Close();
  bool over = false;
  const std::function<void(std::string_view)> die_when_over = [&](std::string_view point) {
    if (point == "over") over = true;
    if (point == "after save" && std::exchange(over, false)) yard_.CloseNext();
  };
  ASSERT_TRUE(yard_.Open(die_when_over).ok());
  const auto launched = yard_.Launch(spec);
  ASSERT_TRUE(launched.ok()) << launched.status();
  ASSERT_TRUE(yard_.AwaitClosed());
  for (int attempt = 1; attempt <= 2; ++attempt) {
    SCOPED_TRACE(attempt);
    const std::string name = absl::StrCat(launched->id, "/worker-0.", attempt);
    const std::string folder = absl::StrCat(yard_.state_directory(), "/jobs/", name);
    EXPECT_TRUE(std::filesystem::exists(folder + "/spec"));
    EXPECT_NE(ShimOf(yard_.state_directory(), *launched, attempt), 0);
    ASSERT_TRUE(yard_.Open(attempt == 1 ? die_when_over : nullptr).ok());
    const std::string socket =
        absl::StrCat(yard_.folder(), "/run/tasks/", launched->id, ".worker-0.", attempt);
    EXPECT_TRUE(yard_.AwaitNoFile(folder + "/spec"));
    EXPECT_TRUE(yard_.AwaitNoFile(socket));
    EXPECT_TRUE(yard_.AwaitNoFile(socket + ".ctl"));
    if (attempt == 2) break;
    ASSERT_TRUE(yard_.AwaitClosed());
  }
  const auto ended = yard_.AwaitEnd(launched->id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->tasks[0]->attempts.size(), 2u);
}

TEST_F(JobTableTest, AnEndAndTheRestartThatFollowsAreStoredTogether) {
  auto spec = yard_.Shell("exit 3");
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  yard_.Close();
  int saves = 0;
  ASSERT_TRUE(yard_.Open([&](std::string_view point) { saves += point == "before save"; }).ok());
  const auto launched = yard_.Launch(spec);
  ASSERT_TRUE(launched.ok()) << launched.status();
  const auto ended = yard_.AwaitEnd(launched->id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->tasks[0]->attempts.size(), 2u);
  yard_.Close();
  // One save for the start and one for the end of each attempt.
  EXPECT_LE(saves, 4);
}

TEST_F(JobTableTest, WhatIsDecidedIsStoredBeforeItIsDone) {
  auto spec = yard_.Shell("[ -e $FOLDER/ran ] && exec sleep 1000; : > $FOLDER/ran; exit 3");
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  yard_.Close();
  std::vector<std::string> points;
  const auto note = [&](std::string_view point) { points.emplace_back(point); };
  ASSERT_TRUE(yard_.Open(note).ok());
  const auto launched = yard_.Launch(spec);
  ASSERT_TRUE(launched.ok()) << launched.status();
  ASSERT_TRUE(yard_.Await(launched->id, [](const msg::JobT& job) {
    return job.tasks[0]->attempts.size() == 2 && job.state == TaskState::Running;
  }));
  yard_.OnLoop([&] {
    note("asked to stop");
    ASSERT_TRUE(yard_.table()->Stop({launched->id}, absl::Seconds(10), "").ok());
    note("answered");
  });
  ASSERT_TRUE(yard_.AwaitNoFile(
      absl::StrCat(yard_.state_directory(), "/jobs/", launched->id, "/worker-0.2/spec")));
  yard_.Close();
  // Returns the first position of a point after another one.
  const auto place = [&](const std::string& point, std::size_t after = 0) {
    const auto found =
        std::find(points.begin() + static_cast<std::ptrdiff_t>(after), points.end(), point);
    EXPECT_NE(found, points.end()) << point;
    return static_cast<std::size_t>(found - points.begin());
  };
  EXPECT_LT(place("launch: after insert"), place("before spec"));
  const std::size_t over = place("over");
  EXPECT_LT(place("after save", over), place("before spec", over)) << "of a restart";
  const std::size_t asked = place("asked to stop");
  EXPECT_LT(place("after save", asked), place("before stop", asked)) << "of a stop";
  EXPECT_LT(place("after stop", asked), place("answered", asked));
  const std::size_t end = place("over", asked);
  EXPECT_LT(place("after save", end), place("before acknowledge", end)) << "of an end";
}

TEST_F(JobTableTest, AnExitFileIsEnoughWhenTheShimIsGoneToo) {
  const msg::JobT job =
      Launch(yard_.Shell("while [ ! -e $FOLDER/go ]; do sleep 0.01; done; exit 9"));
  ASSERT_TRUE(yard_.AwaitRunning(job.id));
  const pid_t shim = ShimOf(yard_.state_directory(), job);
  yard_.Close();
  ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600).ok());
  const std::string folder = absl::StrCat(yard_.state_directory(), "/jobs/", job.id, "/worker-0.1");
  ASSERT_TRUE(yard_.AwaitInFile(folder + "/exit", "exited"));
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  ASSERT_TRUE(yard_.Open().ok());
  const auto ended = yard_.AwaitEnd(job.id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->reason, "exit code 9");
  EXPECT_EQ(ended->tasks[0]->attempts[0]->exit_code, 9);
  const std::string socket = yard_.folder() + "/run/tasks/" + job.id + ".worker-0.1";
  EXPECT_TRUE(yard_.AwaitNoFile(socket));
  EXPECT_TRUE(yard_.AwaitNoFile(socket + ".ctl"));
}

TEST_F(JobTableTest, AnAttemptThatNobodySawEndIsLostAndLeavesNothingBehind) {
  const msg::JobT job =
      Launch(yard_.Shell("setsid sleep 1000 & env -i setsid -f sleep 1001; echo ready; wait"));
  ASSERT_TRUE(yard_.AwaitInFile(job.tasks[0]->stdout_path, "ready"));
  ASSERT_TRUE(yard_.AwaitRunning(job.id));
  const pid_t shim = ShimOf(yard_.state_directory(), job);
  const auto tree = Descendants(ReadProcesses(), shim);
  yard_.Close();
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  ASSERT_TRUE(yard_.Open().ok());
  const auto ended = yard_.AwaitEnd(job.id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state, TaskState::Lost);
  EXPECT_EQ(ended->reason, "the shim was killed while no launcher was watching");
  EXPECT_TRUE(ended->tasks[0]->attempts[0]->shim_lost);
  for (const pid_t pid : tree) {
    const auto row = ReadProcess(pid);
    EXPECT_TRUE(!row || row->state == 'Z') << pid;
  }
}

TEST_F(JobTableTest, TheNextLauncherFinishesAStop) {
  const msg::JobT job =
      Launch(yard_.Shell("trap '' TERM; echo ready; while :; do read r <&3; done"));
  ASSERT_TRUE(yard_.AwaitInFile(job.tasks[0]->stdout_path, "ready"));
  ASSERT_TRUE(yard_.AwaitRunning(job.id));
  ASSERT_TRUE(yard_.Stop(job.id, absl::Milliseconds(300)).ok());
  yard_.Close();
  ASSERT_TRUE(yard_.Open().ok());
  const auto ended = yard_.AwaitEnd(job.id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->reason, "stopped: signal 9 (Killed)");
}

TEST_F(JobTableTest, TheNextLauncherEndsADaemonJob) {
  auto spec = yard_.Shell("read r <&3");
  spec.daemon = true;
  const msg::JobT job = Launch(spec);
  ASSERT_TRUE(yard_.AwaitRunning(job.id).has_value());
  yard_.Close();
  ASSERT_TRUE(yard_.Open().ok());
  const auto ended = yard_.AwaitEnd(job.id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state, msg::TaskState::Exited);
  EXPECT_THAT(ended->reason, HasSubstr("stopped"));
}

TEST_F(JobTableTest, FindsJobsByIdPrefixTaskAndName) {
  auto spec = yard_.Shell("true");
  spec.name = "mine";
  const msg::JobT first = RunToEnd(spec);
  const msg::JobT second = RunToEnd(spec);
  yard_.OnLoop([&] {
    JobTable& table = *yard_.table();
    EXPECT_EQ(Job(table.Find(first.id)), first.id);
    EXPECT_EQ(Job(table.Find(first.id + "/worker-0")), first.id);
    EXPECT_EQ(Job(table.Find("mine")), second.id);  // The newest job with this name.
    EXPECT_EQ(table.Find("nobody").status().code(), absl::StatusCode::kNotFound);
    const auto ambiguous = table.Find("j-");
    EXPECT_EQ(ambiguous.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(ambiguous.status().ToString(), HasSubstr(first.id));
    EXPECT_THAT(ambiguous.status().ToString(), HasSubstr(second.id));
  });
}

TEST_F(JobTableTest, ALiveNameIsTaken) {
  auto spec = yard_.Shell("read r <&3");
  spec.name = "mine";
  Launch(spec);
  const auto second = yard_.Launch(spec);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(JobTableTest, RefusesSpecsItCannotRun) {
  const auto refused = [&](auto change) {
    auto spec = yard_.Shell("true");
    change(spec);
    return yard_.Launch(spec).status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](auto& spec) { spec.argv.clear(); }));
  EXPECT_TRUE(refused([](auto& spec) { spec.working_directory = "relative"; }));
  EXPECT_TRUE(refused([](auto& spec) { spec.log_directory = "relative"; }));
  EXPECT_TRUE(refused([](auto& spec) { spec.task_type = "../x"; }));
  EXPECT_TRUE(refused([](auto& spec) { spec.environment.push_back("no equals sign"); }));
  EXPECT_TRUE(refused([](auto& spec) { spec.stop_signal = 99; }));
  EXPECT_TRUE(refused([](auto& spec) { spec.log_rotate_bytes = 64 * 1024 - 1; }));
  EXPECT_TRUE(refused([](auto& spec) { spec.max_run_time_ms = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refused([](auto& spec) { spec.restart_window_ms = 100ull * 365 * 86'400'000 + 1; }));
  EXPECT_TRUE(refused([](auto& spec) {
    spec.report_channel = std::make_unique<msg::ReportChannelT>();
    spec.report_channel->socket = std::string(200, 'x');
  }));
  EXPECT_TRUE(yard_.List().empty());
}

TEST_F(JobTableTest, OnlyTheNewestEndedJobsAreKept) {
  const msg::JobT live = Launch(yard_.Shell("read r <&3"));
  const msg::JobT old = RunToEnd(yard_.Shell("true"));
  const msg::JobT recent = RunToEnd(yard_.Shell("true"));
  yard_.Close();
  yard_.SetKeepCount(1);
  ASSERT_TRUE(yard_.Open().ok());
  std::vector<std::string> ids;
  EXPECT_TRUE(yard_.AwaitTrue([&] {
    ids.clear();
    for (const auto& job : yard_.List()) ids.push_back(job.id);
    return ids.size() < 3;
  }));
  EXPECT_THAT(ids, UnorderedElementsAre(live.id, recent.id));
  EXPECT_FALSE(std::filesystem::exists(yard_.state_directory() + "/jobs/" + old.id));
  EXPECT_TRUE(std::filesystem::exists(yard_.state_directory() + "/jobs/" + recent.id));
}

TEST_F(JobTableTest, EndedJobsAreKeptForATime) {
  const msg::JobT live = Launch(yard_.Shell("read r <&3"));
  const msg::JobT ended = RunToEnd(yard_.Shell("true"));
  const msg::JobT other = RunToEnd(yard_.Shell("true"));
  const std::string folder = yard_.state_directory() + "/jobs/" + ended.id;
  yard_.Close();
  yard_.SetKeepFor(absl::Hours(1));
  ASSERT_TRUE(yard_.Open().ok());
  // Removals run in order, so the old jobs that the launcher removes at its start are removed
  // before this one.
  EXPECT_TRUE(yard_.Remove(other.id).ok());
  EXPECT_EQ(yard_.List().size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder));
  yard_.Close();
  yard_.SetKeepFor(absl::ZeroDuration());
  ASSERT_TRUE(yard_.Open().ok());
  EXPECT_TRUE(yard_.AwaitTrue([&] { return yard_.List().size() == 1; }));
  EXPECT_EQ(yard_.List().at(0).id, live.id);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(JobTableTest, RemovesAnEndedJobAndItsFolderOnly) {
  auto spec = yard_.Shell("echo x");
  spec.log_directory = yard_.folder() + "/logs";
  const msg::JobT ended = RunToEnd(spec);
  const msg::JobT live = Launch(yard_.Shell("read r <&3"));
  EXPECT_EQ(yard_.Remove(live.id).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(yard_.Remove(ended.id).ok());
  EXPECT_TRUE(yard_.Remove(ended.id).ok());
  EXPECT_FALSE(std::filesystem::exists(yard_.state_directory() + "/jobs/" + ended.id));
  EXPECT_TRUE(std::filesystem::exists(spec.log_directory + "/worker-0.1.stdout"));
  EXPECT_EQ(yard_.List().size(), 1u);
}

TEST_F(JobTableTest, ARemovalHoldsNobodyUpAndIsDoneOnce) {
  const msg::JobT job = RunToEnd(yard_.Shell("true"));
  const std::string folder = absl::StrCat(yard_.state_directory(), "/jobs/", job.id);
  AddFiles(folder);
  std::atomic<int> removed = 0;
  bool is_listed = false;
  absl::Status restarted;
  yard_.OnLoop([&] {
    for (int i = 0; i < 2; ++i) {
      yard_.table()->Remove(job.id, [&](const absl::Status& status) {
        EXPECT_EQ(status, absl::OkStatus());
        EXPECT_FALSE(std::filesystem::exists(folder));
        EXPECT_EQ(yard_.table()->Row(job.id), nullptr);
        ++removed;
      });
    }
    is_listed = yard_.table()->Row(job.id) != nullptr;
    restarted = yard_.table()->Restart({job.id, kWholeJob}, absl::ZeroDuration());
  });
  EXPECT_TRUE(is_listed);
  EXPECT_EQ(restarted.message(), absl::StrCat("job ", job.id, " is being removed"));
  EXPECT_TRUE(yard_.AwaitTrue([&] { return removed == 2; }));
}

TEST_F(JobTableTest, ARemovalThatWasGivenUpLeavesTheJobItsRecord) {
  const msg::JobT job = RunToEnd(yard_.Shell("true"));
  const std::string folder = absl::StrCat(yard_.state_directory(), "/jobs/", job.id);
  AddFiles(folder);
  yard_.OnLoop([&] { yard_.table()->GiveUpRemovals(); });
  EXPECT_EQ(yard_.Remove(job.id).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(yard_.List().size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(folder));
}

TEST_F(JobTableTest, ALauncherThatEndsDuringARemovalLeavesAJobThatCanBeRemoved) {
  const msg::JobT job = RunToEnd(yard_.Shell("true"));
  const std::string folder = absl::StrCat(yard_.state_directory(), "/jobs/", job.id);
  AddFiles(folder);
  std::atomic<bool> told = false;
  yard_.OnLoop([&] {
    yard_.CloseNext();
    yard_.table()->Remove(job.id, [&](const absl::Status&) { told = true; });
  });
  ASSERT_TRUE(yard_.AwaitClosed());
  EXPECT_FALSE(told);
  ASSERT_TRUE(yard_.Open().ok());
  EXPECT_EQ(yard_.List().size(), 1u);
  EXPECT_TRUE(yard_.Remove(job.id).ok());
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(yard_.List().size(), 0u);
}

}  // namespace
}  // namespace launcher
