#include "tools/yard/follow/failure_block.h"

#include <errno.h>
#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

msg::AttemptT& AddTask(msg::JobT* job, const std::string& name, msg::TaskState state) {
  auto task = std::make_unique<msg::TaskT>();
  task->id = "j-abcde/" + name;
  task->state = state;
  task->stderr_path = "/logs/" + name + ".1.stderr";
  auto attempt = std::make_unique<msg::AttemptT>();
  attempt->number = 1;
  attempt->started_us = 1'000'000;
  attempt->ended_us = 13'500'000;
  task->attempts.push_back(std::move(attempt));
  job->tasks.push_back(std::move(task));
  return *job->tasks.back()->attempts.back();
}

// Returns a job of three tasks of which worker-1 has failed with exit code 3.
msg::JobT FailedJob() {
  msg::JobT job;
  job.id = "j-abcde";
  job.name = "train";
  job.state = msg::TaskState::Failed;
  AddTask(&job, "chief-0", msg::TaskState::Exited);
  AddTask(&job, "worker-0", msg::TaskState::Exited);
  AddTask(&job, "worker-1", msg::TaskState::Failed).exit_code = 3;
  job.failure = std::make_unique<msg::FailureT>();
  job.failure->task = "worker-1";
  job.failure->attempt = 1;
  job.failure->reason = "exit code 3";
  job.failure->last_lines = {"Traceback", "ValueError: no"};
  job.failure->log_path = "/logs/worker-1.1.stderr";
  job.failure->consequences = {"chief-0", "worker-0"};
  return job;
}

TEST(FailureBlockTest, HasTheCauseItsLinesItsLogAndTheConsequencesApart) {
  EXPECT_EQ(FailureBlock(FailedJob()),
            "\n"
            "j-abcde train FAILED: worker-1: exit code 3\n"
            "  | Traceback\n"
            "  | ValueError: no\n"
            "  attempt   1, after 12 s\n"
            "  log       /logs/worker-1.1.stderr\n"
            "  ended     because of it: chief-0, worker-0\n"
            "  next      yard logs j-abcde/worker-1\n");
}

TEST(FailureBlockTest, AJobThatEndedWellOrWasStoppedHasNone) {
  msg::JobT job = FailedJob();
  job.stop_requested = true;
  EXPECT_EQ(FailureBlock(job), "");
  EXPECT_EQ(JobExitCode(job), 0);
  job.stop_requested = false;
  job.state = msg::TaskState::Exited;
  EXPECT_EQ(FailureBlock(job), "");
  EXPECT_EQ(JobExitCode(job), 0);
  job.state = msg::TaskState::Running;
  EXPECT_EQ(FailureBlock(job), "");
}

TEST(FailureBlockTest, OthersThatFailedByThemselvesAreNotConsequences) {
  msg::JobT job = FailedJob();
  AddTask(&job, "worker-2", msg::TaskState::Failed);
  job.tasks.back()->reason = "signal 11 (Segmentation fault)";
  AddTask(&job, "ps-0", msg::TaskState::Lost);
  job.failure->consequences.push_back("ps-0");
  const std::string block = FailureBlock(job);
  EXPECT_THAT(block, HasSubstr("  also      worker-2 (signal 11 (Segmentation fault))\n"));
  EXPECT_THAT(block, HasSubstr("because of it: chief-0, worker-0, ps-0\n"));
}

TEST(FailureBlockTest, SaysWhatIsKnownOfTheAttempt) {
  msg::JobT job = FailedJob();
  auto& attempts = job.tasks[2]->attempts;
  attempts.push_back(std::make_unique<msg::AttemptT>());
  attempts.back()->number = 2;
  attempts.back()->core_dumped = true;
  attempts.back()->out_of_memory = true;
  job.failure->attempt = 2;
  EXPECT_THAT(FailureBlock(job), HasSubstr("  attempt   2, core dumped, out of memory\n"));
}

