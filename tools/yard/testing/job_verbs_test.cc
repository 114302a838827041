// The verbs about jobs as a person uses them, against a launcher in this process.

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/yard/interrupt.h"
#include "tools/yard/testing/fake_yard.h"
#include "tools/yard/verb.h"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

msg::JobT Job(msg::TaskState state, std::vector<std::string> tasks) {
  msg::JobT job;
  job.id = "j-abcde";
  job.name = "train";
  job.state = state;
  job.created_us = 1;
  for (const std::string& name : tasks) {
    auto task = std::make_unique<msg::TaskT>();
    task->id = "j-abcde/" + name;
    task->state = state;
    auto attempt = std::make_unique<msg::AttemptT>();
    attempt->number = 1;
    task->attempts.push_back(std::move(attempt));
    job.tasks.push_back(std::move(task));
  }
  return job;
}

// Its worker-1 has failed.
msg::JobT FailedJob() {
  msg::JobT job = Job(msg::TaskState::Failed, {"worker-0", "worker-1"});
  job.tasks[1]->attempts[0]->exit_code = 42;
  job.failure = std::make_unique<msg::FailureT>();
  job.failure->task = "worker-1";
  job.failure->attempt = 1;
  job.failure->reason = "exit code 42";
  job.failure->last_lines = {"ValueError: no"};
  job.failure->log_path = "/logs/worker-1.1.stderr";
  job.failure->consequences = {"worker-0"};
  return job;
}

class LaunchTest : public ::testing::Test {
 protected:
  LaunchTest() {
    EXPECT_NE(mkdtemp(directory_), nullptr);
    yard_.context().working_directory = directory_;
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(absl::StrCat(directory_, "/", name)) << text;
  }
  char directory_[32] = "/tmp/launch-XXXXXX";
  FakeYard yard_;
};

TEST_F(LaunchTest, SendsTheFileTheFlagsOverItAndTheCallersPlace) {
  Write("job.yaml", "name: first\ncommand: [old]\ntasks: {worker: 2}\nenvironment: {MINE: file}\n");
  yard_.AddJob(Job(msg::TaskState::Running, {"worker-0"}));
  yard_.context().environment = {"PATH=/p", "RUNFILES_DIR=/x", "MINE=caller"};
  yard_.Start();
  const auto result = yard_.Run({"launch", "job.yaml", "--detach", "--worker", "4", "--ps", "1",
                                 "--gang", "--", "python3", "train.py", "--", "-n"});
  ASSERT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out, "j-abcde\n");
  const msg::JobSpecT spec = yard_.last_launch();
  EXPECT_EQ(spec.name, "first");
  EXPECT_THAT(spec.argv, ElementsAre("python3", "train.py", "--", "-n"));
  EXPECT_THAT(spec.environment, ElementsAre("PATH=/p", "MINE=file"));
  EXPECT_EQ(spec.working_directory, directory_);
  EXPECT_TRUE(spec.gang);
  ASSERT_EQ(spec.groups.size(), 2U);
  EXPECT_EQ(spec.groups[0]->count, 4U);
  EXPECT_EQ(spec.groups[1]->type, "ps");
}

TEST_F(LaunchTest, WithoutTaskTypesItIsOneTask) {
  yard_.AddJob(Job(msg::TaskState::Running, {"worker-0"}));
  yard_.Start();
  ASSERT_EQ(yard_.Run({"launch", "--detach", "--", "train"}).code, kDone);
  EXPECT_THAT(yard_.last_launch().groups, IsEmpty());
}

