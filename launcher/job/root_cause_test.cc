#include "launcher/job/root_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {
namespace {

using ::testing::ElementsAreArray;

TaskEnd Exit(const std::string& task, std::int64_t time, int code) {
  return {.task = task,
          .attempt = 1,
          .ended_us = time,
          .success = code == 0,
          .reason = absl::StrCat("exit code ", code)};
}

TaskEnd Death(const std::string& task, std::int64_t time, int signal) {
  return {.task = task,
          .attempt = 1,
          .ended_us = time,
          .signal = signal,
          .reason = absl::StrCat("signal ", signal)};
}

TaskEnd Stopped(TaskEnd end, std::int64_t stopped_us = 0) {
  end.was_stopped = true;
  end.stopped_us = stopped_us;
  return end;
}

TaskEnd OutOfMemory(const std::string& task, std::int64_t time) {
  TaskEnd end = Death(task, time, SIGKILL);
  end.out_of_memory = true;
  return end;
}

TaskEnd Spoke(TaskEnd end, std::int64_t time) {
  end.spoke_us = time;
  return end;
}

TaskEnd Running(const std::string& task) { return {.task = task, .attempt = 1, .reason = ""}; }

TaskEnd Attempt(int number, TaskEnd end) {
  end.attempt = number;
  return end;
}

struct Row {
  std::string claim;
  std::vector<TaskEnd> ends;
  FailureRules rules;
  std::string cause;  // "worker-0 attempt 1: exit code 3", or "none".
  std::vector<std::string> consequences;
};

class RootCauseTest : public ::testing::TestWithParam<Row> {};

std::string Text(const std::optional<msg::FailureT>& failure) {
  if (!failure) return "none";
  if (failure->task.empty()) return failure->reason;
  return absl::StrCat(failure->task, " attempt ", failure->attempt, ": ", failure->reason);
}

TEST_P(RootCauseTest, FindsTheFirstFailureInAnyOrderOfTheNews) {
  const Row& row = GetParam();
  const auto failure = FirstFailure(row.ends, row.rules);
  EXPECT_EQ(Text(failure), row.cause);
  EXPECT_THAT(failure ? failure->consequences : std::vector<std::string>{},
              ElementsAreArray(row.consequences));
  auto reversed = row.ends;
  std::reverse(reversed.begin(), reversed.end());
  if (row.claim.find("SameMoment") == std::string::npos) {
    EXPECT_EQ(Text(FirstFailure(reversed, row.rules)), row.cause);
  }
}

const FailureRules kGang;
const FailureRules kKeepGoing{.keep_going = true, .time_over = ""};
const FailureRules kKeepGoingChief{.keep_going = true, .chief = "chief-0", .time_over = ""};
const FailureRules kKeepGoingTimeOver{
    .keep_going = true, .time_over_us = 1000, .time_over = "it ran for 1 s"};
const FailureRules kTimeOver{.time_over_us = 1000, .time_over = "it ran for 1 s"};
const FailureRules kSince500{.since_us = 500, .time_over = ""};

INSTANTIATE_TEST_SUITE_P(
    Histories, RootCauseTest,
    ::testing::ValuesIn(std::vector<Row>{
        {"ExitCodeOfTheFirstRank",
         {Exit("worker-0", 100, 3), Stopped(Death("worker-1", 200, SIGTERM)),
          Stopped(Death("worker-2", 201, SIGTERM))},
         kGang,
         "worker-0 attempt 1: exit code 3",
         {"worker-1", "worker-2"}},
        {"ExitCodeOfTheLastRank",
         {Stopped(Death("worker-0", 200, SIGTERM)), Stopped(Death("worker-1", 201, SIGTERM)),
          Exit("worker-2", 100, 3)},
         kGang,
         "worker-2 attempt 1: exit code 3",
         {"worker-0", "worker-1"}},
        {"Segfault",
         {Stopped(Exit("chief-0", 205, 0)), Death("worker-0", 200, SIGSEGV)},
         kGang,
         "worker-0 attempt 1: signal 11",
         {"chief-0"}},
        {"KilledByASignalOfSomebodyElse",
         {Death("worker-0", 100, SIGKILL), Stopped(Death("worker-1", 300, SIGKILL))},
         kGang,
         "worker-0 attempt 1: signal 9",
         {"worker-1"}},
        {"OutOfMemory",
         {Stopped(Death("worker-0", 101, SIGTERM)), OutOfMemory("worker-1", 100)},
         kGang,
         "worker-1 attempt 1: signal 9, out of memory",
         {"worker-0"}},
        {"ABrokenConnectionMicrosecondsLaterIsAConsequence",
         {Exit("worker-0", 103, 1), Death("worker-1", 100, SIGKILL), Exit("worker-2", 102, 1)},
         kGang,
         "worker-1 attempt 1: signal 9",
         {"worker-0", "worker-2"}},
        {"AnAbortLaterDoesNotBeatAnExitCodeBefore",
         {Death("worker-0", 150, SIGABRT), Exit("worker-1", 100, 1)},
         kGang,
         "worker-1 attempt 1: exit code 1",
         {"worker-0"}},
        {"SameMomentMemoryBeatsASignal",
         {Death("worker-0", 100, SIGABRT), OutOfMemory("worker-1", 100)},
         kGang,
         "worker-1 attempt 1: signal 9, out of memory",
         {"worker-0"}},
        {"SameMomentASignalBeatsAnExitCode",
         {Exit("worker-0", 100, 1), Death("worker-1", 100, SIGBUS)},
         kGang,
         "worker-1 attempt 1: signal 7",
         {"worker-0"}},
        {"SameMomentABrokenPipeIsLast",
         {Death("worker-0", 100, SIGPIPE), Exit("worker-1", 100, 1)},
         kGang,
         "worker-1 attempt 1: exit code 1",
         {"worker-0"}},
        {"ASignalShortlyAfterBeatsAnExitCode",
         {Exit("worker-0", 100, 1), Death("worker-1", 60'000, SIGSEGV), Exit("worker-2", 200, 1)},
         kGang,
         "worker-1 attempt 1: signal 11",
         {"worker-0", "worker-2"}},
        {"ASignalLongAfterDoesNot",
         {Exit("worker-0", 100, 1), Death("worker-1", 200'000, SIGSEGV)},
         kGang,
         "worker-0 attempt 1: exit code 1",
         {"worker-1"}},
        {"OlderLastWordsShortlyAfterAreOfTheCause",
         {Spoke(Exit("worker-0", 2'000'300, 1), 2'000'200),
          Spoke(Exit("worker-1", 2'040'000, 1), 1'990'000)},
         kGang,
         "worker-1 attempt 1: exit code 1",
         {"worker-0"}},
        {"OlderLastWordsAreOfTheCauseAlsoIfItsEndIsSeenLongAfter",
         {Spoke(Exit("worker-0", 2'000'300, 9), 2'000'200),
          Spoke(Exit("worker-1", 2'000'400, 9), 2'000'300),
          Spoke(Exit("worker-2", 2'600'000, 1), 1'990'000)},
         kGang,
         "worker-2 attempt 1: exit code 1",
         {"worker-0", "worker-1"}},
        {"LastWordsThatAreALittleOlderAreNotIfTheEndIsLongAfter",
         {Spoke(Exit("worker-0", 2'000'300, 9), 2'000'200),
          Spoke(Exit("worker-2", 2'600'000, 1), 1'998'500)},
         kGang,
         "worker-0 attempt 1: exit code 9",
         {"worker-2"}},
        {"NorIfTasksDoNotDependOnEachOther",
         {Spoke(Exit("worker-0", 2'000'300, 9), 2'000'200),
          Spoke(Exit("worker-2", 2'600'000, 1), 1'990'000)},
         kKeepGoing,
         "worker-0 attempt 1: exit code 9",
         {}},
        {"NorAreWordsOfMoreThanASecondBeforeItsEnd",
         {Spoke(Exit("worker-0", 2'000'300, 9), 2'000'200),
          Spoke(Exit("worker-2", 2'600'000, 1), 1'500'000)},
         kGang,
         "worker-0 attempt 1: exit code 9",
         {"worker-2"}},
        {"WhoSaysNothingAtItsEndIsJudgedByTheEnd",
         {Spoke(Exit("worker-0", 2'000'300, 1), 2'000'200),
          Spoke(Exit("worker-1", 2'040'000, 1), 900'000)},
         kGang,
         "worker-0 attempt 1: exit code 1",
         {"worker-1"}},
        {"SameMomentTheLowestRank",
         {Exit("worker-0", 100, 1), Exit("worker-1", 100, 2)},
         kGang,
         "worker-0 attempt 1: exit code 1",
         {"worker-1"}},
        {"OurOwnSignalIsNeverTheCause",
         {Stopped(Death("worker-0", 100, SIGKILL)), Stopped(Exit("worker-1", 100, 1))},
         kGang,
         "none",
         {}},
        {"ATaskThatWasStoppedByHandBeforeIsNoConsequence",
         {Stopped(Death("worker-0", 50, SIGTERM)), Exit("worker-1", 100, 3),
          Stopped(Death("worker-2", 150, SIGTERM))},
         kGang,
         "worker-1 attempt 1: exit code 3",
         {"worker-2"}},
        {"OneThatHadEndedBeforeOurSignalWentOutIsTheCause",
         {Exit("worker-0", 101, 1), Stopped(Death("worker-1", 100, SIGSEGV), 102)},
         kGang,
         "worker-1 attempt 1: signal 11",
         {"worker-0"}},
        {"OneThatDiedAfterOurSignalIsNot",
         {Exit("worker-0", 101, 1), Stopped(Death("worker-1", 103, SIGSEGV), 102)},
         kGang,
         "worker-0 attempt 1: exit code 1",
         {"worker-1"}},
        {"TheChiefsFailure",
         {Exit("chief-0", 100, 20), Stopped(Death("worker-0", 400, SIGKILL)),
          Stopped(Death("ps-0", 400, SIGKILL))},
         kGang,
         "chief-0 attempt 1: exit code 20",
         {"worker-0", "ps-0"}},
        {"TheChiefsSuccess",
         {Exit("chief-0", 100, 0), Stopped(Death("worker-0", 400, SIGKILL)),
          Stopped(Death("ps-0", 400, SIGKILL))},
         kGang,
         "none",
         {}},
        {"AllSucceed", {Exit("worker-0", 100, 0), Exit("worker-1", 90, 0)}, kGang, "none", {}},
        {"TheTimeWasOver",
         {Exit("worker-0", 900, 0), Stopped(Death("worker-1", 1100, SIGTERM)),
          Stopped(Exit("worker-2", 1200, 0))},
         kTimeOver,
         "it ran for 1 s",
         {"worker-1", "worker-2"}},
        {"AFailureBeatsTheTimeThatWasOver",
         {Exit("worker-0", 1050, 3), Stopped(Death("worker-1", 1100, SIGTERM))},
         kTimeOver,
         "worker-0 attempt 1: exit code 3",
         {"worker-1"}},
        {"WithKeepGoingWhatFailsLaterIsNoConsequence",
         {Exit("worker-0", 300, 1), Exit("worker-1", 100, 2), Exit("worker-2", 200, 0)},
         kKeepGoing,
         "worker-1 attempt 1: exit code 2",
         {}},
        {"WithKeepGoingTheTimeDidNotEndOthersBecauseOfAnEarlierFailure",
         {Exit("worker-0", 100, 3), Stopped(Death("worker-1", 1100, SIGTERM)),
          Stopped(Exit("worker-2", 1200, 0))},
         kKeepGoingTimeOver,
         "worker-0 attempt 1: exit code 3",
         {}},
        {"WithKeepGoingTheTimeAloneHasItsConsequences",
         {Exit("worker-0", 100, 0), Stopped(Death("worker-1", 1100, SIGTERM))},
         kKeepGoingTimeOver,
         "it ran for 1 s",
         {"worker-1"}},
        {"WithKeepGoingAStopByHandIsNoConsequenceOfAnEarlierFailure",
         {Exit("worker-0", 100, 3), Stopped(Death("worker-1", 400, SIGTERM))},
         kKeepGoing,
         "worker-0 attempt 1: exit code 3",
         {}},
        {"WithKeepGoingTheChiefsFailureEndsTheOthersAllTheSame",
         {Exit("chief-0", 100, 20), Stopped(Death("worker-0", 400, SIGKILL)),
          Exit("worker-1", 300, 1)},
         kKeepGoingChief,
         "chief-0 attempt 1: exit code 20",
         {"worker-0"}},
        {"WithKeepGoingTheChiefsEndIsNoConsequenceOfAnEarlierFailure",
         {Exit("chief-0", 300, 0), Exit("worker-0", 100, 3),
          Stopped(Death("worker-1", 400, SIGTERM))},
         kKeepGoingChief,
         "worker-0 attempt 1: exit code 3",
         {}},
        {"ThoseThatStillRunAreNotYetConsequences",
         {Exit("worker-0", 100, 3), Running("worker-1"), Stopped(Death("worker-2", 150, SIGTERM))},
         kGang,
         "worker-0 attempt 1: exit code 3",
         {"worker-2"}},
        {"TheAttemptThatFailedLastIsNamed",
         {Attempt(4, Exit("worker-0", 100, 3)), Attempt(4, Stopped(Exit("worker-1", 150, 1)))},
         kGang,
         "worker-0 attempt 4: exit code 3",
         {"worker-1"}},
        {"AnEndBeforeTheLastRestartIsForgotten",
         {Attempt(1, Exit("worker-0", 400, 3)), Attempt(2, Exit("worker-1", 600, 4))},
         kSince500,
         "worker-1 attempt 2: exit code 4",
         {}},
    }),
    [](const auto& info) { return info.param.claim; });

TEST(LastEndTest, TakesTheLastAttemptOfTheTask) {
  msg::TaskT task;
  task.id = "j-abcde/worker-1";
  task.state = msg::TaskState::Failed;
  EXPECT_EQ(LastEnd(task).ended_us, 0);
  for (std::uint32_t number : {1u, 2u}) {
    auto attempt = std::make_unique<msg::AttemptT>();
    attempt->number = number;
    attempt->ended_us = 100 * number;
    attempt->exit_code = 3;
    attempt->reason = "exit code 3";
    attempt->was_stopped = number == 2;
    task.attempts.push_back(std::move(attempt));
  }
  const TaskEnd end = LastEnd(task);
  EXPECT_EQ(end.task, "worker-1");
  EXPECT_EQ(end.attempt, 2);
  EXPECT_EQ(end.ended_us, 200);
  EXPECT_EQ(end.reason, "exit code 3");
  EXPECT_TRUE(end.was_stopped);
  EXPECT_FALSE(end.success);
}

TEST(LastEndTest, AProgramThatCouldNotStartHasFailedThoughItHasNoExitCode) {
  msg::TaskT task;
  task.id = "j-abcde/worker-0";
  task.state = msg::TaskState::Failed;
  task.attempts.push_back(std::make_unique<msg::AttemptT>());
  task.attempts.back()->ended_us = 1;
  EXPECT_FALSE(LastEnd(task).success);
  task.state = msg::TaskState::Exited;
  EXPECT_TRUE(LastEnd(task).success);
  task.attempts.back()->shim_lost = true;
  EXPECT_FALSE(LastEnd(task).success);
}

}  // namespace
}  // namespace launcher
