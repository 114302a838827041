#include "launcher/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {
namespace {

using msg::RestartPolicy;
using msg::TaskState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const event::Ended kSuccess{.success = true, .lost = false, .how = "exit code 0"};
const event::Ended kFailure{.success = false, .lost = false, .how = "exit code 3"};
const event::Ended kLost{.success = false, .lost = true, .how = "the shim was killed"};

TaskStatus In(TaskState state, int attempt = 1) {
  TaskStatus status;
  status.state = state;
  status.attempt = attempt;
  return status;
}

Decision Apply(const TaskStatus& status, const Event& event, RestartPolicy policy,
               int max_restarts) {
  const RestartRules rules{.policy = policy, .max_restarts = max_restarts};
  return Decide(status, rules, event, absl::Seconds(100), 0);
}

struct Row {
  std::string claim;
  TaskState from;
  Event event;
  RestartPolicy policy;
  int max_restarts;
  TaskState to;
  std::vector<Action> actions;
  std::string reason;
};

class SupervisorTableTest : public ::testing::TestWithParam<Row> {};

TEST_P(SupervisorTableTest, Decides) {
  const Row& row = GetParam();
  const Decision decision = Apply(In(row.from), row.event, row.policy, row.max_restarts);
  EXPECT_EQ(decision.status.state, row.to) << row.claim;
  EXPECT_EQ(decision.actions, row.actions) << row.claim;
  EXPECT_EQ(decision.status.reason, row.reason) << row.claim;
}

const event::StopAsked kStop{absl::Seconds(5), "because"};
using enum TaskState;
constexpr auto kNever = RestartPolicy::Never;
constexpr auto kOnFailure = RestartPolicy::OnFailure;
constexpr auto kAlways = RestartPolicy::Always;
const std::vector<Action> kRestartNow = {action::SetTimer{absl::ZeroDuration()}};
const std::string kAgain = "restarts after exit code 3";

INSTANTIATE_TEST_SUITE_P(
    Table, SupervisorTableTest,
    ::testing::ValuesIn(std::vector<Row>{
        {"a launched task starts",
         Pending,
         event::Launched{},
         kNever,
         0,
         Starting,
         {action::StartAttempt{2}},
         ""},
        {"a delay that is over starts it",
         Pending,
         event::TimerFired{},
         kNever,
         0,
         Starting,
         {action::StartAttempt{2}},
         ""},
        {"a late timer does nothing", Running, event::TimerFired{}, kNever, 0, Running, {}, ""},
        {"a program that runs is running", Starting, event::Running{}, kNever, 0, Running, {}, ""},
        {"success ends it", Running, kSuccess, kNever, 0, Exited, {}, ""},
        {"failure ends it", Running, kFailure, kNever, 0, Failed, {}, "exit code 3"},
        {"what could not start has failed",
         Starting,
         kFailure,
         kNever,
         0,
         Failed,
         {},
         "exit code 3"},
        {"an end that nobody saw is a loss",
         Running,
         kLost,
         kNever,
         0,
         Lost,
         {},
         "the shim was killed"},
        {"never means never", Running, kFailure, kNever, 5, Failed, {}, "exit code 3"},
        {"on_failure restarts a failure", Running, kFailure, kOnFailure, 1, Pending, kRestartNow,
         kAgain},
        {"on_failure restarts a loss", Running, kLost, kOnFailure, 1, Pending, kRestartNow,
         "restarts after the shim was killed"},
        {"on_failure leaves a success", Running, kSuccess, kOnFailure, 1, Exited, {}, ""},
        {"no restarts left", Running, kFailure, kOnFailure, 0, Failed, {}, "exit code 3"},
        {"always restarts a success", Running, kSuccess, kAlways, 1, Pending, kRestartNow,
         "restarts after exit code 0"},
        {"always ends when none are left", Running, kSuccess, kAlways, 0, Exited, {}, ""},
        {"a stop is passed on",
         Running,
         kStop,
         kAlways,
         9,
         Stopping,
         {action::StopAttempt{absl::Seconds(5)}},
         ""},
        {"a second stop too",
         Stopping,
         kStop,
         kAlways,
         9,
         Stopping,
         {action::StopAttempt{absl::Seconds(5)}},
         ""},
        {"a stop waits for the start", Starting, kStop, kAlways, 9, Starting, {}, ""},
        {"a stop ends the wait for a restart",
         Pending,
         kStop,
         kAlways,
         9,
         Exited,
         {action::CancelTimer{}},
         "stopped between two attempts"},
        {"an ended task stays ended when stopped", Failed, kStop, kAlways, 9, Failed, {}, ""},
        {"an ended task does not end again", Exited, kFailure, kAlways, 9, Exited, {}, ""},
        {"an ended task does not start", Lost, event::Launched{}, kAlways, 9, Lost, {}, ""},
    }));

TEST(SupervisorTest, AStoppedTaskIsNotRestartedAndSaysSo) {
  auto status = Apply(In(Running), kStop, kAlways, 9).status;
  EXPECT_TRUE(status.stop_requested);
  EXPECT_EQ(status.stop_reason, "because");
  const auto decision = Apply(status, kFailure, kAlways, 9);
  EXPECT_EQ(decision.status.state, Exited);
  EXPECT_EQ(decision.status.reason, "stopped: exit code 3");
  EXPECT_THAT(decision.actions, IsEmpty());
}

TEST(SupervisorTest, AStopDuringTheStartIsSentOnceItRuns) {
  const auto asked = Apply(In(Starting), kStop, kNever, 0).status;
  const auto decision = Apply(asked, event::Running{}, kNever, 0);
  EXPECT_EQ(decision.status.state, Stopping);
  EXPECT_THAT(decision.actions, ElementsAre(Action(action::StopAttempt{absl::Seconds(5)})));
}

// Runs a task that fails at once, again and again; returns the delays before its restarts.
std::vector<absl::Duration> CrashLoop(const RestartRules& rules, TaskStatus* status,
                                      double random) {
  std::vector<absl::Duration> delays;
  for (Event next = event::Launched{};; next = event::TimerFired{}) {
    *status = Decide(*status, rules, next, absl::ZeroDuration(), random).status;
    *status = Decide(*status, rules, event::Running{}, absl::ZeroDuration(), random).status;
    auto decision = Decide(*status, rules, kFailure, absl::Seconds(1), random);
    *status = decision.status;
    if (decision.actions.empty()) return delays;
    delays.push_back(std::get<action::SetTimer>(decision.actions[0]).delay);
  }
}

TEST(SupervisorTest, GivesUpAfterTheLastRestart) {
  TaskStatus status;
  CrashLoop({.policy = kOnFailure, .max_restarts = 3}, &status, 0);
  EXPECT_EQ(status.state, Failed);
  EXPECT_EQ(status.attempt, 4);
  EXPECT_EQ(status.reason, "exit code 3 (gave up after 3 restarts)");
}

TEST(SupervisorTest, BacksOffExponentiallyUpToALimit) {
  TaskStatus status;
  const RestartRules rules{.policy = kOnFailure,
                           .max_restarts = 6,
                           .first_delay = absl::Seconds(1),
                           .longest_delay = absl::Seconds(5)};
  EXPECT_THAT(CrashLoop(rules, &status, 0),
              ElementsAre(absl::ZeroDuration(), absl::Seconds(1), absl::Seconds(2),
                          absl::Seconds(4), absl::Seconds(5), absl::Seconds(5)));
  status = {};
  EXPECT_EQ(CrashLoop(rules, &status, 0.5)[1], absl::Milliseconds(750));
}

TEST(SupervisorTest, AStableRunForgetsEarlierFailures) {
  TaskStatus status = In(Running);
  status.quick_failures = 7;
  status.running_since = absl::ZeroDuration();
  const auto decision = Apply(status, kFailure, kOnFailure, 9);
  EXPECT_EQ(decision.actions, kRestartNow);
  EXPECT_EQ(decision.status.quick_failures, 1);
}

TEST(SupervisorTest, DelaysStayFiniteHoweverManyFailures) {
  for (int failures = 1; failures < 200; ++failures) {
    EXPECT_LE(RestartDelay(failures, absl::Milliseconds(100), absl::Seconds(30), 0),
              absl::Seconds(30));
  }
}

}  // namespace
}  // namespace launcher
