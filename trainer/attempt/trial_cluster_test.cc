#include "trainer/attempt/trial_cluster.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

msg::TrialOptionsT Options(const std::vector<std::pair<std::string, std::uint32_t>>& tasks) {
  msg::TrialOptionsT options;
  for (const auto& [type, count] : tasks) {
    options.tasks.push_back(std::make_unique<msg::TrialTasksT>());
    options.tasks.back()->type = type;
    options.tasks.back()->count = count;
  }
  return options;
}

TEST(CheckTasksTest, TakesWhatTheLauncherTakes) {
  EXPECT_TRUE(CheckTasks(Options({})).ok());
  EXPECT_TRUE(CheckTasks(Options({{"worker", 1}})).ok());
  EXPECT_TRUE(CheckTasks(Options({{"worker", 1000}})).ok());
  EXPECT_TRUE(CheckTasks(Options({{"chief", 1}, {"worker", 3}, {"my_kind-2", 2}, {"ps", 1}})).ok());
}

TEST(CheckTasksTest, RefusesEverythingElseAndSaysWhy) {
  const struct {
    std::vector<std::pair<std::string, std::uint32_t>> tasks;
    std::string why;
  } kCases[] = {
      {{{"worker", 0}}, "a count of 0 of type worker"},
      {{{"worker", 1001}}, "at most 1000 tasks, this one has 1001"},
      {{{"worker", 4294967295}, {"ps", 4294967295}}, "this one has 8589934590"},
      {{{"chief", 2}}, "at most one chief, this one has 2"},
      {{{"worker", 1}, {"ps", 1}, {"worker", 2}}, "type worker is there twice"},
      {{{"", 1}}, "type \"\" is not a word"},
      {{{"a/b", 1}}, "type \"a/b\" is not a word"},
      {{{std::string("a\0b", 3), 1}}, "is not a word"},
      {{{"\xff", 1}}, "is not a word"},
      {{{std::string(33, 'x'), 1}}, "is not a word of at most 32"},
  };
  for (const auto& [tasks, why] : kCases) {
    const absl::Status status = CheckTasks(Options(tasks));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
}

TEST(CheckTasksTest, AFunctionIsNoCluster) {
  msg::TrialOptionsT options = Options({{"worker", 2}});
  options.function = "train";
  EXPECT_EQ(CheckTasks(options).code(), absl::StatusCode::kInvalidArgument);
  options.tasks.clear();
  EXPECT_TRUE(CheckTasks(options).ok());
}

TEST(SetTasksTest, WithoutAClusterItIsOneWorkerThatIsToldOfNobody) {
  msg::JobSpecT job;
  SetTasks(Options({}), &job);
  EXPECT_EQ(job.task_type, "worker");
  EXPECT_TRUE(job.groups.empty());
}

TEST(SetTasksTest, AClusterHasAGroupForEachTypeInItsOrder) {
  msg::JobSpecT job;
  SetTasks(Options({{"chief", 1}, {"worker", 3}}), &job);
  ASSERT_EQ(job.groups.size(), 2u);
  EXPECT_EQ(job.groups[0]->type, "chief");
  EXPECT_EQ(job.groups[0]->count, 1u);
  EXPECT_EQ(job.groups[1]->type, "worker");
  EXPECT_EQ(job.groups[1]->count, 3u);
}

msg::JobT Job(const std::vector<std::pair<std::string, std::uint32_t>>& tasks) {
  msg::JobT job;
  for (const auto& [type, index] : tasks) {
    job.tasks.push_back(std::make_unique<msg::TaskT>());
    job.tasks.back()->type = type;
    job.tasks.back()->index = index;
  }
  return job;
}

TEST(ReporterHasEndedTest, IsAboutRankZeroAlone) {
  EXPECT_FALSE(ReporterHasEnded(Job({})));
  msg::JobT job = Job({{"worker", 0}, {"worker", 1}});
  job.tasks[1]->state = msg::TaskState::Exited;
  for (const auto state :
       {msg::TaskState::Pending, msg::TaskState::Running, msg::TaskState::Stopping}) {
    job.tasks[0]->state = state;
    EXPECT_FALSE(ReporterHasEnded(job)) << msg::EnumNameTaskState(state);
  }
  for (const auto state : {msg::TaskState::Exited, msg::TaskState::Failed, msg::TaskState::Lost}) {
    job.tasks[0]->state = state;
    EXPECT_TRUE(ReporterHasEnded(job)) << msg::EnumNameTaskState(state);
  }
}

TEST(DecisiveTaskTest, TheFirstFailureElseTheChiefElseRankZero) {
  EXPECT_EQ(DecisiveTask(Job({})), nullptr);
  EXPECT_EQ(ReportingTask(Job({})), nullptr);
  msg::JobT job = Job({{"worker", 0}, {"worker", 1}, {"ps", 0}});
  EXPECT_EQ(ReportingTask(job), job.tasks[0].get());
  EXPECT_EQ(DecisiveTask(job), job.tasks[0].get());
  job.failure = std::make_unique<msg::FailureT>();
  EXPECT_EQ(DecisiveTask(job), job.tasks[0].get()) << "the job's time was over";
  job.failure->task = "worker-1";
  EXPECT_EQ(DecisiveTask(job), job.tasks[1].get());
  EXPECT_EQ(ReportingTask(job), job.tasks[0].get());
  job = Job({{"worker", 0}, {"chief", 0}});
  EXPECT_EQ(DecisiveTask(job), job.tasks[1].get());
}

}  // namespace
}  // namespace trainer