TEST_F(LaunchTest, PrintsEveryTasksLinesWithItsName) {
  yard_.AddJob(Job(msg::TaskState::Running, {"worker-0", "evaluator-0"}));
  yard_.AddTaskOutput("j-abcde/worker-0", 1, msg::LogStream::Stdout, "epoch 1\nno end");
  yard_.AddTaskOutput("j-abcde/evaluator-0", 1, msg::LogStream::Stdout, "accuracy 0.5\n");
  yard_.AddTaskOutput("j-abcde/worker-0", 1, msg::LogStream::Stderr, "a warning\n");
  yard_.AddTaskOutput("j-abcde/worker-0", 2, msg::LogStream::Stdout, "again\n");
  yard_.Start();
  const auto result = yard_.Run({"launch", "--worker", "1", "--evaluator", "--", "train"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out,
            "[worker-0]:    epoch 1\n"
            "[evaluator-0]: accuracy 0.5\n"
            "[worker-0]:    no end\n"
            "[worker-0]:    again\n");
  EXPECT_THAT(result.err, HasSubstr("j-abcde train started: 2 tasks\n"));
  EXPECT_THAT(result.err, HasSubstr("[worker-0]:    a warning\n"));
  EXPECT_THAT(result.err, HasSubstr("j-abcde train done in "));
}

TEST_F(LaunchTest, EndsWithTheFirstFailureAndItsExitCode) {
  yard_.AddJob(FailedJob());
  yard_.AddTaskOutput("j-abcde/worker-1", 1, msg::LogStream::Stderr, "ValueError: no\n");
  yard_.Start();
  const auto result = yard_.Run({"launch", "--worker", "2", "--", "train"});
  EXPECT_EQ(result.code, 42);
  EXPECT_THAT(result.err, EndsWith("\n"
                                   "j-abcde train FAILED: worker-1: exit code 42\n"
                                   "  | ValueError: no\n"
                                   "  attempt   1\n"
                                   "  log       /logs/worker-1.1.stderr\n"
                                   "  ended     because of it: worker-0\n"
                                   "  next      yard logs j-abcde/worker-1\n"));
}

TEST_F(LaunchTest, JsonIsTheJobAndNothingElse) {
  yard_.AddJob(FailedJob());
  yard_.AddTaskOutput("j-abcde/worker-1", 1, msg::LogStream::Stdout, "not JSON\n");
  yard_.Start();
  const auto result = yard_.Run({"launch", "--json", "--worker", "2", "--", "train"});
  EXPECT_EQ(result.code, 42);
  const json job = json::parse(result.out, nullptr, false);
  EXPECT_EQ(job["id"], "j-abcde");
  EXPECT_EQ(job["failure"]["task"], "worker-1");
  EXPECT_EQ(job["failure"]["consequences"], json::array({"worker-0"}));
  EXPECT_EQ(job["tasks"].size(), 2U);
  EXPECT_THAT(result.err, HasSubstr("[worker-1]:    not JSON"));
}

TEST_F(LaunchTest, ControlCAsksForAStopAndASecondOneKills) {
  yard_.AddJob(Job(msg::TaskState::Running, {"worker-0"}));
  yard_.HoldOutput(/*keeps_running=*/true);
  yard_.Start();
  FakeYard::Output result;
  std::thread person([&] { result = yard_.Run({"launch", "--", "train"}); });
  const bool followed = yard_.AwaitFollower();
  yard_.context().interrupt->Raise();
  EXPECT_THAT(yard_.asked(), ElementsAre("stop j-abcde 0"));
  yard_.context().interrupt->Raise();
  person.join();
  EXPECT_TRUE(followed);
  EXPECT_THAT(yard_.asked(), ElementsAre("stop j-abcde 0", "stop j-abcde 1"));
  EXPECT_EQ(result.code, kInterrupted);
  EXPECT_THAT(result.err, HasSubstr("stopping j-abcde (Ctrl-C again kills it)\n"));
  EXPECT_THAT(result.err, HasSubstr("killing j-abcde"));
  EXPECT_THAT(result.err, HasSubstr("j-abcde train stopped in "));
}

TEST_F(LaunchTest, ADryRunPrintsTheJobAndNeedsNoYard) {
  Write("job.json", R"({"tasks": {"ps": 1, "chief": 1}, "environment": {"TOKEN": "geheim"}})");
  yard_.context().environment = {"PATH=/p"};
  const auto result = yard_.Run({"launch", "job.json", "--dry-run", "--", "train"});
  ASSERT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out.find("geheim"), std::string::npos);
  const auto job = nlohmann::ordered_json::parse(result.out, nullptr, false);
  EXPECT_EQ(job["command"][0], "train");
  EXPECT_EQ(job["tasks"].begin().key(), "ps");
  EXPECT_EQ(job["environment"]["TOKEN"], "<hidden>");
  EXPECT_EQ(job["cwd"], std::string(directory_));
  const auto line = yard_.Run({"launch", "job.json", "--dry-run", "--json", "--", "train"});
  EXPECT_EQ(std::count(line.out.begin(), line.out.end(), '\n'), 1);
}