TEST(FailureBlockTest, TheTimeOfAJobIsNobodysFault) {
  msg::JobT job = FailedJob();
  job.failure->task = "";
  job.failure->reason = "its time was over after 1h";
  job.failure->last_lines.clear();
  job.failure->log_path.clear();
  EXPECT_EQ(FailureBlock(job),
            "\n"
            "j-abcde train FAILED: its time was over after 1h\n"
            "  also      worker-1\n"
            "  ended     because of it: chief-0, worker-0\n"
            "  next      yard logs j-abcde\n");
  EXPECT_EQ(JobExitCode(job), 5);
}

TEST(FailureBlockTest, WithoutAFailureTheBadTaskThatEndedFirstIsTheCause) {
  msg::JobT job = FailedJob();
  job.failure = nullptr;
  job.reason = "signal 9 (Killed)";
  auto& first = AddTask(&job, "worker-2", msg::TaskState::Failed);
  first.ended_us = 2'000'000;
  first.signal = SIGKILL;
  const std::string block = FailureBlock(job);
  EXPECT_THAT(block, StartsWith("\nj-abcde train FAILED: worker-2: signal 9 (Killed)\n"));
  EXPECT_THAT(block, HasSubstr("  attempt   1, after 1.0 s\n"));
  EXPECT_THAT(block, HasSubstr("  log       /logs/worker-2.1.stderr\n"));
  EXPECT_THAT(block, HasSubstr("  also      worker-1\n"));
  EXPECT_EQ(JobExitCode(job), 137);
}

TEST(FailureBlockTest, AReasonThatNamesTheTaskIsNotRepeated) {
  msg::JobT job = FailedJob();
  job.failure->reason = "worker-1: exit code 3";
  EXPECT_THAT(FailureBlock(job), StartsWith("\nj-abcde train FAILED: worker-1: exit code 3\n"));
}

TEST(FailureBlockTest, NothingInItDrivesTheTerminalOrFillsTheScreen) {
  msg::JobT job = FailedJob();
  job.name = "a\x1b[2J";
  job.failure->reason = "b\x1b[2J\n";
  job.failure->log_path = "/c\x1b[2J";
  job.failure->last_lines.assign(1000, "d\x1b[2J" + std::string(100'000, 'x'));
  for (int i = 0; i < 1000; ++i) job.failure->consequences.push_back("e\x1b-" + std::to_string(i));
  const std::string block = FailureBlock(job);
  EXPECT_EQ(block.find('\x1b'), std::string::npos);
  EXPECT_LT(block.size(), 20'000U);
  EXPECT_THAT(block, HasSubstr(" and 986 more\n"));
}

TEST(FailureBlockTest, AJobOfOneTaskIsNamedByItself) {
  msg::JobT job = FailedJob();
  job.tasks.erase(job.tasks.begin(), job.tasks.begin() + 2);
  job.failure->consequences.clear();
  const std::string block = FailureBlock(job);
  EXPECT_THAT(block, HasSubstr("yard logs j-abcde\n"));
  EXPECT_THAT(block, Not(HasSubstr("ended")));
}

TEST(JobExitCodeTest, IsThatOfTheFirstFailureAsShellsHaveIt) {
  msg::JobT job = FailedJob();
  EXPECT_EQ(JobExitCode(job), 3);
  msg::AttemptT& attempt = *job.tasks[2]->attempts[0];
  attempt.exit_code = 0;
  EXPECT_EQ(JobExitCode(job), 1) << "it failed, whatever it says";
  attempt.signal = SIGSEGV;
  EXPECT_EQ(JobExitCode(job), 128 + SIGSEGV);
  attempt.signal = 0;
  attempt.error_number = ENOENT;
  EXPECT_EQ(JobExitCode(job), 127);
  attempt.error_number = EACCES;
  EXPECT_EQ(JobExitCode(job), 126);
  job.tasks.clear();
  EXPECT_EQ(JobExitCode(job), 1);
}

}  // namespace
}  // namespace yard
