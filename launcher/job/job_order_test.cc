#include "launcher/job/job_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"

namespace launcher {
namespace {

using msg::Milestone;
using msg::TaskState;

class JobOrderTest : public ::testing::Test {
 protected:
  JobOrderTest() { spec_.name = "train"; }

  void After(const std::string& job, Milestone milestone) {
    spec_.after.push_back(std::make_unique<msg::AfterJobT>());
    spec_.after.back()->job = job;
    spec_.after.back()->milestone = milestone;
  }
  // Adds another job with `tasks` tasks in this state.
  TaskStatus& Job(const std::string& name, TaskState state, std::size_t tasks = 1) {
    msg::JobSpecT spec;
    spec.name = name;
    spec.argv = {"x"};
    spec.task_type = "worker";
    spec.groups.push_back(std::make_unique<msg::TaskGroupT>());
    spec.groups.back()->type = "worker";
    spec.groups.back()->count = static_cast<std::uint32_t>(tasks);
    JobRow row = MakeJobRow(std::move(spec));
    for (TaskStatus& task : row.status.tasks) {
      task.state = state;
      task.attempt = state == TaskState::Pending ? 0 : 1;
    }
    if (state == TaskState::Failed) row.status.first_failure = 0;
    rows_.erase(name);
    return rows_.emplace(name, std::move(row)).first->second.status.tasks[0];
  }
  // Returns "came", what the job waits for, or "failed: " with the reason.
  std::string Order() {
    const Event event = OrderOf(spec_, Find());
    if (const auto* awaited = std::get_if<event::JobsAwaited>(&event)) return awaited->words;
    if (const auto* failed = std::get_if<event::JobsFailed>(&event)) {
      return "failed: " + failed->reason;
    }
    return std::holds_alternative<event::JobsCame>(event) ? "came" : "?";
  }
  FindRow Find() {
    return [this](const std::string& name) {
      const auto found = rows_.find(name);
      return found == rows_.end() ? nullptr : &found->second;
    };
  }

  msg::JobSpecT spec_;
  std::map<std::string, JobRow> rows_;
};

TEST_F(JobOrderTest, AJobThatRunsHasStartedAndIsReadyWhenItSaysSo) {
  After("data", Milestone::Started);
  Job("data", TaskState::Pending);
  EXPECT_EQ(Order(), "waits for job data to start");
  TaskStatus& task = Job("data", TaskState::Running);
  EXPECT_EQ(Order(), "came");
  spec_.after[0]->milestone = Milestone::Ready;
  EXPECT_EQ(Order(), "waits for job data to be ready");
  task.ready = true;
  EXPECT_EQ(Order(), "came");
}

TEST_F(JobOrderTest, EveryTaskHasToComeSoFar) {
  After("data", Milestone::Started);
  Job("data", TaskState::Running, 2);
  rows_.at("data").status.tasks[1].state = TaskState::Pending;
  EXPECT_EQ(Order(), "waits for job data to start");
}

TEST_F(JobOrderTest, OnlySuccessCompletesAJob) {
  After("data", Milestone::Completed);
  Job("data", TaskState::Running);
  EXPECT_EQ(Order(), "waits for job data to complete");
  Job("data", TaskState::Exited);
  EXPECT_EQ(Order(), "came");
  Job("data", TaskState::Failed).reason = "exit code 3";
  EXPECT_EQ(Order(), "failed: waited for job data to complete, and it has failed: exit code 3");
}

TEST_F(JobOrderTest, AJobThatEndsBeforeItIsReadyIsWaitedForInVain) {
  After("server", Milestone::Ready);
  Job("server", TaskState::Failed).reason = "exit code 1";
  EXPECT_EQ(Order(), "failed: waited for job server to be ready, and it has failed: exit code 1");
}

TEST_F(JobOrderTest, AStoppedJobMayBeStartedAgain) {
  for (const Milestone milestone : {Milestone::Started, Milestone::Ready, Milestone::Completed}) {
    spec_.after.clear();
    After("data", milestone);
    Job("data", TaskState::Exited).stop = StopCause::kAsked;
    EXPECT_THAT(Order(), ::testing::EndsWith(", which somebody has stopped"));
  }
}

TEST_F(JobOrderTest, AForgottenJobIsWaitedForInVain) {
  After("data", Milestone::Completed);
  EXPECT_EQ(Order(), "failed: waited for job data to complete, and that job is forgotten");
}

TEST_F(JobOrderTest, AllOfThemHaveToCome) {
  After("a", Milestone::Completed);
  After("b", Milestone::Completed);
  Job("a", TaskState::Exited);
  Job("b", TaskState::Running);
  EXPECT_EQ(Order(), "waits for job b to complete");
}

TEST_F(JobOrderTest, AJobThatIsNotThereIsRefused) {
  After("data", Milestone::Ready);
  EXPECT_TRUE(absl::IsNotFound(CheckOrder(spec_, Find())));
  Job("data", TaskState::Exited);
  EXPECT_TRUE(CheckOrder(spec_, Find()).ok());
  After("train", Milestone::Ready);
  EXPECT_TRUE(absl::IsInvalidArgument(CheckOrder(spec_, Find())));
}

}  // namespace
}  // namespace launcher