TEST_F(LaunchTest, AWrongFileIsToldWithItsPlacesBeforeAnythingElse) {
  Write("job.yaml", "gang: maybe\ntasks:\n  worker: many\n");
  const auto result = yard_.Run({"launch", "job.yaml"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, StartsWith("yard launch: this is no job:\njob.yaml:1:7: gang: "));
  EXPECT_THAT(result.err, HasSubstr("\njob.yaml:3:11: tasks.worker: "));
  EXPECT_THAT(result.err, Not(HasSubstr("behind --")));
  EXPECT_EQ(yard_.Run({"launch", "none.yaml"}).code, kNotFound);
}

TEST_F(LaunchTest, AProgramInPlaceOfTheFileIsPointedOut) {
  Write("train.py", "import sys\nprint(1)\n");
  const auto result = yard_.Run({"launch", "--worker", "2", "train.py"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, HasSubstr("A program and its words go behind --: "));
}

TEST_F(LaunchTest, WhatCannotBeIsAnErrorOfUsage) {
  Write("own.yaml", "tasks: {worker: {command: [a]}}");
  EXPECT_EQ(yard_.Run({"launch"}).code, kUsage) << "no program";
  EXPECT_EQ(yard_.Run({"launch", "--worker", "x", "--", "a"}).code, kUsage);
  EXPECT_EQ(yard_.Run({"launch", "--task", "chief=2", "--", "a"}).code, kUsage);
  EXPECT_EQ(yard_.Run({"launch", "--stop_signal", "FOO", "--", "a"}).code, kUsage);
  const auto unused = yard_.Run({"launch", "own.yaml", "--", "b"});
  EXPECT_EQ(unused.code, kUsage);
  EXPECT_THAT(unused.err, HasSubstr("nobody would run the program behind the --"));
}

TEST_F(LaunchTest, WithoutAYardItSaysSo) {
  const auto result = yard_.Run({"launch", "--", "train"});
  EXPECT_EQ(result.code, kUnreachable);
  EXPECT_THAT(result.err, HasSubstr("yard up"));
}

TEST_F(LaunchTest, WhatTheLauncherRefusesIsPassedOn) {
  yard_.Break("launcher", absl::InvalidArgumentError("ready_pattern: missing )"));
  yard_.Start();
  const auto result = yard_.Run({"launch", "--ready_pattern", "(", "--", "train"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, HasSubstr("yard launch: ready_pattern: missing )"));
}

// ---- wait, signal, restart, rm

class JobVerbsTest : public ::testing::Test {
 protected:
  FakeYard yard_;
};

TEST_F(JobVerbsTest, WaitEndsWithTheFailureToo) {
  yard_.AddJob(FailedJob());
  yard_.Start();
  const auto result = yard_.Run({"wait", "train"});
  EXPECT_EQ(result.code, kFailed);
  EXPECT_THAT(result.err, HasSubstr("j-abcde train FAILED: worker-1: exit code 42\n"));
  EXPECT_EQ(yard_.Run({"wait", "train", "--json"}).err, "");
}

TEST_F(JobVerbsTest, SignalReachesAJobOrATask) {
  yard_.AddJob(Job(msg::TaskState::Running, {"worker-0", "worker-1"}));
  yard_.Start();
  const auto all = yard_.Run({"signal", "train", "USR1"});
  EXPECT_EQ(all.code, kDone) << all.err;
  EXPECT_EQ(all.out, "SIGUSR1 to j-abcde/worker-0, j-abcde/worker-1\n");
  EXPECT_EQ(yard_.Run({"signal", "train/worker-1", "15"}).code, kDone);
  EXPECT_THAT(yard_.asked(), ElementsAre("signal j-abcde 10", "signal j-abcde/worker-1 15"));
  const auto as_json = yard_.Run({"signal", "j-abcde", "SIGINT", "--json"});
  EXPECT_EQ(json::parse(as_json.out, nullptr, false)["signal"], 2);
}

TEST_F(JobVerbsTest, ASignalThatReachesNobodyIsRefused) {
  yard_.AddJob(Job(msg::TaskState::Exited, {"worker-0"}));
  yard_.Start();
  EXPECT_EQ(yard_.Run({"signal", "train", "TERM"}).code, kRefused);
  const auto unknown = yard_.Run({"signal", "train", "TERMINATE"});
  EXPECT_EQ(unknown.code, kUsage);
  EXPECT_THAT(unknown.err, HasSubstr("expected a signal like SIGTERM, TERM or 15, not TERMINATE"));
  EXPECT_EQ(yard_.Run({"signal", "none", "TERM"}).code, kNotFound);
}

TEST_F(JobVerbsTest, StopOfATaskLeavesTheOthers) {
  yard_.AddJob(Job(msg::TaskState::Running, {"worker-0", "worker-1"}));
  yard_.HoldOutput(/*keeps_running=*/true);
  yard_.Start();
  const auto result = yard_.Run({"stop", "j-abcde/worker-1"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out, "j-abcde/worker-1 stops\n");
  EXPECT_THAT(yard_.asked(), ElementsAre("stop j-abcde/worker-1 0"));
}

TEST_F(JobVerbsTest, RestartAsksForJobsAndTasks) {
  yard_.AddJob(Job(msg::TaskState::Running, {"worker-0"}));
  yard_.Start();
  const auto result = yard_.Run({"restart", "train", "j-abcde/worker-0", "--grace", "5"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out, "j-abcde restarts\nj-abcde/worker-0 restarts\n");
  EXPECT_THAT(yard_.asked(), ElementsAre("restart j-abcde 5000", "restart j-abcde/worker-0 5000"));
}

TEST_F(JobVerbsTest, RmRemovesWhatHasEnded) {
  msg::JobT other = Job(msg::TaskState::Running, {});
  other.id = "j-fghij";
  other.name = "other";
  yard_.AddJob(FailedJob());
  yard_.AddJob(std::move(other));
  yard_.Start();
  const auto result = yard_.Run({"rm", "train", "other"});
  EXPECT_EQ(result.code, kRefused);
  EXPECT_EQ(result.out, "j-abcde removed\n");
  EXPECT_THAT(result.err, HasSubstr("j-fghij has not ended"));
  EXPECT_THAT(yard_.asked(), ElementsAre("remove j-abcde"));
  EXPECT_EQ(yard_.Run({"rm", "j-abcde/worker-0"}).code, kUsage);
}

TEST_F(JobVerbsTest, ATrialIsTheTrainersToRestartAndRemove) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.Start();
  for (const char* verb : {"restart", "rm"}) {
    const auto result = yard_.Run({verb, "first"});
    EXPECT_EQ(result.code, kRefused) << verb;
    EXPECT_THAT(result.err, HasSubstr("first is a trial: the trainer "));
  }
  EXPECT_THAT(yard_.asked(), IsEmpty());
}

}  // namespace
}  // namespace yard
