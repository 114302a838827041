// Tests jobs of several tasks, with real shims.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/job/cluster.h"
#include "launcher/job/job_store.h"
#include "launcher/job/supervisor.h"
#include "launcher/run/job_table.h"
#include "launcher/share/resources.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

using msg::TaskState;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Waits until the file $FOLDER/go exists.
constexpr char kUntilGo[] = " while [ ! -e $FOLDER/go ]; do sleep 0.01; done; ";
constexpr char kForEver[] = " exec sleep 1000";

class JobGroupsTest : public ::testing::Test {
 protected:
  JobGroupsTest() { EXPECT_EQ(yard_.Open(), absl::OkStatus()); }

  std::string Launch(const msg::JobSpecT& spec) {
    auto job = yard_.Launch(spec);
    EXPECT_EQ(job.status(), absl::OkStatus());
    return job.ok() ? job->id : "";
  }
  msg::JobT End(const std::string& id) {
    auto job = yard_.AwaitEnd(id);
    EXPECT_TRUE(job.has_value());
    return job ? *job : msg::JobT();
  }
  msg::JobT RunToEnd(const msg::JobSpecT& spec) { return End(Launch(spec)); }
  // Waits until all tasks run.
  msg::JobT AwaitAllRunning(const std::string& id) {
    auto job = yard_.Await(id, [](const msg::JobT& found) {
      for (const auto& task : found.tasks) {
        if (task->state != TaskState::Running) return false;
      }
      return true;
    });
    EXPECT_TRUE(job.has_value());
    return job ? *job : msg::JobT();
  }
  void Go() {
    EXPECT_EQ(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600), absl::OkStatus());
  }
  static std::string Output(const msg::TaskT& task) {
    return runtime::ReadFile(task.stdout_path, 1 << 20).value_or("(no file)");
  }
  JobTable::Named Named(const std::string& name) {
    JobTable::Named named;
    yard_.OnLoop([&] {
      const auto found = yard_.table()->Find(name);
      EXPECT_EQ(found.status(), absl::OkStatus());
      if (found.ok()) named = *found;
    });
    return named;
  }

  TestingTable yard_;
};

TEST_F(JobGroupsTest, EachTaskIsToldOfTheOthers) {
  auto spec = yard_.Shell("echo $YARD_TASK $RANK $WORLD_SIZE; echo $TF_CONFIG");
  AddGroup(&spec, "chief");
  AddGroup(&spec, "worker", 2);
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(job.state, TaskState::Exited);
  EXPECT_EQ(job.reason, "");
  ASSERT_EQ(job.tasks.size(), 3u);
  std::set<int> ports;
  for (const auto& task : job.tasks) {
    const auto address = ParseHostPort(task->address);
    ASSERT_TRUE(address.has_value()) << task->address;
    ports.insert(address->port);
  }
  EXPECT_EQ(ports.size(), 3u);
  EXPECT_EQ(
      Output(TaskOf(job, "worker-1")),
      absl::StrCat("worker-1 2 3\n{\"cluster\": {\"chief\": [\"", job.tasks[0]->address,
                   "\"], \"worker\": [\"", job.tasks[1]->address, "\", \"", job.tasks[2]->address,
                   "\"]}, \"task\": {\"type\": \"worker\", \"index\": 1}, "
                   "\"rpc_layer\": \"grpc\"}\n"));
}

TEST_F(JobGroupsTest, EachAttemptHasAFileOfItsOwnForAnExceptionOfTorch) {
  auto spec = yard_.Shell(
      "echo $RANK $TORCHELASTIC_RESTART_COUNT > $TORCHELASTIC_ERROR_FILE; "
      "[ $TORCHELASTIC_RESTART_COUNT = 1 ]");
  spec.environment.push_back("TORCHELASTIC_ERROR_FILE=" + yard_.folder() + "/of-the-caller");
  AddGroup(&spec, "worker", 2);
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(job.state, TaskState::Exited) << job.reason;
  for (const int rank : {0, 1}) {
    for (const int restart : {0, 1}) {
      const std::string path = absl::StrCat(yard_.state_directory(), "/jobs/", job.id, "/worker-",
                                            rank, ".", restart + 1, "/error.json");
      EXPECT_EQ(runtime::ReadFile(path, 100).value_or("(no file)"),
                absl::StrCat(rank, " ", restart, "\n"));
    }
  }
}

