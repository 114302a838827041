// Tests trials that are clusters, with a fake launcher: which jobs it is asked for, whose end
// counts, and how all tasks are told of a stop.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kReport[] = R"({"t":"report","m":{"loss":0.5}})";

class ClusterTrialsTest : public TrialsFixture {
 protected:
  ClusterTrialsTest() { Start(); }

  // Returns a request for three workers.
  static msg::RunTrialRequestT Request() {
    msg::RunTrialRequestT request = TrialsFixture::Request();
    request.stop_grace_ms = 5000;
    AddTasks(request, "worker", 3);
    return request;
  }
  static void AddTasks(msg::RunTrialRequestT& request, const std::string& type,
                       std::uint32_t count) {
    request.options->tasks.push_back(std::make_unique<msg::TrialTasksT>());
    request.options->tasks.back()->type = type;
    request.options->tasks.back()->count = count;
  }

  // How each task of a job of three workers ended: exit code of the last attempt, or signal.
  struct TaskEnd {
    int exit_code = 0;
    int signal = 0;
    std::string stderr_path = {};
  };
  static msg::JobT JobOf(const std::vector<TaskEnd>& ends) {
    msg::JobT job;
    job.state = msg::TaskState::Exited;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      auto task = std::make_unique<msg::TaskT>();
      task->type = "worker";
      task->index = task->rank = static_cast<std::uint32_t>(i);
      task->stderr_path = ends[i].stderr_path;
      auto attempt = std::make_unique<msg::AttemptT>();
      attempt->exit_code = ends[i].exit_code;
      attempt->signal = ends[i].signal;
      task->attempts.push_back(std::move(attempt));
      job.tasks.push_back(std::move(task));
    }
    return job;
  }
  static msg::JobT FailedJob(const std::vector<TaskEnd>& ends, const std::string& first,
                             const std::string& reason) {
    msg::JobT job = JobOf(ends);
    job.state = msg::TaskState::Failed;
    // The failure that was noticed first is not always the first one.
    job.reason = "worker-0: exit code 1";
    job.failure = std::make_unique<msg::FailureT>();
    job.failure->task = first;
    job.failure->reason = reason;
    return job;
  }
  void End(const std::string& job, msg::JobT as) {
    On([&] { jobs_.EndAs(job, std::move(as)); });
  }
};

TEST_F(ClusterTrialsTest, ItsJobHasAGroupForEachTypeAndTheTrainerAloneRestarts) {
  msg::RunTrialRequestT request = Request();
  request.options->tasks.clear();
  AddTasks(request, "chief", 1);
  AddTasks(request, "worker", 2);
  const std::string id = Run(request);
  const msg::JobSpecT& spec = jobs_.jobs["j-1"].spec;
  ASSERT_EQ(spec.groups.size(), 2u);
  EXPECT_EQ(spec.groups[0]->type, "chief");
  EXPECT_EQ(spec.groups[1]->count, 2u);
  EXPECT_EQ(spec.restart, msg::RestartPolicy::Never);
  EXPECT_FALSE(spec.gang);
  EXPECT_FALSE(spec.keep_going) << "one that fails ends the others";
  EXPECT_EQ(spec.report_channel->socket, "/relay");
  EXPECT_THAT(spec.environment, Contains("YARD_TRIAL_ID=" + id));
}

TEST_F(ClusterTrialsTest, WhatCannotBeIsRefusedWhenTheTrialIsMade) {
  msg::RunTrialRequestT request = Request();
  AddTasks(request, "worker", 1);
  EXPECT_EQ(TryRun(request).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(jobs_.jobs, IsEmpty());
}

TEST_F(ClusterTrialsTest, ItIsDoneWhenAllHaveEndedWell) {
  const std::string id = Run(Request());
  EXPECT_EQ(Say("j-1", 1, kReport), R"({"t":"ok","events":[]})");
  SayEnd("j-1", 1);
  EXPECT_EQ(Get(id).state, TrialState::Running) << "the others have not ended";
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty());
  End("j-1", JobOf({{}, {}, {}}));
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_EQ(Get(id).reports, 1u);
}

TEST_F(ClusterTrialsTest, TheFirstFailureIsItsReasonWithThatTasksLines) {
  const std::string path = directory_ + "/worker-2.stderr";
  ASSERT_TRUE(runtime::WriteFileAtomically(path, "boom\n", 0600).ok());
  const std::string id = Run(Request());
  SayEnd("j-1", 0);
  End("j-1", FailedJob({{1}, {0, 15}, {3, 0, path}}, "worker-2", "exit code 3"));
  const msg::TrialT trial = Get(id);
  EXPECT_EQ(trial.state, TrialState::Failed);
  EXPECT_EQ(trial.reason, "worker-2: exit code 3");
  EXPECT_THAT(trial.error_lines, ElementsAre("boom"));
}

