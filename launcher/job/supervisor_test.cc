#include "launcher/job/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {
namespace {

using msg::RestartPolicy;
using msg::TaskState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

event::Ended Success(int task = 0) { return {.task = task, .success = true, .how = "exit code 0"}; }
event::Ended Failure(int task = 0) { return {.task = task, .how = "exit code 3"}; }
const event::Ended kSuccess = Success();
const event::Ended kFailure = Failure();
const event::Ended kLost{.task = 0, .lost = true, .how = "the shim was killed"};

// Makes the status of a job with one task.
JobStatus In(TaskState state, int attempt = 1) {
  JobStatus status;
  status.tasks.resize(1);
  status.tasks[0].state = state;
  status.tasks[0].attempt = attempt;
  status.tasks[0].delayed = state == TaskState::Pending;
  if (state == TaskState::Failed || state == TaskState::Lost) status.first_failure = 0;
  return status;
}

JobRules RulesOf(RestartPolicy policy, int max_restarts) {
  JobRules rules;
  rules.tasks = {{.name = "worker-0"}};
  rules.restart = {.policy = policy, .max_restarts = max_restarts};
  return rules;
}

Decision Apply(const JobStatus& status, const Event& event, RestartPolicy policy,
               int max_restarts) {
  return Decide(status, RulesOf(policy, max_restarts), event, absl::Seconds(100), 0);
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
  const JobStatus before = In(row.from);
  const Decision decision = Apply(before, row.event, row.policy, row.max_restarts);
  const TaskStatus& task = decision.status.tasks[0];
  EXPECT_EQ(task.state, row.to) << row.claim;
  EXPECT_EQ(decision.actions, row.actions) << row.claim;
  EXPECT_EQ(task.reason, row.reason) << row.claim;
  EXPECT_EQ(StateOf(decision.status), row.to) << row.claim;
  EXPECT_EQ(decision.changed.empty(), task == before.tasks[0]) << row.claim;
}

const event::StopAsked kStop{kWholeJob, absl::Seconds(5), "because"};
using enum TaskState;
constexpr auto kNever = RestartPolicy::Never;
constexpr auto kOnFailure = RestartPolicy::OnFailure;
constexpr auto kAlways = RestartPolicy::Always;
const std::vector<Action> kRestartNow = {action::StartAttempt{0, 2}};

INSTANTIATE_TEST_SUITE_P(
    Table, SupervisorTableTest,
    ::testing::ValuesIn(std::vector<Row>{
        {"a delay that is over starts it",
         Pending,
         event::TimerFired{0},
         kNever,
         0,
         Starting,
         {action::StartAttempt{0, 2}},
         ""},
        {"a late timer does nothing", Running, event::TimerFired{0}, kNever, 0, Running, {}, ""},
        {"a program that runs is running", Starting, event::Running{0}, kNever, 0, Running, {}, ""},
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
        {"on_failure restarts a failure at once", Running, kFailure, kOnFailure, 1, Starting,
         kRestartNow, ""},
        {"on_failure restarts a loss", Running, kLost, kOnFailure, 1, Starting, kRestartNow, ""},
        {"on_failure leaves a success", Running, kSuccess, kOnFailure, 1, Exited, {}, ""},
        {"no restarts left", Running, kFailure, kOnFailure, 0, Failed, {}, "exit code 3"},
        {"always restarts a success", Running, kSuccess, kAlways, 1, Starting, kRestartNow, ""},
        {"always ends when none are left", Running, kSuccess, kAlways, 0, Exited, {}, ""},
        {"a stop is passed on",
         Running,
         kStop,
         kAlways,
         9,
         Stopping,
         {action::StopAttempt{0, absl::Seconds(5)}},
         ""},
        {"a second stop too",
         Stopping,
         kStop,
         kAlways,
         9,
         Stopping,
         {action::StopAttempt{0, absl::Seconds(5)}},
         ""},
        {"a stop waits for the start", Starting, kStop, kAlways, 9, Starting, {}, ""},
        {"a stop ends the wait for a restart",
         Pending,
         kStop,
         kAlways,
         9,
         Exited,
         {action::CancelTimer{0}},
         "stopped between two attempts"},
        {"an ended task stays ended when stopped", Failed, kStop, kAlways, 9, Failed, {}, ""},
        {"an ended task does not end again", Exited, kFailure, kAlways, 9, Exited, {}, ""},
        {"an ended task does not start", Lost, event::Launched{}, kAlways, 9, Lost, {}, ""},
    }));

TEST(SupervisorTest, AStoppedTaskIsNotRestartedAndSaysSo) {
  auto status = Apply(In(Running), kStop, kAlways, 9).status;
  EXPECT_TRUE(status.stop_requested);
  EXPECT_EQ(status.tasks[0].stop_reason, "because");
  const auto decision = Apply(status, kFailure, kAlways, 9);
  EXPECT_EQ(StateOf(decision.status), Exited);
  EXPECT_EQ(ReasonOf(decision.status, [](int) { return "worker-0"; }), "stopped: exit code 3");
  EXPECT_THAT(decision.actions, IsEmpty());
}

TEST(SupervisorTest, AStopDuringTheStartIsSentOnceItRuns) {
  const auto asked = Apply(In(Starting), kStop, kNever, 0).status;
  const auto decision = Apply(asked, event::Running{0}, kNever, 0);
  EXPECT_EQ(decision.status.tasks[0].state, Stopping);
  EXPECT_THAT(decision.actions, ElementsAre(Action(action::StopAttempt{0, absl::Seconds(5)})));
}

TEST(SupervisorTest, ARestartAfterADelayWaitsForItsTimer) {
  JobStatus status = In(Running);
  status.tasks[0].quick_failures = 1;
  status.tasks[0].running_since = absl::Seconds(99);
  const auto decision = Apply(status, kFailure, kOnFailure, 9);
  EXPECT_EQ(StateOf(decision.status), Pending);
  EXPECT_EQ(decision.status.tasks[0].reason, "restarts after exit code 3");
  EXPECT_THAT(decision.actions, ElementsAre(Action(action::SetTimer{0, absl::Milliseconds(100)})));
  EXPECT_EQ(Apply(decision.status, event::TimerFired{0}, kOnFailure, 9).actions, kRestartNow);
}

// Runs a task that repeatedly fails at once; returns the delays before its restarts.
std::vector<absl::Duration> CrashLoop(const RestartRules& restart, JobStatus* status,
                                      double random) {
  JobRules rules = RulesOf(kNever, 0);
  rules.restart = restart;
  status->tasks.resize(1);
  std::vector<absl::Duration> delays;
  const auto feed = [&](const Event& event, absl::Duration now) {
    Decision decision = Decide(std::move(*status), rules, event, now, random);
    *status = std::move(decision.status);
    return decision.actions;
  };
  feed(event::Launched{}, absl::ZeroDuration());
  for (;;) {
    feed(event::Running{0}, absl::ZeroDuration());
    const auto actions = feed(kFailure, absl::Seconds(1));
    if (actions.empty()) return delays;
    const auto* const timer = std::get_if<action::SetTimer>(actions.data());
    delays.push_back(timer == nullptr ? absl::ZeroDuration() : timer->delay);
    if (timer != nullptr) feed(event::TimerFired{0}, absl::ZeroDuration());
  }
}

TEST(SupervisorTest, GivesUpAfterTheLastRestart) {
  JobStatus status;
  CrashLoop({.policy = kOnFailure, .max_restarts = 3}, &status, 0);
  EXPECT_EQ(StateOf(status), Failed);
  EXPECT_EQ(status.tasks[0].attempt, 4);
  EXPECT_EQ(status.tasks[0].reason, "exit code 3 (gave up after 3 restarts)");
}

TEST(SupervisorTest, BacksOffExponentiallyUpToALimit) {
  JobStatus status;
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
  JobStatus status = In(Running);
  status.tasks[0].quick_failures = 7;
  const auto decision = Apply(status, kFailure, kOnFailure, 9);
  EXPECT_EQ(decision.actions, kRestartNow);
  EXPECT_EQ(decision.status.tasks[0].quick_failures, 1);
}

TEST(SupervisorTest, OnlyRestartsWithinTheWindowCount) {
  JobRules rules = RulesOf(kOnFailure, 2);
  rules.restart.window = absl::Seconds(60);
  JobStatus status = In(Running);
  for (int second = 0; second < 1000; second += 31) {  // Two in each window.
    status = Decide(status, rules, kFailure, absl::Seconds(second), 0).status;
    ASSERT_EQ(StateOf(status), Starting) << second;
    status = Decide(status, rules, event::Running{0}, absl::Seconds(second), 0).status;
  }
  status = Decide(status, rules, kFailure, absl::Seconds(1000), 0).status;
  EXPECT_EQ(StateOf(status), Failed);
}

// True if the jobs' own states are equal, without their tasks.
bool IsSameJob(const JobStatus& a, const JobStatus& b) {
  return a.phase == b.phase && a.ending == b.ending && a.time_is_over == b.time_is_over &&
         a.stop_requested == b.stop_requested && a.first_failure == b.first_failure &&
         a.restarts == b.restarts && a.quick_failures == b.quick_failures;
}

// Simulates a job with several tasks: the actions of Decide() are recorded, not carried out.
class JobTest : public ::testing::Test {
 protected:
  void Make(const std::vector<std::string>& names) {
    for (const std::string& name : names) rules_.tasks.push_back({.name = name});
    status_.tasks.resize(names.size());
  }
  // Feeds an event; returns descriptions of the actions.
  std::vector<std::string> Feed(const Event& event) {
    Decision decision = Decide(std::move(status_), rules_, event, now_, 0);
    status_ = std::move(decision.status);
    std::vector<std::string> words;
    for (const Action& action : decision.actions) {
      words.push_back(std::visit([this](const auto& one) { return Words(one); }, action));
    }
    return words;
  }
  // Launches the job, and feeds Running for all tasks that were started.
  void Run() {
    Feed(event::Launched{});
    RunStarted();
  }
  void RunStarted() {
    for (std::size_t i = 0; i < status_.tasks.size(); ++i) {
      if (status_.tasks[i].state == Starting) Feed(event::Running{static_cast<int>(i)});
    }
  }
  std::string Words(const action::AskForGrant& ask) const { return "ask " + Name(ask.task); }
  std::string Words(const action::StartAttempt& start) const {
    return absl::StrCat("start ", Name(start.task), " ", start.number);
  }
  std::string Words(const action::StopAttempt& stop) const { return "stop " + Name(stop.task); }
  std::string Words(const action::SetTimer& timer) const {
    return absl::StrCat("timer ", Name(timer.task), " ", absl::ToInt64Milliseconds(timer.delay));
  }
  std::string Words(const action::CancelTimer& timer) const { return "cancel " + Name(timer.task); }
  std::string Name(int task) const {
    return task == kWholeJob ? "job" : rules_.tasks[static_cast<std::size_t>(task)].name;
  }
  const TaskStatus& task(int i) const { return status_.tasks[static_cast<std::size_t>(i)]; }
  std::string Reason() const {
    return ReasonOf(status_, [this](int i) { return Name(i); });
  }

