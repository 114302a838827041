// Tests the verbs about jobs as users call them, against a launcher in this process.

#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/mutex.h"
#include "tools/yard/cli/interrupt.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/testing/fake_yard.h"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
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

// Returns a job whose worker-1 has failed.
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

// A stream that several threads write to. A thread that writes `hold` blocks until another thread
// writes, or for a moment.
class Shared : public std::stringbuf {
 public:
  explicit Shared(std::string hold) : hold_(std::move(hold)) {}
  // Waits until a thread is blocked.
  bool AwaitHeld() {
    runtime::MutexLock lock(mutex_);
    while (!held_) {
      if (!changed_.WaitWithTimeout(mutex_, absl::Seconds(30))) return held_;
    }
    return true;
  }
  bool had_two_writers() {
    runtime::MutexLock lock(mutex_);
    return two_;
  }
  std::string text() {
    runtime::MutexLock lock(mutex_);
    return str();
  }

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    runtime::MutexLock lock(mutex_);
    if (++inside_ > 1) two_ = true;
    changed_.SignalAll();
    if (std::string_view(text, static_cast<std::size_t>(size)).find(hold_) != std::string::npos) {
      held_ = true;
      const absl::Time deadline = absl::Now() + absl::Milliseconds(300);
      while (!two_ && absl::Now() < deadline) {
        changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
      }
    }
    --inside_;
    return std::stringbuf::xsputn(text, size);
  }

  const std::string hold_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  bool two_ ABSL_GUARDED_BY(mutex_) = false;
};