TEST_F(ClusterTrialsTest, AJobThatSomebodyStoppedIsNotDone) {
  const std::string id = Run(Request());
  SayEnd("j-1", 0);
  End("j-1", JobOf({{0, 15}, {0, 15}, {0, 15}}));
  EXPECT_EQ(Get(id).state, TrialState::Failed);
}

TEST_F(ClusterTrialsTest, ANewAttemptIsOneOfAllTasksAlsoForTheNextTrainer) {
  msg::RunTrialRequestT request = Request();
  request.max_restarts = 1;
  const std::string id = Run(request);
  Restart();
  EXPECT_EQ(jobs_.jobs.size(), 1u);
  SayEnd("j-1", 0);
  End("j-1", FailedJob({{0, 15}, {0, 9}, {0, 15}}, "worker-1", "signal 9"));
  ASSERT_EQ(jobs_.jobs.size(), 2u);
  EXPECT_EQ(Get(id).state, TrialState::Running);
  const msg::JobSpecT& spec = jobs_.jobs["j-2"].spec;
  ASSERT_EQ(spec.groups.size(), 1u);
  EXPECT_EQ(spec.groups[0]->count, 3u);
  EXPECT_THAT(spec.environment, Contains("YARD_ATTEMPT=2"));
  EXPECT_THAT(runtime::ReadFile(directory_ + "/runs/" + id + "/error.txt", 10'000).value_or(""),
              HasSubstr("worker-1: signal 9"));
}

TEST_F(ClusterTrialsTest, AStopReachesTheOthersWhenTheReporterHasEnded) {
  const std::string id = Run(Request());
  Say("j-1", 1, kReport);
  Stop(id);
  EXPECT_THAT(Say("j-1", 2, kReport), HasSubstr(R"("t":"stop")"));
  Advance(absl::Seconds(1));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty()) << "rank 0 may save";
  SayEnd("j-1", 2);
  EXPECT_THAT(jobs_.jobs["j-1"].stops, ElementsAre(absl::Seconds(5)));
  Advance(absl::Seconds(10));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u) << "once";
  End("j-1", JobOf({{0}, {0, 15}, {0, 15}}));
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
}

TEST_F(ClusterTrialsTest, AReporterThatDoesNotEndIsStoppedWithTheOthersAfterItsGrace) {
  const std::string id = Run(Request());
  Say("j-1", 1, kReport);
  Stop(id);
  Advance(absl::Seconds(5));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

TEST_F(ClusterTrialsTest, OnceTheReporterHasEndedAStopIsASignalAtOnce) {
  const std::string id = Run(Request());
  Say("j-1", 1, kReport);
  SayEnd("j-1", 1);
  Stop(id);
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

TEST_F(ClusterTrialsTest, ACriterionThatIsMetEndsAllTasks) {
  msg::RunTrialRequestT request = Request();
  request.options->stop = R"({"loss":0.5})";
  const std::string id = Run(request);
  EXPECT_THAT(Say("j-1", 1, kReport), HasSubstr(R"("t":"stop")"));
  SayEnd("j-1", 1);
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
  End("j-1", FailedJob({{0}, {1}, {0, 15}}, "worker-1", "exit code 1"));
  EXPECT_EQ(Get(id).state, TrialState::Done) << "however the others ended";
}

TEST_F(ClusterTrialsTest, AReporterThatHasEndedNeedsNoHeartbeat) {
  msg::RunTrialRequestT request = Request();
  request.options->heartbeat_ms = 1000;
  const std::string id = Run(request);
  Say("j-1", 1, kReport);
  SayEnd("j-1", 1);
  Advance(absl::Seconds(60));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty());
  End("j-1", JobOf({{}, {}, {}}));
  EXPECT_EQ(Get(id).state, TrialState::Done);
}

TEST_F(ClusterTrialsTest, ThatTheReporterHasEndedTheNextTrainerHearsFromTheLauncher) {
  msg::RunTrialRequestT request = Request();
  request.options->heartbeat_ms = 1000;
  const std::string id = Run(request);
  Say("j-1", 1, kReport);
  SayEnd("j-1", 1);
  Restart();
  msg::JobT job = JobOf({{}, {}, {}});
  job.state = msg::TaskState::Running;
  job.tasks[0]->state = msg::TaskState::Exited;
  On([&] { jobs_.Change("j-1", job); });
  Advance(absl::Seconds(60));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty());
  Stop(id);
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u) << "at once";
}

}  // namespace
}  // namespace trainer
