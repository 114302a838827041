#include "launcher/testing/parent/task_fate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "launcher/job/root_cause.h"
#include "launcher/testing/call/child_message.h"
#include "launcher/testing/spec/codec.h"
#include "launcher/testing/spec/run_result.h"

namespace launcher::testing {
namespace {

using ::testing::ElementsAre;

TaskFate Ended(const std::string& task, const std::string& how, std::int64_t ended_us) {
  TaskFate fate;
  fate.task = task;
  fate.end = TaskEnd();
  fate.end->task = task;
  fate.end->ended_us = ended_us;
  fate.end->success = how == "exit code 0";
  fate.end->reason = how;
  return fate;
}

TaskFate Returned(const std::string& task, absl::Status status, std::uint64_t number) {
  TaskFate fate = Ended(task, status.ok() ? "exit code 0" : "exit code 1", 1);
  fate.last_number = number;
  fate.last = CallResult{std::move(status), EncodedValue::Of(task)};
  return fate;
}

TEST(RunOutcomeTest, HasTheValuesInTheOrderOfTheirReturn) {
  const Outcome outcome = MakeOutcome(
      {}, {Returned("a-0", absl::OkStatus(), 2), Returned("b-0", absl::OkStatus(), 1)}, false, "");
  EXPECT_TRUE(outcome.ok());
  EXPECT_THAT(*outcome.result.Values<std::string>(), ElementsAre("b-0", "a-0"));
}

TEST(RunOutcomeTest, HasTheErrorThatWasReturnedFirst) {
  const Outcome outcome = MakeOutcome({},
                                      {Returned("a-0", absl::InternalError("late"), 2),
                                       Returned("b-0", absl::DataLossError("early"), 1)},
                                      /*timed_out=*/true, "");
  EXPECT_EQ(outcome.error, RunError::kTaskFailed) << "it beats the time-out";
  EXPECT_EQ(outcome.status, absl::DataLossError("b-0: early"));
}

TEST(RunOutcomeTest, NamesTheExitThatCameFirstAndThenTheOthers) {
  const Outcome outcome =
      MakeOutcome({},
                  {Ended("a-0", "exit code 1", 9'000'000), Ended("b-0", "exit code 0", 5'000'000),
                   Ended("c-0", "exit code 3", 1'000'000)},
                  false, "");
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
  EXPECT_EQ(outcome.status.message(),
            "Subprocess c-0 exited with exit code 3; Subprocess a-0 exited with exit code 1");
}

TEST(RunOutcomeTest, TakesAStopForNoUnexpectedExitUnlessTheTimeWasOver) {
  TaskFate stopped = Ended("a-0", "signal 9 (Killed)", 1);
  stopped.end->was_stopped = true;
  EXPECT_TRUE(MakeOutcome({}, {stopped}, false, "why").ok());
  stopped.time_was_over = true;
  EXPECT_EQ(MakeOutcome({}, {stopped}, false, "why").status, absl::AbortedError("why: killed a-0"));
}

}  // namespace
}  // namespace launcher::testing
