#include "launcher/run/job_failure.h"

#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "bus/schema/launcher_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"
#include "launcher/run/job.h"
#include "launcher/run/task_run.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobFailureTest : public ::testing::Test {
 protected:
  JobFailureTest() {
    char name[] = "/tmp/yjfXXXXXX";
    directory_ = mkdtemp(name);
    msg::JobSpecT spec;
    spec.groups.push_back(std::make_unique<msg::TaskGroupT>());
    spec.groups.back()->type = "worker";
    spec.groups.back()->count = 2;
    job_.row = MakeJobRow(std::move(spec));
    job_.row.id = "j-abcde";
    job_.run = std::make_unique<JobRun>();
    job_.run->rules = RulesOf(job_.row);
    for (int i = 0; i < 2; ++i) {
      job_.run->tasks.push_back(std::make_unique<TaskRun>(&host_, &job_.row, i));
    }
  }
  ~JobFailureTest() override { std::filesystem::remove_all(directory_); }

  // Ends the first attempt of a task in this way.
  void End(std::size_t rank, std::int64_t ended_us, int exit_code) {
    AttemptRow& attempt = job_.row.tasks[rank].attempts.emplace_back();
    attempt.number = 1;
    attempt.started_us = 1;
    attempt.ended_us = ended_us;
    attempt.exit_code = exit_code;
    attempt.reason = "exit code " + std::to_string(exit_code);
    job_.row.status.tasks[rank].state =
        exit_code == 0 ? msg::TaskState::Exited : msg::TaskState::Failed;
    if (exit_code != 0) job_.row.status.first_failure = static_cast<int>(rank);
  }
  std::string Path(std::size_t rank, msg::LogStream stream) const {
    return LogPath(job_.row, job_.row.tasks[rank], directory_, 1, stream);
  }
  void Write(std::size_t rank, msg::LogStream stream, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(Path(rank, stream)).parent_path());
    std::ofstream(Path(rank, stream)) << text;
  }

  std::string directory_;
  const TaskRun::Host host_;
  Job job_;
};

TEST_F(JobFailureTest, AJobWhoseTasksHaveNotFailedHasNone) {
  End(0, 1000, 0);
  EXPECT_FALSE(FailureOf(job_, directory_).has_value());
}

TEST_F(JobFailureTest, TheTaskThatFailedFirstIsNamedWithItsLastLines) {
  End(0, 9'000'000, 1);
  End(1, 2'000'000, 3);
  Write(0, msg::LogStream::Stderr, "lost a connection\n");
  Write(1, msg::LogStream::Stderr, "a reason\nof two lines\n");
  const auto failure = FailureOf(job_, directory_);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->task, "worker-1");
  EXPECT_THAT(failure->reason, HasSubstr("exit code 3"));
  EXPECT_THAT(failure->last_lines, ElementsAre("a reason", "of two lines"));
  EXPECT_EQ(failure->log_path, Path(1, msg::LogStream::Stderr));
  EXPECT_THAT(failure->consequences, ElementsAre("worker-0"));
}

TEST_F(JobFailureTest, LinesOfAnEarlierAttemptAreLeftOut) {
  End(0, 1'000'000, 1);
  Write(0, msg::LogStream::Stderr, "before\nnow\n");
  job_.row.tasks[0].attempts.back().stderr_begin = 7;
  EXPECT_THAT(FailureOf(job_, directory_)->last_lines, ElementsAre("now"));
}

TEST_F(JobFailureTest, AFailureThatARestartHasCuredDoesNotCount) {
  End(0, 1'000'000, 1);
  job_.failures_since_us = 2'000'000;
  EXPECT_FALSE(FailureOf(job_, directory_).has_value());
}

TEST_F(JobFailureTest, TimeThatIsOverIsAFailureOfTheWholeJob) {
  job_.row.status.time_is_over = true;
  job_.row.status.ending = "its time of 1s is over";
  job_.time_over_us = 5'000'000;
  const auto failure = FailureOf(job_, directory_);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->task, "");
  EXPECT_EQ(failure->time_us, 5'000'000);
  EXPECT_THAT(failure->reason, HasSubstr("its time of 1s is over"));
}

}  // namespace
}  // namespace launcher