  JobRules rules_;
  JobStatus status_;
  absl::Duration now_ = absl::Seconds(100);
};

TEST_F(JobTest, AllTasksStartAtOnceAndTheJobEndsWithTheLast) {
  Make({"worker-0", "worker-1"});
  EXPECT_THAT(Feed(event::Launched{}), ElementsAre("start worker-0 1", "start worker-1 1"));
  EXPECT_EQ(StateOf(status_), Starting);
  RunStarted();
  EXPECT_EQ(StateOf(status_), Running);
  EXPECT_THAT(Feed(Success(0)), IsEmpty());
  EXPECT_EQ(StateOf(status_), Running);
  EXPECT_THAT(Feed(Success(1)), IsEmpty());
  EXPECT_EQ(StateOf(status_), Exited);
  EXPECT_EQ(Reason(), "");
}

TEST_F(JobTest, AFailureEndsTheOthersAndIsTheJobs) {
  Make({"worker-0", "worker-1", "worker-2"});
  Run();
  EXPECT_THAT(Feed(Failure(1)), ElementsAre("stop worker-0", "stop worker-2"));
  EXPECT_EQ(StateOf(status_), Stopping);
  Feed(event::Ended{.task = 0, .how = "signal 15 (Terminated)"});
  Feed(event::Ended{.task = 2, .how = "signal 15 (Terminated)"});
  EXPECT_EQ(StateOf(status_), Failed);
  EXPECT_EQ(Reason(), "worker-1: exit code 3");
  EXPECT_EQ(task(0).state, Exited);
  EXPECT_EQ(task(0).reason, "stopped because worker-1 has failed: signal 15 (Terminated)");
}

TEST_F(JobTest, WithKeepGoingTheOthersGoOnAndTheFirstFailureIsTheJobs) {
  Make({"worker-0", "worker-1", "worker-2"});
  rules_.keep_going = true;
  Run();
  EXPECT_THAT(Feed(Failure(2)), IsEmpty());
  EXPECT_THAT(Feed(Failure(0)), IsEmpty());
  EXPECT_EQ(StateOf(status_), Running);
  Feed(Success(1));
  EXPECT_EQ(StateOf(status_), Failed);
  EXPECT_EQ(Reason(), "worker-2: exit code 3");
}

TEST_F(JobTest, TheChiefsEndEndsTheJobAfterTheCourtesy) {
  Make({"chief-0", "worker-0", "ps-0"});
  rules_.chief = 0;
  Run();
  EXPECT_THAT(Feed(Success(0)), ElementsAre("timer job 3000"));
  EXPECT_THAT(Feed(Success(1)), IsEmpty());
  EXPECT_THAT(Feed(event::TimerFired{kWholeJob}), ElementsAre("stop ps-0"));
  Feed(event::Ended{.task = 2, .how = "signal 15 (Terminated)"});
  EXPECT_EQ(StateOf(status_), Exited);
  EXPECT_EQ(Reason(), "");
  EXPECT_EQ(task(2).reason, "stopped because chief-0 has ended: signal 15 (Terminated)");
}

TEST_F(JobTest, AChiefThatFailsIsTheJobsFailure) {
  Make({"chief-0", "worker-0"});
  rules_.chief = 0;
  Run();
  EXPECT_THAT(Feed(Failure(0)), ElementsAre("timer job 3000"));
  Feed(event::TimerFired{kWholeJob});
  Feed(event::Ended{.task = 1, .how = "signal 15 (Terminated)"});
  EXPECT_EQ(StateOf(status_), Failed);
  EXPECT_EQ(Reason(), "chief-0: exit code 3");
}

TEST_F(JobTest, AChiefIsRestartedLikeOthers) {
  Make({"chief-0", "worker-0"});
  rules_.chief = 0;
  rules_.restart = {.policy = kOnFailure, .max_restarts = 1};
  Run();
  EXPECT_THAT(Feed(Failure(0)), ElementsAre("start chief-0 2"));
}

TEST_F(JobTest, AGangStopsAndStartsTogether) {
  Make({"worker-0", "worker-1", "worker-2"});
  rules_.gang = true;
  rules_.restart = {.policy = kOnFailure, .max_restarts = 1};
  Run();
  Feed(Success(2));
  EXPECT_THAT(Feed(Failure(0)), ElementsAre("stop worker-1"));
  EXPECT_EQ(StateOf(status_), Stopping);
  EXPECT_THAT(Feed(Failure(1)),
              ElementsAre("start worker-0 2", "start worker-1 2", "start worker-2 2"));
  EXPECT_EQ(status_.restarts, 1);
  RunStarted();
  EXPECT_THAT(Feed(Failure(2)), ElementsAre("stop worker-0", "stop worker-1"));
  Feed(Failure(0));
  Feed(Failure(1));
  EXPECT_EQ(StateOf(status_), Failed);
  EXPECT_EQ(Reason(), "worker-2: exit code 3 (gave up after 1 restart)");
}

TEST_F(JobTest, TwoFailuresOfAGangAreOneRestart) {
  Make({"worker-0", "worker-1", "worker-2"});
  rules_.gang = true;
  rules_.restart = {.policy = kOnFailure, .max_restarts = 5};
  Run();
  Feed(Failure(0));
  Feed(Failure(1));
  EXPECT_THAT(Feed(Failure(2)),
              ElementsAre("start worker-0 2", "start worker-1 2", "start worker-2 2"));
  EXPECT_EQ(status_.restarts, 1);
}

TEST_F(JobTest, AGangThatFailsAgainAtOnceWaits) {
  Make({"worker-0", "worker-1"});
  rules_.gang = true;
  rules_.restart = {.policy = kOnFailure, .max_restarts = 5};
  Run();
  Feed(Failure(0));
  Feed(Failure(1));
  RunStarted();
  Feed(Failure(0));
  EXPECT_THAT(Feed(Failure(1)), ElementsAre("timer job 100"));
  EXPECT_EQ(StateOf(status_), Pending);
  EXPECT_THAT(Feed(event::TimerFired{kWholeJob}),
              ElementsAre("start worker-0 3", "start worker-1 3"));
}

TEST_F(JobTest, AGangThatIsStoppedWhileItStopsDoesNotStartAgain) {
  Make({"worker-0", "worker-1"});
  rules_.gang = true;
  rules_.restart = {.policy = kOnFailure, .max_restarts = 5};
  Run();
  Feed(Failure(0));
  EXPECT_THAT(Feed(event::StopAsked{kWholeJob, absl::Seconds(1), "x"}),
              ElementsAre("cancel job", "stop worker-1"));
  EXPECT_THAT(Feed(Failure(1)), IsEmpty());
  EXPECT_EQ(StateOf(status_), Exited);
  EXPECT_EQ(Reason(), "stopped");
}

TEST_F(JobTest, ATaskWaitsForThoseItNames) {
  Make({"ps-0", "ps-1", "worker-0"});
  rules_.tasks[0].says_ready = rules_.tasks[1].says_ready = true;
  rules_.tasks[2].waits = {
      {.tasks = {0, 1}, .milestone = msg::Milestone::Ready, .words = "ps to be ready"}};
  EXPECT_THAT(Feed(event::Launched{}), ElementsAre("start ps-0 1", "start ps-1 1"));
  EXPECT_EQ(task(2).reason, "waits for ps to be ready");
  RunStarted();
  EXPECT_EQ(Reason(), "worker-0: waits for ps to be ready");
  EXPECT_THAT(Feed(event::Ready{1}), IsEmpty());
  EXPECT_THAT(Feed(event::Ready{0}), ElementsAre("start worker-0 1"));
}

TEST_F(JobTest, ATaskWaitsForTheStartOrTheEndOfOthers) {
  Make({"a-0", "b-0", "c-0"});
  rules_.tasks[1].waits = {
      {.tasks = {0}, .milestone = msg::Milestone::Started, .words = "a to start"}};
  rules_.tasks[2].waits = {
      {.tasks = {0}, .milestone = msg::Milestone::Completed, .words = "a to complete"}};
  EXPECT_THAT(Feed(event::Launched{}), ElementsAre("start a-0 1"));
  EXPECT_THAT(Feed(event::Running{0}), ElementsAre("start b-0 1"));
  EXPECT_THAT(Feed(Success(0)), ElementsAre("start c-0 1"));
}

TEST_F(JobTest, WhatWaitsForATaskThatFailsFailsToo) {
  Make({"a-0", "b-0"});
  rules_.keep_going = true;
  rules_.tasks[1].waits = {
      {.tasks = {0}, .milestone = msg::Milestone::Completed, .words = "a to complete"}};
  Run();
  EXPECT_THAT(Feed(Failure(0)), IsEmpty());
  EXPECT_EQ(task(1).state, Failed);
  EXPECT_EQ(task(1).reason, "waited for a to complete, and a-0 has ended without that");
  EXPECT_EQ(Reason(), "a-0: exit code 3");
}

TEST_F(JobTest, ResourcesAreAskedForOnceAndKeptOverRestarts) {
  Make({"worker-0"});
  rules_.tasks[0].needs_grant = true;
  rules_.restart = {.policy = kOnFailure, .max_restarts = 5};
  EXPECT_THAT(Feed(event::Launched{}), ElementsAre("ask worker-0"));
  EXPECT_EQ(task(0).reason, "waits for its resources");
  EXPECT_THAT(Feed(event::Granted{0}), ElementsAre("start worker-0 1"));
  RunStarted();
  EXPECT_THAT(Feed(Failure(0)), ElementsAre("start worker-0 2"));
}

TEST_F(JobTest, AllTasksAskForResourcesAtOnceWhateverElseTheyWaitFor) {
  Make({"ps-0", "worker-0"});
  rules_.tasks[0].needs_grant = rules_.tasks[1].needs_grant = true;
  rules_.tasks[1].waits = {
      {.tasks = {0}, .milestone = msg::Milestone::Started, .words = "ps to start"}};
  EXPECT_THAT(Feed(event::Launched{}), ElementsAre("ask ps-0", "ask worker-0"));
  EXPECT_THAT(Feed(event::Granted{1}), IsEmpty());
  EXPECT_EQ(task(1).reason, "waits for ps to start");
  EXPECT_THAT(Feed(event::Granted{0}), ElementsAre("start ps-0 1"));
  EXPECT_THAT(Feed(event::Running{0}), ElementsAre("start worker-0 1"));
}

TEST_F(JobTest, WhenItsTimeIsOverNothingIsRestarted) {
  Make({"worker-0", "worker-1"});
  rules_.restart = {.policy = kAlways, .max_restarts = 5};
  Run();
  Feed(Failure(0));
  RunStarted();
  Feed(Failure(0));  // Waits for its second restart.
  EXPECT_THAT(Feed(event::TimeOver{"it ran for 10 s"}),
              ElementsAre("cancel worker-0", "stop worker-1"));
  Feed(event::Ended{.task = 1, .how = "signal 15 (Terminated)"});
  EXPECT_EQ(StateOf(status_), Failed);
  EXPECT_EQ(Reason(), "it ran for 10 s");
  EXPECT_THAT(Feed(event::TimeOver{"it ran for 10 s"}), IsEmpty());
}

TEST_F(JobTest, AnErrorBeatsTheTime) {
  Make({"worker-0", "worker-1"});
  rules_.keep_going = true;
  Run();
  Feed(Failure(0));
  Feed(event::TimeOver{"it ran for 10 s"});
  Feed(event::Ended{.task = 1, .how = "signal 15 (Terminated)"});
  EXPECT_EQ(Reason(), "worker-0: exit code 3");
}

TEST_F(JobTest, OneTaskIsStoppedAndTheOthersGoOn) {
  Make({"worker-0", "worker-1"});
  rules_.restart = {.policy = kAlways, .max_restarts = 5};
  Run();
  EXPECT_THAT(Feed(event::StopAsked{1, absl::Seconds(1), "x"}), ElementsAre("stop worker-1"));
  EXPECT_THAT(Feed(Failure(1)), IsEmpty());
  EXPECT_EQ(task(1).state, Exited);
  EXPECT_EQ(StateOf(status_), Running);
}

TEST_F(JobTest, ARestartThatIsAskedForIsNotCounted) {
  Make({"worker-0", "worker-1"});
  Run();
  EXPECT_THAT(Feed(event::RestartAsked{1, absl::Seconds(1)}), ElementsAre("stop worker-1"));
  EXPECT_THAT(Feed(Failure(1)), ElementsAre("start worker-1 2"));
  EXPECT_EQ(task(1).restarts, 0);
}

// In whichever order they end, the milestones of the old attempt of `a` do not count.
TEST_F(JobTest, WhoRestartsWaitsForTheNextAttemptOfThoseItNames) {
  for (const auto milestone :
       {msg::Milestone::Started, msg::Milestone::Ready, msg::Milestone::Completed}) {
    for (const bool b_ends_first : {true, false}) {
      rules_ = {};
      status_ = {};
      Make({"b-0", "a-0"});
      rules_.tasks[1].says_ready = true;
      rules_.tasks[0].waits = {{.tasks = {1}, .milestone = milestone, .words = "a"}};
      const bool completes = milestone == msg::Milestone::Completed;
      Run();
      Feed(event::Ready{1});
      if (completes) Feed(Success(1));
      RunStarted();
      EXPECT_THAT(Feed(event::RestartAsked{kWholeJob, absl::Seconds(1)}),
                  ElementsAre("stop b-0", completes ? "start a-0 2" : "stop a-0"));
      if (b_ends_first || completes) {
        EXPECT_THAT(Feed(Failure(0)), IsEmpty());
      }
      if (!completes) {
        EXPECT_THAT(Feed(Failure(1)), ElementsAre("start a-0 2"));
      }
      if (!b_ends_first && !completes) {
        EXPECT_THAT(Feed(Failure(0)), IsEmpty());
      }
      EXPECT_EQ(task(0).reason, "waits for a");
      const bool on_start = milestone == msg::Milestone::Started;
      EXPECT_EQ(Feed(event::Running{1}).size(), on_start ? 1u : 0u);
      EXPECT_EQ(Feed(event::Ready{1}).size(), milestone == msg::Milestone::Ready ? 1u : 0u);
      if (completes) {
        EXPECT_THAT(Feed(Success(1)), ElementsAre("start b-0 2"));
      }
      EXPECT_EQ(task(0).attempt, 2);
    }
  }
}

TEST_F(JobTest, AGangThatIsRestartedStartsOnceAllOfItHasEnded) {
  Make({"worker-0", "worker-1", "worker-2"});
  rules_.gang = true;
  Run();
  Feed(Success(2));
  EXPECT_THAT(Feed(event::RestartAsked{kWholeJob, absl::Seconds(1)}),
              ElementsAre("stop worker-0", "stop worker-1"));
  EXPECT_THAT(Feed(Failure(0)), IsEmpty());
  EXPECT_THAT(Feed(Failure(1)),
              ElementsAre("start worker-0 2", "start worker-1 2", "start worker-2 2"));
  EXPECT_EQ(status_.restarts, 0);
}

TEST_F(JobTest, ARestartEndsTheWaitOfAGang) {
  Make({"worker-0", "worker-1"});
  rules_.gang = true;
  rules_.restart = {.policy = kOnFailure, .max_restarts = 5};
  Run();
  for (int i = 0; i < 2; ++i) {
    Feed(Failure(0));
    Feed(Failure(1));
    RunStarted();
  }
  EXPECT_THAT(Feed(event::RestartAsked{kWholeJob, absl::Seconds(1)}),
              ElementsAre("cancel job", "start worker-0 3", "start worker-1 3"));
}

TEST_F(JobTest, AnEndedJobStartsAgainWhenItIsAskedTo) {
  Make({"worker-0", "worker-1"});
  Run();
  Feed(Failure(0));
  Feed(Failure(1));
  EXPECT_EQ(StateOf(status_), Failed);
  EXPECT_THAT(Feed(event::RestartAsked{kWholeJob, absl::Seconds(1)}),
              ElementsAre("start worker-0 2", "start worker-1 2"));
  EXPECT_EQ(StateOf(status_), Starting);
  RunStarted();
  Feed(Success(0));
  Feed(Success(1));
  EXPECT_EQ(StateOf(status_), Exited);
}

TEST_F(JobTest, AJobWaitsForOtherJobsBeforeItAsksForAnything) {
  Make({"worker-0", "worker-1"});
  rules_.waits_for_jobs = true;
  rules_.tasks[0].needs_grant = true;
  EXPECT_THAT(Feed(event::Launched{}), IsEmpty());
  EXPECT_THAT(Feed(event::JobsAwaited{"waits for job data to complete"}), IsEmpty());
  EXPECT_EQ(StateOf(status_), Pending);
  EXPECT_EQ(task(0).reason, "waits for job data to complete");
  EXPECT_EQ(task(1).reason, "waits for job data to complete");
  // One task requests its resources, the other starts.
  EXPECT_EQ(Feed(event::JobsCame{}).size(), 2u);
  EXPECT_TRUE(status_.jobs_came);
  // Later events about the order are ignored.
  EXPECT_THAT(Feed(event::JobsFailed{"waited in vain"}), IsEmpty());
  EXPECT_EQ(StateOf(status_), Starting);
}

TEST_F(JobTest, AJobFailsWithTheJobThatItWaitsFor) {
  Make({"worker-0", "worker-1"});
  rules_.waits_for_jobs = true;
  rules_.restart = {.policy = kAlways, .max_restarts = 5};
  Feed(event::Launched{});
  EXPECT_THAT(Feed(event::JobsFailed{"waited for job data, and it has failed"}), IsEmpty());
  EXPECT_EQ(StateOf(status_), Failed);
  EXPECT_EQ(task(0).reason, "waited for job data, and it has failed");
  // After a requested restart it waits again.
  EXPECT_THAT(Feed(event::RestartAsked{kWholeJob, absl::Seconds(1)}), IsEmpty());
  EXPECT_EQ(Feed(event::JobsCame{}).size(), 2u);
}

TEST_F(JobTest, AJobThatWaitsForOthersCanBeStopped) {
  Make({"worker-0"});
  rules_.waits_for_jobs = true;
  Feed(event::Launched{});
  EXPECT_THAT(Feed(event::StopAsked{kWholeJob, absl::Seconds(1), ""}), IsEmpty());
  EXPECT_EQ(StateOf(status_), Exited);
  EXPECT_THAT(Feed(event::JobsCame{}), IsEmpty());
}

TEST_F(JobTest, AnAttemptThatIsWorthNothingIsEndedAndHasFailed) {
  Make({"worker-0"});
  rules_.restart = {.policy = kOnFailure, .max_restarts = 1};
  Run();
  EXPECT_THAT(Feed(event::AttemptFailed{0, "its liveness probe has failed"}),
              ElementsAre("stop worker-0"));
  EXPECT_EQ(StateOf(status_), Stopping);
  EXPECT_THAT(Feed(event::AttemptFailed{0, "again"}), IsEmpty());
  // The exit status of the failed attempt does not matter.
  EXPECT_THAT(Feed(Success(0)), ElementsAre("start worker-0 2"));
  EXPECT_EQ(task(0).restarts, 1);
  RunStarted();
  Feed(event::AttemptFailed{0, "its liveness probe has failed"});
  EXPECT_THAT(Feed(Failure(0)), IsEmpty());
  EXPECT_EQ(StateOf(status_), Failed);
  EXPECT_EQ(task(0).reason, "its liveness probe has failed (gave up after 1 restart)");
}

TEST_F(JobTest, AStopWinsOverAFailedProbe) {
  Make({"worker-0"});
  rules_.restart = {.policy = kAlways, .max_restarts = 5};
  Run();
  Feed(event::AttemptFailed{0, "its liveness probe has failed"});
  Feed(event::StopAsked{kWholeJob, absl::Seconds(1), "because"});
  EXPECT_THAT(Feed(Failure(0)), IsEmpty());
  EXPECT_EQ(StateOf(status_), Exited);
}

TEST_F(JobTest, AnAttemptThatRanLongBeforeItsProbeFailedStartsAgainAtOnce) {
  Make({"worker-0"});
  rules_.restart = {.policy = kAlways, .max_restarts = 100};
  Run();
  for (int i = 0; i < 3; ++i) {
    now_ += absl::Minutes(1);
    Feed(event::AttemptFailed{0, "its liveness probe has failed"});
    EXPECT_EQ(Feed(Failure(0)).size(), 1u) << "a start, and no timer";
    RunStarted();
  }
}

TEST_F(JobTest, TheDelayBetweenRestartsIsAsTheJobSays) {
  Make({"worker-0"});
  rules_.restart = {.policy = kAlways,
                    .max_restarts = 100,
                    .first_is_immediate = false,
                    .first_delay = absl::Seconds(2),
                    .longest_delay = absl::Seconds(5)};
  Run();
  for (const char* const timer : {"timer worker-0 2000", "timer worker-0 4000",
                                  "timer worker-0 5000", "timer worker-0 5000"}) {
    EXPECT_THAT(Feed(Failure(0)), ElementsAre(timer));
    Feed(event::TimerFired{0});
    RunStarted();
  }
}

TEST_F(JobTest, AJobThatTheYardHasEndedComesBackWithTheNextOne) {
  Make({"worker-0", "worker-1"});
  rules_.autostart = true;
  rules_.waits_for_jobs = true;
  rules_.restart = {.policy = kOnFailure, .max_restarts = 1};
  Feed(event::Launched{});
  Feed(event::JobsCame{});
  RunStarted();
  status_.tasks[0].restarts = 1;
  Feed(event::StopAsked{kWholeJob, absl::Seconds(1), "yard down", true});
  Feed(Success(0));
  Feed(Failure(1));
  EXPECT_EQ(StateOf(status_), Exited);
  EXPECT_TRUE(status_.comes_back);
  EXPECT_THAT(Feed(event::Launched{}), IsEmpty());
  EXPECT_EQ(StateOf(status_), Pending);
  EXPECT_EQ(task(0).reason, "starts again with the yard");
  EXPECT_THAT(Feed(event::JobsCame{}), ElementsAre("start worker-0 2", "start worker-1 2"));
  EXPECT_FALSE(status_.comes_back);
  EXPECT_FALSE(status_.stop_requested);
  EXPECT_EQ(task(0).restarts, 0) << "it may fail as often as a new one";
}

TEST_F(JobTest, AJobThatSomebodyHasStoppedDoesNotComeBack) {
  Make({"worker-0"});
  rules_.autostart = true;
  Run();
  Feed(event::StopAsked{kWholeJob, absl::Seconds(1), "yard stop"});
  Feed(event::StopAsked{kWholeJob, absl::Seconds(1), "yard down", true});
  Feed(Success(0));
  EXPECT_FALSE(status_.comes_back);
  EXPECT_THAT(Feed(event::Launched{}), IsEmpty());
  EXPECT_EQ(StateOf(status_), Exited);
  // A job without autostart stays stopped.
  Make({"worker-0"});
  rules_.autostart = false;
  status_ = {};
  status_.tasks.resize(1);
  Run();
  Feed(event::StopAsked{kWholeJob, absl::Seconds(1), "yard down", true});
  Feed(Success(0));
  EXPECT_THAT(Feed(event::Launched{}), IsEmpty());
  EXPECT_EQ(StateOf(status_), Exited);
}

TEST_F(JobTest, ATaskThatWasLostWithTheMachineStartsAgainUncounted) {
  Make({"worker-0"});
  rules_.autostart = true;
  Run();
  Feed(event::Launched{});
  event::Ended lost = kLost;
  lost.with_the_yard = true;
  EXPECT_THAT(Feed(lost), ElementsAre("start worker-0 2"));
  EXPECT_EQ(task(0).restarts, 0);
  // Without autostart the task is lost.
  RunStarted();
  rules_.autostart = false;
  EXPECT_THAT(Feed(lost), IsEmpty());
  EXPECT_EQ(StateOf(status_), Lost);
}

// A new launcher loads the stored status and feeds Launched.
TEST_F(JobTest, ANewLauncherGoesOnWhereTheOldOneWas) {
  Make({"worker-0", "worker-1"});
  rules_.gang = true;
  rules_.restart = {.policy = kOnFailure, .max_restarts = 5};
  Run();
  Feed(Failure(0));
  EXPECT_THAT(Feed(event::Launched{}), IsEmpty());
  EXPECT_THAT(Feed(event::Running{1}), ElementsAre("stop worker-1")) << "it is found";
  EXPECT_THAT(Feed(Failure(1)), ElementsAre("start worker-0 2", "start worker-1 2"));
  RunStarted();
  Feed(Failure(0));
  EXPECT_THAT(Feed(Failure(1)), ElementsAre("timer job 100"));
  EXPECT_THAT(Feed(event::Launched{}), ElementsAre("start worker-0 3", "start worker-1 3"));
  RunStarted();
  rules_.chief = 0;
  EXPECT_THAT(Feed(Success(0)), ElementsAre("timer job 3000"));
  EXPECT_THAT(Feed(event::Launched{}), ElementsAre("timer job 3000"));
}

// The inputs of one call of Decide(), and the actions that it returned.
struct Fed {
  Event event;
  absl::Duration now;
  double random;
  std::vector<Action> actions;
};

// Replaying the history on a new job gives the same actions and the same final status.
void ExpectSameOnReplay(const std::vector<Fed>& history, const JobRules& rules,
                        const JobStatus& end) {
  JobStatus status;
  status.tasks.resize(end.tasks.size());
  for (const Fed& fed : history) {
    Decision decision = Decide(std::move(status), rules, fed.event, fed.now, fed.random);
    status = std::move(decision.status);
    ASSERT_EQ(decision.actions, fed.actions);
  }
  ASSERT_TRUE(status == end);
}

// With random events: Decide() never stops a task that does not run, never starts a task twice, and
// reports every changed task; a stopped job ends; and a replay gives the same results.
TEST_F(JobTest, HoldsItsPromisesWhateverHappens) {
  std::mt19937 random(1);
  const auto any = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  for (int round = 0; round < 2000; ++round) {
    rules_ = {};
    status_ = {};
    Make({"chief-0", "worker-0", "worker-1", "ps-0"});
    rules_.gang = any(2) == 0;
    rules_.keep_going = any(2) == 0;
    rules_.chief = any(2) - 1;
    rules_.autostart = any(2) == 0;
    rules_.waits_for_jobs = any(4) == 0;
    rules_.restart = {.policy = static_cast<RestartPolicy>(any(3)), .max_restarts = any(4)};
    if (any(2) == 0)
      rules_.tasks[1].waits = {{.tasks = {3}, .milestone = static_cast<msg::Milestone>(any(3))}};
    std::vector<int> attempts(4);
    std::set<int> live;
    std::vector<Fed> history;
    const auto feed = [&](const Event& event) {
      const JobStatus before = status_;
      const double spread = any(1000) / 1000.0;
      Decision decision = Decide(std::move(status_), rules_, event, now_, spread);
      status_ = std::move(decision.status);
      history.push_back({event, now_, spread, decision.actions});
      ASSERT_TRUE(decision.job_changed || IsSameJob(before, status_));
      for (int t = 0; t < 4; ++t) {
        const auto at = static_cast<std::size_t>(t);
        ASSERT_TRUE(std::ranges::binary_search(decision.changed, t) ||
                    before.tasks[at] == status_.tasks[at]);
      }
      for (const Action& action : decision.actions) {
        if (const auto* start = std::get_if<action::StartAttempt>(&action)) {
          ASSERT_TRUE(live.insert(start->task).second);
          ASSERT_EQ(start->number, ++attempts[static_cast<std::size_t>(start->task)]);
        }
        if (const auto* stop = std::get_if<action::StopAttempt>(&action)) {
          ASSERT_TRUE(live.contains(stop->task));
        }
      }
    };
    feed(event::Launched{});
    for (int i = 0; i < 60; ++i) {
      now_ += absl::Seconds(any(3));
      const int task = any(4);
      switch (any(11)) {
        case 0:
          feed(event::Running{task});
          break;
        case 1:
        case 2:
          if (live.erase(task) > 0) feed(any(2) == 0 ? Success(task) : Failure(task));
          break;
        case 3:
          feed(event::TimerFired{task});
          break;
        case 4:
          feed(event::TimerFired{kWholeJob});
          break;
        case 5:
          if (any(20) == 0) feed(event::RestartAsked{any(5) - 1, absl::Seconds(1)});
          break;
        case 6:
          if (any(20) == 0) feed(event::StopAsked{task, absl::Seconds(1), ""});
          break;
        case 7:
          feed(event::Launched{});
          break;
        case 8:
          if (any(40) == 0) feed(event::TimeOver{"over"});
          break;
        case 9:
          if (any(4) == 0) feed(event::AttemptFailed{task, "failed"});
          break;
        case 10:
          if (any(4) == 0) feed(event::JobsCame{});
          break;
      }
      for (int t = 0; t < 4; ++t) {
        const TaskState state = status_.tasks[static_cast<std::size_t>(t)].state;
        ASSERT_EQ(live.contains(t), state == Starting || state == Running || state == Stopping);
      }
    }
    feed(event::StopAsked{kWholeJob, absl::Seconds(1), ""});
    while (!live.empty()) {
      const int task = *live.begin();
      feed(event::Running{task});
      live.erase(task);
      feed(Failure(task));
    }
    ASSERT_TRUE(HasEnded(status_)) << round;
    ASSERT_NO_FATAL_FAILURE(ExpectSameOnReplay(history, rules_, status_)) << round;
  }
}

TEST(SupervisorTest, DelaysStayFiniteHoweverManyFailures) {
  for (int failures = 1; failures < 200; ++failures) {
    EXPECT_LE(RestartDelay(failures, absl::Milliseconds(100), absl::Seconds(30), 0),
              absl::Seconds(30));
  }
}

}  // namespace
}  // namespace launcher