TEST_F(JobGroupsTest, AGroupHasItsOwnProgramDirectoryAndVariables) {
  auto spec = yard_.Shell("echo of the job");
  AddGroup(&spec, "worker");
  msg::TaskGroupT& ps = AddGroup(&spec, "ps");
  ps.argv = {"sh", "-c", "echo $A; pwd"};
  ps.environment = {"A=of the group"};
  ps.working_directory = "/";
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(Output(TaskOf(job, "worker-0")), "of the job\n");
  EXPECT_EQ(Output(TaskOf(job, "ps-0")), "of the group\n/\n");
}

TEST_F(JobGroupsTest, TheFirstFailureIsToldWithItsLastLinesAndItsConsequences) {
  auto spec = yard_.Shell(absl::StrCat("[ $YARD_TASK = worker-1 ] || ", kForEver, ";", kUntilGo,
                                       "echo bad luck >&2; exit 3"));
  AddGroup(&spec, "worker", 3);
  const std::string id = Launch(spec);
  AwaitAllRunning(id);
  Go();
  const msg::JobT job = End(id);
  EXPECT_EQ(job.state, TaskState::Failed);
  EXPECT_EQ(job.reason, "worker-1: exit code 3");
  ASSERT_NE(job.failure, nullptr);
  EXPECT_EQ(job.failure->task, "worker-1");
  EXPECT_EQ(job.failure->reason, "exit code 3");
  EXPECT_THAT(job.failure->last_lines, ElementsAre("bad luck"));
  EXPECT_EQ(job.failure->log_path, TaskOf(job, "worker-1").stderr_path);
  EXPECT_THAT(job.failure->consequences, UnorderedElementsAre("worker-0", "worker-2"));
  EXPECT_TRUE(TaskOf(job, "worker-0").attempts[0]->was_stopped);
  EXPECT_FALSE(TaskOf(job, "worker-1").attempts[0]->was_stopped);
  yard_.Close();
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  const auto known = yard_.List();
  ASSERT_NE(known.at(0).failure, nullptr) << "also by the next launcher";
  EXPECT_THAT(known[0].failure->last_lines, ElementsAre("bad luck"));
}

TEST_F(JobGroupsTest, AGangStartsAgainTogetherOnTheSamePorts) {
  auto spec = yard_.Shell(
      "echo $TORCHELASTIC_RESTART_COUNT $MASTER_PORT; "
      "[ $RANK = 1 ] && [ $TORCHELASTIC_RESTART_COUNT = 0 ] && kill -9 $$; "
      "[ $TORCHELASTIC_RESTART_COUNT = 1 ] || exec sleep 1000");
  AddGroup(&spec, "worker", 3);
  spec.gang = true;
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 3;
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(job.state, TaskState::Exited) << job.reason;
  EXPECT_EQ(job.restarts, 1u);
  EXPECT_EQ(job.failure, nullptr);
  std::set<std::string> ports;
  for (const auto& task : job.tasks) {
    ASSERT_EQ(task->attempts.size(), 2u);
    const std::vector<std::string> words = absl::StrSplit(Output(*task), absl::ByAnyChar(" \n"));
    EXPECT_EQ(words[0], "1");
    ports.insert(words[1]);
  }
  EXPECT_EQ(ports.size(), 1u);
  EXPECT_EQ(TaskOf(job, "worker-1").attempts[0]->signal, SIGKILL);
}