class LaunchTest : public ::testing::Test {
 protected:
  LaunchTest() {
    EXPECT_NE(mkdtemp(directory_), nullptr);
    yard_.context().working_directory = directory_;
  }
  ~LaunchTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
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
  EXPECT_THAT(spec.environment, ElementsAre("PATH=/p", "RUNFILES_DIR=/x", "MINE=file"));
  ASSERT_NE(spec.caller, nullptr);
  EXPECT_NE(spec.caller->cpus, "");
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

TEST_F(LaunchTest, SaysWhatTheJobWaitsForOnceForEachReason) {
  msg::JobT job = Job(msg::TaskState::Pending, {"worker-0"});
  job.reason = "waits for a node of pool lab";
  yard_.AddJob(std::move(job));
  yard_.AddTaskOutput("j-abcde/worker-0", 1, msg::LogStream::Stdout, "epoch 1\n");
  yard_.AddWaits({"waits for a node of pool lab", "waits: Slurm job 17 waits: Priority",
                  "waits: Slurm job 17 waits: Priority", "waits: pool lab is too small"});
  yard_.Start();
  const auto result = yard_.Run({"launch", "--", "train"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out, "[worker-0]:    epoch 1\n");
  EXPECT_THAT(result.err, HasSubstr("started\n"
                                    "it waits for a node of pool lab\n"
                                    "it waits: Slurm job 17 waits: Priority\n"
                                    "it waits: pool lab is too small\n"
                                    "j-abcde train done in "));
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

TEST_F(LaunchTest, RestartsAreCountedInTheLastLine) {
  msg::JobT job = Job(msg::TaskState::Exited, {"worker-0"});
  job.restarts = 1;
  yard_.AddJob(std::move(job));
  yard_.Start();
  EXPECT_THAT(yard_.Run({"launch", "--", "train"}).err, EndsWith(", 1 restart\n"));
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

TEST_F(LaunchTest, AnOutageIsNotSaidInTheMiddleOfAnotherLine) {
  yard_.AddJob(Job(msg::TaskState::Running, {"worker-0"}));
  yard_.HoldOutput(/*keeps_running=*/true);
  yard_.Start();
  Shared terminal("stopping j-abcde");
  std::ostream err(&terminal);
  yard_.SetErr(&err);
  FakeYard::Output result;
  std::thread person([&] { result = yard_.Run({"launch", "--", "train"}); });
  EXPECT_TRUE(yard_.AwaitFollower());
  std::thread signals([&] { yard_.context().interrupt->Raise(); });
  EXPECT_TRUE(terminal.AwaitHeld());
  yard_.CutOff();
  signals.join();
  EXPECT_TRUE(yard_.AwaitFollower());
  yard_.context().interrupt->Raise();
  person.join();
  EXPECT_EQ(result.code, kInterrupted);
  EXPECT_THAT(terminal.text(), HasSubstr("the launcher is not there for the moment"));
  EXPECT_FALSE(terminal.had_two_writers());
}

TEST_F(LaunchTest, PrintsWhatAJobFileMaySayAndStartsNothing) {
  const auto table = yard_.Run({"launch", "--keys"});
  EXPECT_EQ(table.code, kDone);
  EXPECT_THAT(table.out, HasSubstr("max_restarts"));
  const auto lines = yard_.Run({"launch", "--keys", "--json"});
  std::istringstream in(lines.out);
  std::vector<std::string> of_count;
  for (std::string line; std::getline(in, line);) {
    const auto key = json::parse(line);
    if (key["key"] == "count") of_count.push_back(key["of"]);
    EXPECT_EQ(key.size(), 5u) << line;
  }
  EXPECT_THAT(of_count, ElementsAre("task type"));
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

// ---- logs

class LogsTest : public ::testing::Test {
 protected:
  // Starts a yard with a job of three tasks.
  void Start() {
    yard_.AddJob(Job(msg::TaskState::Running, {"worker-0", "worker-1", "worker-2"}));
    yard_.Start();
  }
  void Say(int worker, const std::string& text, msg::LogStream stream = msg::LogStream::Stdout) {
    yard_.AddTaskOutput(absl::StrCat("j-abcde/worker-", worker), 1, stream, text);
  }
  FakeYard yard_;
};

TEST_F(LogsTest, UnfinishedLinesOfTheTwoStreamsAreTwo) {
  Say(0, "epoch 1: ");
  Say(0, "a warn", msg::LogStream::Stderr);
  Say(0, "done\n");
  Say(0, "ing", msg::LogStream::Stderr);
  Start();
  EXPECT_EQ(yard_.Run({"logs", "train"}).out,
            "[worker-0]:    epoch 1: done\n[worker-0]:    a warning\n");
}

TEST_F(LogsTest, AsksForATimeForRanksAndForErrors) {
  Say(0, "no\n");
  Say(0, "yes\n", msg::LogStream::Stderr);
  Start();
  const auto result = yard_.Run(
      {"logs", "train", "--since", "2024-05-02T12:30:05Z", "--rank", "0,1-2", "--err", "-n", "7"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out, "[worker-0]:    yes\n");
  const msg::LogsRequestT asked = yard_.last_logs();
  EXPECT_EQ(asked.job, "j-abcde");
  EXPECT_EQ(asked.since_us, 1'714'653'005'000'000);
  EXPECT_THAT(asked.ranks, ElementsAre(0, 1, 2));
  EXPECT_TRUE(asked.errors_only);
  EXPECT_EQ(asked.last_lines, 7);
}

TEST_F(LogsTest, ASearchShowsLinesInTheOrderInWhichTheyWereWritten) {
  Start();
  const auto result =
      yard_.Run({"logs", "--grep", "lo+ss", "--err", "--since", "2024-05-01T12:30:05Z", "--utc"});
  EXPECT_EQ(result.code, kDone);
  EXPECT_EQ(result.out,
            "[2024-05-01 14:30:04 j-other/worker-0]: older\n"
            "[2024-05-01 14:30:05 train/worker-1]: newer\n");
  const auto asked = yard_.searches();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].pattern, "lo+ss");
  EXPECT_TRUE(asked[0].errors_only);
  EXPECT_EQ(asked[0].since_us, 1'714'566'605'000'000);
  EXPECT_EQ(asked[0].limit, 1000u);
  EXPECT_THAT(asked[0].jobs, ElementsAre());
  EXPECT_EQ(asked[1].cursor, "further on");
}

TEST_F(LogsTest, ASearchEndsWithEnoughLinesOfTheThingsThatAreNamed) {
  Start();
  const auto result = yard_.Run({"logs", "train/worker-1", "--grep", "", "-n", "1", "--json"});
  EXPECT_EQ(result.code, kDone);
  EXPECT_THAT(result.out, HasSubstr("\"text\":\"newer\""));
  EXPECT_THAT(result.out, HasSubstr("\"time\":\"2024-05-01T14:30:05"));
  ASSERT_EQ(yard_.searches().size(), 1u);
  EXPECT_THAT(yard_.searches()[0].jobs, ElementsAre("j-abcde/worker-1"));
  const auto faulty = yard_.Run({"logs", "--grep", "("});
  EXPECT_EQ(faulty.code, kUsage);
  EXPECT_THAT(faulty.err, HasSubstr("pattern: missing )"));
}

TEST_F(LogsTest, TimestampsAreThoseOfEveryLineOfTheThingThatIsNamed) {
  Start();
  const auto result = yard_.Run({"logs", "train", "--timestamps", "--out", "--utc"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out,
            "[2024-05-01 14:30:04 j-other/worker-0]: older\n"
            "[2024-05-01 14:30:05 train/worker-1]: newer\n");
  const auto asked = yard_.searches();
  ASSERT_EQ(asked.size(), 2u) << "all there are";
  EXPECT_EQ(asked[0].pattern, "");
  EXPECT_TRUE(asked[0].output_only);
  EXPECT_THAT(asked[0].jobs, ElementsAre("j-abcde"));
  const auto follow = yard_.Run({"logs", "train", "--timestamps", "-f"});
  EXPECT_EQ(follow.code, kUsage);
  EXPECT_THAT(follow.err, HasSubstr("--timestamps shows what is there: it does not go with -f"));
  EXPECT_EQ(yard_.Run({"logs", "--timestamps"}).code, kUsage);
}

TEST_F(LogsTest, AllAttemptsAreThoseSinceEver) {
  Say(0, "line\n");
  Start();
  EXPECT_EQ(yard_.Run({"logs", "train", "--all-attempts"}).code, kDone);
  EXPECT_EQ(yard_.last_logs().since_us, 1);
  EXPECT_EQ(yard_.Run({"logs", "train"}).code, kDone);
  EXPECT_EQ(yard_.last_logs().since_us, 0);
}

TEST_F(LogsTest, AServiceThatDoesNotAnswerHasALogToo) {
  yard_.Break("trainer", absl::InternalError("broken"));
  Start();
  const auto none = yard_.Run({"logs", "trainer"});
  EXPECT_EQ(none.code, kNotFound) << none.err;
  EXPECT_THAT(none.err, HasSubstr("no trial or job trainer, and the service of that name has no"));
  const std::string directory = yard_.context().locations.LogDirectory();
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/trainer.log") << "one\ntwo \x1b[2J\nthree\n";
  EXPECT_EQ(yard_.Run({"logs", "trainer"}).out, "one\ntwo \x1b[2J\nthree\n");
  EXPECT_EQ(yard_.Run({"logs", "trainer", "--raw"}).out, "one\ntwo \x1b[2J\nthree\n");
  EXPECT_EQ(yard_.Run({"logs", "trainer", "-n", "1"}).out, "three\n");
  EXPECT_EQ(yard_.Run({"logs", "trainer", "-n", "1", "--json"}).out,
            "{\"service\":\"trainer\",\"text\":\"three\"}\n");
  const auto follow = yard_.Run({"logs", "trainer", "-f"});
  EXPECT_EQ(follow.code, kUsage);
  EXPECT_THAT(follow.err, HasSubstr("tail -F " + directory + "/trainer.log follows it"));
  yard_.context().out_is_terminal = true;
  EXPECT_THAT(yard_.Run({"logs", "trainer"}).out, HasSubstr("two \\x1B[2J\n"));
}

TEST_F(LogsTest, WhatCannotBeIsAnErrorOfUsage) {
  Start();
  const std::pair<std::vector<std::string>, const char*> kCases[] = {
      {{"--since", "yesterday"}, "--since: expected a time ago like 10m or 2h, or a time like"},
      {{"--rank", "1,x"}, "--rank: expected ranks from 0 to 999 like 0,2-3, not \"1,x\""},
      {{"--collapse", "--raw"}, "--collapse is of lines, not of --raw"},
      {{"--collapse", "--json"}, "not of --json"},
      {{"--err", "--out"}, "--err and --out leave nothing"},
      {{"--grep", "x", "-f"}, "--grep searches what is there: it does not go with -f"},
      {{"--grep", "x", "--rank", "0"}, "does not go with --rank"},
      {{"j-abcde", "-f"}, "-f follows one thing at a time"},
      {{"--lines=-3"}, "-n: expected a number from 0"},
  };
  for (const auto& [words, error] : kCases) {
    std::vector<std::string> all = {"logs", "train"};
    all.insert(all.end(), words.begin(), words.end());
    const auto result = yard_.Run(all);
    EXPECT_EQ(result.code, kUsage) << words[0];
    EXPECT_THAT(result.err, HasSubstr(error));
  }
}

TEST_F(LogsTest, ARankThatTheJobDoesNotHaveIsAnErrorOfUsage) {
  Start();
  const auto result = yard_.Run({"logs", "train", "--rank", "1-3"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, HasSubstr("--rank: job j-abcde has no rank 3, only 0 to 2"));
}

TEST_F(LogsTest, OfOneTaskOnlyItsLinesAreShown) {
  for (const int worker : {0, 1, 2}) Say(worker, absl::StrCat("I am ", worker, "\n"));
  Start();
  EXPECT_EQ(yard_.Run({"logs", "train/worker-1"}).out, "[worker-1]:    I am 1\n");
  EXPECT_EQ(yard_.last_logs().job, "j-abcde/worker-1");
}

TEST_F(LogsTest, SeveralThingsComeOneAfterTheOtherWithTheirJobs) {
  Say(0, "a\n");
  yard_.AddTaskOutput("j-other/worker-0", 1, msg::LogStream::Stdout, "b\n");
  yard_.AddJob("j-other", "other", msg::TaskState::Exited);
  Start();
  EXPECT_EQ(yard_.Run({"logs", "other", "train"}).out,
            "[j-other/worker-0]: b\n[j-abcde/worker-0]: a\n");
}

TEST_F(LogsTest, WhatRanksSayAlikeIsOneLineOnRequest) {
  for (const int worker : {0, 1, 2}) {
    Say(worker, absl::StrCat("I am ", worker, "\nloading\n", worker == 1 ? "" : "step 1\n"));
  }
  Say(1, "loading\n", msg::LogStream::Stderr);
  Start();
  EXPECT_EQ(yard_.Run({"logs", "train", "--collapse"}).out,
            "[worker-0]:    I am 0\n"
            "[worker-1]:    I am 1\n"
            "[worker-2]:    I am 2\n"
            "[worker-0..2]: loading\n"
            "[worker-0,2]:  step 1\n"
            "[worker-1]:    loading\n");
}

TEST_F(LogsTest, WhileItFollowsALineOfSomeRanksIsNotHeldBack) {
  Say(0, "step 1\n");
  Say(2, "step 1\n");
  yard_.HoldOutput();
  Start();
  FakeYard::Output result;
  std::thread person([&] { result = yard_.Run({"logs", "train", "-f", "--collapse"}); });
  const bool followed = yard_.AwaitFollower();
  // The command ends with the job; LineCollapser guarantees that the line is printed before.
  EXPECT_EQ(yard_.Run({"stop", "train"}).code, kDone);
  person.join();
  EXPECT_TRUE(followed);
  EXPECT_EQ(result.out, "[worker-0,2]:  step 1\n");
}

// ---- ps, show

msg::JobT JobThatWaits() {
  msg::JobT job = Job(msg::TaskState::Running, {"ps-0", "worker-0", "worker-1"});
  job.reason = "worker-0: waits for ps to be ready";
  job.tasks[0]->attempts[0]->pid = 77;
  job.tasks[0]->address = "127.0.0.1:2222";
  job.tasks[0]->resources = {"gpu=0,1"};
  job.tasks[0]->restarts = 1;
  for (const int i : {1, 2}) {
    auto& task = *job.tasks[static_cast<std::size_t>(i)];
    task.rank = static_cast<std::uint32_t>(i);
    task.state = msg::TaskState::Pending;
    task.reason = "waits for ps to be ready";
    task.attempts.clear();
  }
  return job;
}

class PsTest : public ::testing::Test {
 protected:
  FakeYard yard_;
};

TEST_F(PsTest, SaysOfAJobWhyItsTasksWait) {
  yard_.AddJob(JobThatWaits());
  yard_.Start();
  const auto result = yard_.Run({"ps"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 of 3  worker-0,1: waits for ps to be ready\n"));
}

std::vector<std::string> IdsOf(const std::string& lines) {
  std::vector<std::string> ids;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    ids.push_back(json::parse(line, nullptr, false).value("id", "none"));
  }
  return ids;
}

TEST_F(PsTest, StateAndLabelChooseAndAFieldOrAMetricSorts) {
  for (int i = 0; i < 12; ++i) {
    const std::string id = absl::StrCat("t-aaaa", std::string(1, static_cast<char>('a' + i)));
    yard_.AddTrial(id, absl::StrCat("trial", i),
                   i % 2 == 0 ? msg::TrialState::Failed : msg::TrialState::Done);
    yard_.AddReport(id, i == 4 ? R"({"loss":NaN})" : absl::StrCat(R"({"loss":)", i % 5, "}"));
  }
  msg::JobT job = JobThatWaits();
  job.labels.push_back(std::make_unique<msg::KeyValueT>());
  job.labels[0]->key = "team";
  job.labels[0]->value = "a";
  yard_.AddJob(std::move(job));
  yard_.Start();
  const auto ids = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "ps");
    words.emplace_back("--json");
    const auto result = yard_.Run(words);
    EXPECT_EQ(result.code, kDone) << result.err;
    return IdsOf(result.out);
  };
  EXPECT_EQ(ids({}).size(), 11U) << "the last ten that have ended, and what has not";
  EXPECT_THAT(ids({"--state", "failed"}),
              ElementsAre("t-aaaaa", "t-aaaac", "t-aaaae", "t-aaaag", "t-aaaai", "t-aaaak"));
  EXPECT_THAT(ids({"--state", "failed", "--sort", "-loss"}),
              ElementsAre("t-aaaai", "t-aaaac", "t-aaaag", "t-aaaaa", "t-aaaak", "t-aaaae"))
      << "what has no number comes last";
  EXPECT_EQ(ids({"--state", "failed,done", "--sort", "name"}).front(), "t-aaaaa");
  EXPECT_THAT(ids({"--label", "team=a"}), ElementsAre("j-abcde"));
  EXPECT_THAT(ids({"--label", "team=b"}), ElementsAre());
  const auto table = yard_.Run({"ps", "--state", "failed", "--sort", "loss"}).out;
  EXPECT_LT(table.find("t-aaaaa"), table.find("t-aaaai"));
  EXPECT_THAT(table, Not(HasSubstr("j-abcde")));
}

TEST_F(PsTest, AWrongStateOrFieldNamesWhatWasMeant) {
  yard_.AddTrial("t-aaaaa", "first", msg::TrialState::Done);
  yard_.AddReport("t-aaaaa", R"({"loss":1})");
  yard_.Start();
  const auto state = yard_.Run({"ps", "--state", "faild"});
  EXPECT_EQ(state.code, kUsage);
  EXPECT_THAT(state.err, HasSubstr("--state: faild is none of pending, starting, "));
  EXPECT_THAT(state.err, HasSubstr("; did you mean failed?\n"));
  const auto field = yard_.Run({"ps", "--sort", "-los"});
  EXPECT_EQ(field.code, kNotFound);
  EXPECT_EQ(field.err, "yard ps: --sort: nothing that is shown has los; did you mean loss?\n");
  EXPECT_EQ(field.out, "");
  EXPECT_EQ(yard_.Run({"ps", "first", "--sort", "name"}).code, kUsage);
  EXPECT_EQ(yard_.Run({"ps", "-t", "--state", "failed"}).code, kUsage);
}

TEST_F(PsTest, WhatHoldsUpAWholeJobIsSaidOnce) {
  msg::JobT job = JobThatWaits();
  job.state = msg::TaskState::Pending;
  job.tasks.erase(job.tasks.begin());
  for (const auto& task : job.tasks) task->reason = "waits for gpu: 1 of 2 is used by j-x/worker-0";
  yard_.AddJob(std::move(job));
  yard_.Start();
  EXPECT_THAT(yard_.Run({"ps"}).out,
              HasSubstr("0 of 2  waits for gpu: 1 of 2 is used by j-x/worker-0\n"));
}

TEST_F(PsTest, OfAJobItShowsTheTasks) {
  yard_.AddJob(JobThatWaits());
  yard_.Start();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"ps", "train"}, {"ps", "-t"}}) {
    const auto result = yard_.Run(words);
    EXPECT_EQ(result.code, kDone) << result.err;
    EXPECT_THAT(result.out, ContainsRegex("j-abcde/ps-0 +0  running, not ready +1 +77 +1 +-  "
                                          "127.0.0.1:2222  gpu=0,1\n"));
    EXPECT_THAT(result.out, ContainsRegex("j-abcde/worker-1 +2  pending +- +- +0 +- +waits for ps "
                                          "to be ready\n"));
  }
  const auto one = yard_.Run({"ps", "j-abcde/worker-1", "--json"});
  const json task = json::parse(one.out, nullptr, false);
  EXPECT_EQ(task["id"], "j-abcde/worker-1");
  EXPECT_EQ(task["rank"], 2);
  EXPECT_EQ(task["state"], "pending");
  EXPECT_EQ(task["reason"], "waits for ps to be ready");
  EXPECT_EQ(yard_.Run({"ps", "train/worker-7"}).code, kNotFound);
  EXPECT_EQ(yard_.Run({"ps", "none"}).code, kNotFound);
}

TEST_F(PsTest, OfATrialItShowsItsJobsTasks) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.AddJob(JobThatWaits());
  yard_.AddOutput("j-abcde", msg::LogStream::Stdout, "");
  yard_.Start();
  EXPECT_THAT(yard_.Run({"ps", "first"}).out, HasSubstr("j-abcde/ps-0"));
}

TEST_F(PsTest, ShowHasEveryAttemptAndTheFailure) {
  msg::JobT job = FailedJob();
  auto again = std::make_unique<msg::AttemptT>();
  again->number = 2;
  again->pid = 99;
  again->started_us = 1'700'000'000'000'000;
  again->ended_us = again->started_us + 1'500'000;
  again->reason = "killed by signal 9 (SIGKILL)";
  again->out_of_memory = true;
  job.tasks[0]->attempts.push_back(std::move(again));
  job.tasks[0]->attempts[0]->reason = "exit code 3";
  job.restarts = 1;
  yard_.AddJob(std::move(job));
  yard_.Start();
  const auto result = yard_.Run({"show", "train"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n  attempt  1:  exit code 3\n"));
  EXPECT_THAT(result.out,
              HasSubstr("\n  attempt  2: pid 99  2023-11-14T22:13:20.000000Z  for 1.5 s  killed by "
                        "signal 9 (SIGKILL)  out of memory\n"));
  EXPECT_THAT(result.out, HasSubstr("j-abcde train FAILED: worker-1: exit code 42\n"));
  EXPECT_THAT(result.out, HasSubstr("because of it: worker-0\n"));
  const auto one = yard_.Run({"show", "j-abcde/worker-0"});
  EXPECT_THAT(one.out, HasSubstr("j-abcde/worker-0  rank 0  failed"));
  EXPECT_THAT(one.out, Not(HasSubstr("task       j-abcde/worker-1")));
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

TEST_F(JobVerbsTest, WhatWaitsForATrialNamesIt) {
  msg::JobT waiting = Job(msg::TaskState::Pending, {"worker-0"});
  waiting.ended_us = 0;
  waiting.reason = "waits for gpu: 1 of 1 is used by j-of-it/worker-0";
  waiting.tasks[0]->reason = waiting.reason;
  waiting.tasks[0]->attempts.clear();
  msg::JobT of_it = Job(msg::TaskState::Running, {"worker-0"});
  of_it.id = "j-of-it";
  of_it.ended_us = 0;
  of_it.labels.push_back(std::make_unique<msg::KeyValueT>());
  of_it.labels.back()->key = "trial";
  of_it.labels.back()->value = "t-abcde";
  yard_.AddJob(std::move(waiting));
  yard_.AddJob(std::move(of_it));
  yard_.Start();
  for (const auto& words :
       {std::vector<std::string>{"ps"}, {"ps", "-t"}, {"ps", "j-abcde"}, {"show", "j-abcde"}}) {
    const auto result = yard_.Run(words);
    EXPECT_EQ(result.code, kDone) << result.err;
    EXPECT_THAT(result.out, HasSubstr("waits for gpu: 1 of 1 is used by t-abcde\n"));
  }
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

TEST_F(JobVerbsTest, RmOfATrialRemovesWhatTheLauncherHasOfIt) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  for (const std::string trial : {"t-abcde", "t-other"}) {
    msg::JobT job = Job(msg::TaskState::Exited, {});
    job.id = "j-of-" + trial;
    job.labels.push_back(std::make_unique<msg::KeyValueT>());
    job.labels.back()->key = "trial";
    job.labels.back()->value = trial;
    yard_.AddJob(std::move(job));
  }
  yard_.Start();
  const auto result = yard_.Run({"rm", "first"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(yard_.asked(), ElementsAre("remove t-abcde", "remove j-of-t-abcde"));
}

TEST_F(JobVerbsTest, ATrialIsTheTrainersToRestart) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.Start();
  const auto result = yard_.Run({"restart", "first"});
  EXPECT_EQ(result.code, kRefused);
  EXPECT_THAT(result.err, HasSubstr("first is a trial: the trainer "));
  EXPECT_THAT(yard_.asked(), IsEmpty());
}

}  // namespace
}  // namespace yard