TEST_F(JobGroupsTest, TheJobEndsWithItsChief) {
  auto spec = yard_.Shell(absl::StrCat("[ $YARD_TASK = chief-0 ] || ", kForEver));
  AddGroup(&spec, "chief");
  AddGroup(&spec, "worker");
  AddGroup(&spec, "ps");
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(job.state, TaskState::Exited);
  EXPECT_EQ(job.reason, "");
  EXPECT_EQ(TaskOf(job, "ps-0").reason,
            "stopped because chief-0 has ended: signal 15 (Terminated)");
}

TEST_F(JobGroupsTest, WhenItsTimeIsOverTheJobHasFailed) {
  auto spec = yard_.Shell(kForEver);
  AddGroup(&spec, "worker", 2);
  spec.max_run_time_ms = 300;
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(job.state, TaskState::Failed);
  EXPECT_EQ(job.reason, "its time of 300ms is over");
  ASSERT_NE(job.failure, nullptr);
  EXPECT_EQ(job.failure->task, "");
  EXPECT_THAT(job.failure->consequences, UnorderedElementsAre("worker-0", "worker-1"));
}

TEST_F(JobGroupsTest, ItsTimeGoesOnOverAKillOfTheLauncher) {
  auto spec = yard_.Shell(kForEver);
  AddGroup(&spec, "worker", 2);
  spec.max_run_time_ms = 3'600'000;
  const std::string id = Launch(spec);
  AwaitAllRunning(id);
  yard_.Close();
  {  // Nearly all of the time limit passes before the next launcher starts.
    const auto store = JobStore::Open(yard_.state_directory() + "/launcher.db");
    ASSERT_EQ(store.status(), absl::OkStatus());
    auto rows = (*store)->Load();
    ASSERT_EQ(rows.status(), absl::OkStatus());
    for (std::int64_t* const since :
         {&rows->at(0).run_since_us, &rows->at(0).run_since_monotonic_us}) {
      *since -= 3'599'900'000;
    }
    ASSERT_EQ((*store)->Save({{.job = &rows->at(0), .of_job = true}}), absl::OkStatus());
  }
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  const msg::JobT job = End(id);
  EXPECT_EQ(job.state, TaskState::Failed);
  EXPECT_EQ(job.reason, "its time of 1h is over");
  EXPECT_EQ(TaskOf(job, "worker-1").attempts.size(), 1u);
}

// The wall clock is changed by two hours between two launchers.
TEST_F(JobGroupsTest, ItsTimeIsNotThatOfTheClockOnTheWall) {
  const auto set_clock = [&](std::int64_t by_us) {
    yard_.Close();
    const auto store = JobStore::Open(yard_.state_directory() + "/launcher.db");
    ASSERT_EQ(store.status(), absl::OkStatus());
    auto rows = (*store)->Load();
    ASSERT_EQ(rows.status(), absl::OkStatus());
    for (JobRow& row : *rows) {
      row.run_since_us -= by_us;
      ASSERT_EQ((*store)->Save({{.job = &row, .of_job = true}}), absl::OkStatus());
    }
  };
  auto spec = yard_.Shell(kForEver);
  spec.max_run_time_ms = 3'600'000;
  const std::string forward = Launch(spec);
  AwaitAllRunning(forward);
  set_clock(7'200'000'000);
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  AwaitAllRunning(forward);
  // By then a time limit that had passed would have ended the job.
  auto other = yard_.Shell("true");
  other.max_run_time_ms = 60'000;
  RunToEnd(other);
  ASSERT_EQ(yard_.Stop(forward, absl::ZeroDuration()), absl::OkStatus());
  EXPECT_THAT(End(forward).reason, HasSubstr("stopped: signal "));

  spec.max_run_time_ms = 500;
  const std::string back = Launch(spec);
  set_clock(-7'200'000'000);
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  EXPECT_EQ(End(back).reason, "its time of 500ms is over");
}

TEST_F(JobGroupsTest, TheJobsOwnSignalAsksItsTasksToStop) {
  auto spec = yard_.Shell(
      "trap 'echo told; exit 7' USR1; trap '' TERM; echo ready; while :; do sleep 0.01; done");
  AddGroup(&spec, "worker", 2);
  spec.stop_signal = SIGUSR1;
  spec.stop_grace_ms = 15'000;
  const std::string id = Launch(spec);
  const msg::JobT running = AwaitAllRunning(id);
  for (const auto& task : running.tasks) {
    ASSERT_TRUE(yard_.AwaitInFile(task->stdout_path, "ready"));
  }
  ASSERT_EQ(yard_.Stop(id, absl::ZeroDuration()), absl::OkStatus());
  for (const auto& task : End(id).tasks) {
    EXPECT_EQ(task->reason, "stopped: exit code 7");
    EXPECT_EQ(Output(*task), "ready\ntold\n");
  }
}

TEST_F(JobGroupsTest, TasksStartInTheOrderThatIsAskedFor) {
  auto spec = yard_.Shell(absl::StrCat("[ $YARD_TASK = worker-0 ] && exit;", kUntilGo));
  auto after = std::make_unique<msg::StartAfterT>();
  after->type = "data";
  after->milestone = msg::Milestone::Completed;
  AddGroup(&spec, "worker").start_after.push_back(std::move(after));
  AddGroup(&spec, "data");
  const std::string id = Launch(spec);
  const auto waiting = yard_.Await(
      id, [](const msg::JobT& job) { return TaskOf(job, "data-0").state == TaskState::Running; });
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(TaskOf(*waiting, "worker-0").state, TaskState::Pending);
  EXPECT_EQ(TaskOf(*waiting, "worker-0").reason, "waits for data to complete");
  Go();
  EXPECT_EQ(End(id).state, TaskState::Exited);
}

TEST_F(JobGroupsTest, ATaskStartsWhenAnotherHasSaidThatItIsReady) {
  auto spec = yard_.Shell("[ -e $FOLDER/go ]");
  msg::TaskGroupT& server = AddGroup(&spec, "server");
  server.argv = {"sh", "-c", absl::StrCat("echo up;", kUntilGo, "echo x >&7; exec sleep 1000")};
  server.ready_fd = 7;
  auto after = std::make_unique<msg::StartAfterT>();
  after->type = "server";
  after->milestone = msg::Milestone::Ready;
  AddGroup(&spec, "chief").start_after.push_back(std::move(after));
  const std::string id = Launch(spec);
  const auto waiting = yard_.Await(
      id, [](const msg::JobT& job) { return TaskOf(job, "server-0").state == TaskState::Running; });
  ASSERT_TRUE(waiting.has_value());
  EXPECT_FALSE(TaskOf(*waiting, "server-0").ready);
  EXPECT_EQ(TaskOf(*waiting, "chief-0").reason, "waits for server to be ready");
  yard_.Close();
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  Go();
  const msg::JobT job = End(id);
  EXPECT_EQ(job.state, TaskState::Exited) << job.reason;
}

TEST_F(JobGroupsTest, OrWhenALineOfItsOutputSaysSo) {
  auto spec = yard_.Shell("true");
  msg::TaskGroupT& server = AddGroup(&spec, "server");
  server.argv = {"sh", "-c", "echo starting; echo listening on 80 >&2; exec sleep 1000"};
  server.ready_pattern = "listening on [0-9]+";
  auto after = std::make_unique<msg::StartAfterT>();
  after->type = "server";
  after->milestone = msg::Milestone::Ready;
  AddGroup(&spec, "chief").start_after.push_back(std::move(after));
  EXPECT_EQ(RunToEnd(spec).state, TaskState::Exited);
  server.ready_pattern = "(";
  EXPECT_TRUE(absl::IsInvalidArgument(yard_.Launch(spec).status()));
}

TEST_F(JobGroupsTest, LimitsHoldForTheTasksOfTheirGroup) {
  auto spec = yard_.Shell("ulimit -n");
  auto limit = std::make_unique<msg::ProcessLimitT>();
  limit->name = "nofile";
  limit->soft = 100;
  limit->hard = 200;
  AddGroup(&spec, "worker").process_limits.push_back(std::move(limit));
  EXPECT_EQ(Output(TaskOf(RunToEnd(spec), "worker-0")), "100\n");
}

TEST_F(JobGroupsTest, TheLaunchersLimitsAreForTasksWithoutTheirOwn) {
  yard_.Close();
  yard_.SetLimits({{.name = "nofile", .soft = 150, .hard = 200}});
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  auto spec = yard_.Shell("ulimit -Sn; ulimit -Hn");
  auto limit = std::make_unique<msg::ProcessLimitT>();
  limit->name = "nofile";
  limit->soft = 100;
  limit->hard = 120;
  AddGroup(&spec, "worker").process_limits.push_back(std::move(limit));
  AddGroup(&spec, "ps");
  const msg::JobT job = RunToEnd(spec);
  EXPECT_EQ(Output(TaskOf(job, "worker-0")), "100\n120\n");
  EXPECT_EQ(Output(TaskOf(job, "ps-0")), "150\n200\n");
  EXPECT_EQ(Output(TaskOf(RunToEnd(yard_.Shell("ulimit -Sn")), "worker-0")), "150\n");
}

TEST_F(JobGroupsTest, MembersOfASetGoToOneTaskAtATime) {
  yard_.Close();
  yard_.SetResources({*ParseResource("gpu=0,1")});
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  auto spec = yard_.Shell(absl::StrCat("echo $CUDA_VISIBLE_DEVICES;", kUntilGo));
  auto wish = std::make_unique<msg::ResourceRequestT>();
  wish->name = "gpu";
  wish->amount = 1;
  AddGroup(&spec, "worker", 2).resources.push_back(std::move(wish));
  const std::string first = Launch(spec);
  const msg::JobT running = AwaitAllRunning(first);
  EXPECT_THAT(TaskOf(running, "worker-1").resources, ElementsAre("gpu=1"));
  const std::string second = Launch(spec);
  const auto waiting = yard_.Await(second, [](const msg::JobT&) { return true; });
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(waiting->state, TaskState::Pending);
  EXPECT_THAT(waiting->reason, AllOf(HasSubstr("gpu"), HasSubstr(first)));
  yard_.Close();  // The next launcher knows the grants.
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  EXPECT_THAT(yard_.Await(second, [](const msg::JobT&) { return true; })->reason, HasSubstr(first));
  Go();
  const msg::JobT ended = End(first);
  EXPECT_EQ(Output(TaskOf(ended, "worker-0")), "0\n");
  EXPECT_EQ(Output(TaskOf(ended, "worker-1")), "1\n");
  EXPECT_EQ(End(second).state, TaskState::Exited);
  spec.groups[0]->resources[0]->amount = 3;
  const auto refused = yard_.Launch(spec);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
}

TEST_F(JobGroupsTest, SharedMembersAreThoseOfAllTasksAndAmountsAreCounted) {
  yard_.Close();
  yard_.SetResources({*ParseResource("gpu=0,1"), *ParseResource("slots=2")});
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  const auto wish = [](msg::TaskGroupT& group, const char* name, std::uint32_t amount) {
    group.resources.push_back(std::make_unique<msg::ResourceRequestT>());
    group.resources.back()->name = name;
    group.resources.back()->amount = amount;
  };
  auto spec = yard_.Shell(absl::StrCat("echo $CUDA_VISIBLE_DEVICES $LOCAL_RANK;", kUntilGo));
  msg::TaskGroupT& workers = AddGroup(&spec, "worker", 2);
  wish(workers, "gpu", 2);
  wish(workers, "slots", 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(yard_.Launch(spec).status())) << "there are no four";
  spec.share_sets = true;
  const std::string first = Launch(spec);
  for (const auto& task : AwaitAllRunning(first).tasks) {
    EXPECT_THAT(task->resources, ElementsAre("gpu=0,1", "slots=1"));
  }
  auto other = yard_.Shell("true");
  wish(AddGroup(&other, "worker"), "slots", 1);
  const std::string slots = Launch(other);
  other.groups[0]->resources[0]->name = "gpu";
  const std::string gpu = Launch(other);
  const auto reason = [this](const std::string& id) {
    const auto job = yard_.Await(id, [](const msg::JobT&) { return true; });
    return job ? job->reason : "(no job)";
  };
  for (const char* launcher : {"the first launcher", "the next one"}) {
    SCOPED_TRACE(launcher);
    EXPECT_EQ(reason(slots), absl::StrCat("waits for slots: 2 of 2 are used by ", first,
                                          "/worker-0, ", first, "/worker-1"));
    EXPECT_EQ(reason(gpu), absl::StrCat("waits for gpu: 2 of 2 are used by ", first));
    yard_.Close();
    ASSERT_EQ(yard_.Open(), absl::OkStatus());
  }
  EXPECT_TRUE(yard_.AwaitInFile(TaskOf(AwaitAllRunning(first), "worker-0").stdout_path, "0,1 0\n"));
  // The slot of a task is released when that task has ended, the shared set when the last task has.
  ASSERT_EQ(yard_.Stop(first + "/worker-0", absl::Seconds(5)), absl::OkStatus());
  EXPECT_EQ(End(slots).state, TaskState::Exited);
  EXPECT_EQ(reason(gpu), absl::StrCat("waits for gpu: 2 of 2 are used by ", first));
  Go();
  const msg::JobT ended = End(first);
  EXPECT_EQ(Output(TaskOf(ended, "worker-0")), "0,1 0\n");
  EXPECT_EQ(Output(TaskOf(ended, "worker-1")), "0,1 1\n");
  EXPECT_EQ(End(gpu).state, TaskState::Exited);
}

TEST_F(JobGroupsTest, ItsTimeBeginsWhenItGetsWhatItAsksFor) {
  yard_.Close();
  yard_.SetResources({*ParseResource("gpu=0")});
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  std::vector<std::string> jobs;
  for (const char* program : {kForEver, "exit 0"}) {
    auto spec = yard_.Shell(program);
    auto wish = std::make_unique<msg::ResourceRequestT>();
    wish->name = "gpu";
    wish->amount = 1;
    AddGroup(&spec, "worker").resources.push_back(std::move(wish));
    spec.max_run_time_ms = 1'000;
    jobs.push_back(Launch(spec));
  }
  EXPECT_EQ(End(jobs[0]).reason, "its time of 1s is over");
  const msg::JobT waited = End(jobs[1]);
  EXPECT_EQ(waited.state, TaskState::Exited) << waited.reason;
}

// Everything happens before the loop runs the posted grants.
TEST_F(JobGroupsTest, WhatWasGrantedBeforeAStopIsNotUsedAfterARestart) {
  yard_.Close();
  yard_.SetResources({*ParseResource("gpu=0")});
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  auto spec = yard_.Shell(kUntilGo);
  auto wish = std::make_unique<msg::ResourceRequestT>();
  wish->name = "gpu";
  wish->amount = 1;
  AddGroup(&spec, "worker").resources.push_back(std::move(wish));
  std::string first, second;
  yard_.OnLoop([&] {
    JobTable& table = *yard_.table();
    for (std::string* id : {&first, &second}) {
      const auto job = table.Launch("", spec);
      ASSERT_EQ(job.status(), absl::OkStatus());
      *id = job->id;
    }
    ASSERT_EQ(table.Stop({first, kWholeJob}, absl::Seconds(1), "test"), absl::OkStatus());
    ASSERT_EQ(table.Restart({first, kWholeJob}, absl::Seconds(1)), absl::OkStatus());
  });
  AwaitAllRunning(second);
  const auto waiting = yard_.Await(first, [](const msg::JobT&) { return true; });
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(waiting->state, TaskState::Pending);
  EXPECT_THAT(waiting->reason, HasSubstr(second));
  Go();
  EXPECT_EQ(End(second).state, TaskState::Exited);
  EXPECT_EQ(End(first).state, TaskState::Exited);
}

TEST_F(JobGroupsTest, ThoseThatWaitKeepTheirOrderOverAKillOfTheLauncher) {
  yard_.Close();
  yard_.SetResources({*ParseResource("gpu=0")});
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  std::string order;
  std::vector<std::string> jobs;
  for (int i = 0; i < 8; ++i) {
    const std::string says = absl::StrCat("echo ", i, " >> $FOLDER/order");
    auto spec = yard_.Shell(i == 0 ? absl::StrCat(kUntilGo, says) : says);
    auto wish = std::make_unique<msg::ResourceRequestT>();
    wish->name = "gpu";
    wish->amount = 1;
    AddGroup(&spec, "worker").resources.push_back(std::move(wish));
    jobs.push_back(Launch(spec));
    absl::StrAppend(&order, i, "\n");
  }
  AwaitAllRunning(jobs.front());
  yard_.Close();
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  Go();
  EXPECT_EQ(End(jobs.back()).state, TaskState::Exited);
  EXPECT_TRUE(yard_.AwaitInFile(yard_.folder() + "/order", order));
}

TEST_F(JobGroupsTest, OneTaskIsStoppedSignalledAndStartedAgain) {
  auto spec = yard_.Shell("trap 'echo told' USR1; echo ready; while :; do sleep 0.01; done");
  AddGroup(&spec, "worker", 2);
  const std::string id = Launch(spec);
  const msg::JobT running = AwaitAllRunning(id);
  for (const auto& task : running.tasks) {
    ASSERT_TRUE(yard_.AwaitInFile(task->stdout_path, "ready"));
  }
  yard_.OnLoop([&] {
    const auto told = yard_.table()->Signal({id, 1}, SIGUSR1);
    ASSERT_EQ(told.status(), absl::OkStatus());
    EXPECT_THAT(*told, ElementsAre("worker-1"));
    EXPECT_TRUE(absl::IsInvalidArgument(yard_.table()->Signal({id, 1}, 0).status()));
  });
  EXPECT_TRUE(yard_.AwaitInFile(running.tasks[1]->stdout_path, "told"));
  EXPECT_EQ(Output(*running.tasks[0]), "ready\n");

  ASSERT_EQ(yard_.Stop(id + "/worker-1", absl::Seconds(5)), absl::OkStatus());
  const auto stopped = yard_.Await(
      id, [](const msg::JobT& job) { return TaskOf(job, "worker-1").state == TaskState::Exited; });
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(stopped->state, TaskState::Running);
  EXPECT_EQ(Named(id + "/worker-1").task, 1);
  yard_.OnLoop([&] {
    EXPECT_EQ(yard_.table()->Restart({id, 1}, absl::ZeroDuration()), absl::OkStatus());
    EXPECT_TRUE(absl::IsNotFound(yard_.table()->Find(id + "/worker-2").status()));
  });
  const msg::JobT again = AwaitAllRunning(id);
  EXPECT_EQ(TaskOf(again, "worker-1").attempts.size(), 2u);
  EXPECT_EQ(TaskOf(again, "worker-0").attempts.size(), 1u);
  ASSERT_EQ(yard_.Stop(id, absl::Seconds(5)), absl::OkStatus());
  EXPECT_EQ(End(id).reason, "stopped");
}

TEST_F(JobGroupsTest, AnEndedJobIsStartedAgain) {
  auto spec = yard_.Shell("[ -e $FOLDER/go ]");
  AddGroup(&spec, "worker", 2);
  const std::string id = Launch(spec);
  const msg::JobT failed = End(id);
  EXPECT_EQ(failed.state, TaskState::Failed);
  Go();
  yard_.OnLoop([&] {
    EXPECT_EQ(yard_.table()->Restart({id, kWholeJob}, absl::ZeroDuration()), absl::OkStatus());
  });
  const msg::JobT ended = End(id);
  EXPECT_EQ(ended.state, TaskState::Exited);
  EXPECT_EQ(ended.failure, nullptr);
  EXPECT_EQ(ended.tasks[0]->address, failed.tasks[0]->address);
}

TEST_F(JobGroupsTest, TheNextLauncherTakesUpEveryTask) {
  auto spec = yard_.Shell(absl::StrCat("echo out $RANK;", kUntilGo, "exit $RANK"));
  AddGroup(&spec, "worker", 8);
  spec.keep_going = true;
  const std::string id = Launch(spec);
  AwaitAllRunning(id);
  yard_.Close();
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  AwaitAllRunning(id);
  yard_.Close();
  Go();
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  const msg::JobT job = End(id);
  for (int rank = 0; rank < 8; ++rank) {
    const msg::TaskT& task = TaskOf(job, absl::StrCat("worker-", rank));
    ASSERT_EQ(task.attempts.size(), 1u);
    EXPECT_EQ(task.attempts[0]->exit_code, rank);
    EXPECT_EQ(Output(task), absl::StrCat("out ", rank, "\n"));
  }
}

TEST_F(JobGroupsTest, AKilledShimCostsItsAttemptAndNobodyElseAnything) {
  auto spec = yard_.Shell(absl::StrCat("echo begins;", kUntilGo, "echo ends"));
  AddGroup(&spec, "worker", 3);
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 1;
  const std::string other = Launch(spec);
  const std::string id = Launch(spec);
  const msg::JobT before = AwaitAllRunning(id), other_before = AwaitAllRunning(other);
  ASSERT_TRUE(yard_.AwaitInFile(before.tasks[0]->stdout_path, "begins"));
  const pid_t shim = ShimOf(yard_.state_directory(), before);
  ASSERT_GT(shim, 0);
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  const auto again = yard_.Await(id, [](const msg::JobT& job) {
    const msg::TaskT& task = TaskOf(job, "worker-0");
    return task.attempts.size() == 2 && task.state == TaskState::Running;
  });
  ASSERT_TRUE(again.has_value());
  Go();
  const msg::JobT job = End(id), other_job = End(other);
  EXPECT_EQ(job.state, TaskState::Exited) << job.reason;
  EXPECT_EQ(job.restarts, 1u);
  const msg::TaskT& killed = TaskOf(job, "worker-0");
  ASSERT_EQ(killed.attempts.size(), 2u);
  EXPECT_TRUE(killed.attempts[0]->shim_lost);
  EXPECT_EQ(killed.attempts[0]->reason, "the shim was killed (signal 9)");
  EXPECT_FALSE(killed.attempts[1]->shim_lost);
  EXPECT_EQ(Output(killed), "begins\nends\n");
  const auto expect_untouched = [](const msg::TaskT& was, const msg::TaskT& is) {
    ASSERT_EQ(is.attempts.size(), 1u) << is.id;
    EXPECT_EQ(is.attempts[0]->pid, was.attempts[0]->pid) << is.id;
    EXPECT_EQ(is.attempts[0]->reason, "exit code 0") << is.id;
    EXPECT_EQ(Output(is), "begins\nends\n") << is.id;
  };
  expect_untouched(*before.tasks[1], *job.tasks[1]);
  expect_untouched(*before.tasks[2], *job.tasks[2]);
  for (std::size_t i = 0; i < other_job.tasks.size(); ++i) {
    expect_untouched(*other_before.tasks[i], *other_job.tasks[i]);
  }
}

TEST_F(JobGroupsTest, BadClustersAreRefused) {
  auto spec = yard_.Shell("true");
  AddGroup(&spec, "chief", 2);
  const auto refused = yard_.Launch(spec);
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  EXPECT_THAT(yard_.List(), IsEmpty());
}

}  // namespace
}  // namespace launcher
