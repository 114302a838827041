#include "launcher/job/job_list.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;

class JobListTest : public ::testing::Test {
 protected:
  // An `ended_us` of 0 makes a live job.
  void Add(const std::string& id, std::int64_t created_us, std::int64_t ended_us) {
    rows_.push_back(std::make_unique<JobRow>(MakeJobRow({})));
    JobRow& row = *rows_.back();
    row.id = id;
    row.created_us = created_us;
    row.ended_us = ended_us;
    for (TaskStatus& task : row.status.tasks) {
      task.state = ended_us == 0 ? msg::TaskState::Running : msg::TaskState::Exited;
    }
  }
  std::vector<std::string> List(const JobListOptions& options) const {
    std::vector<const JobRow*> rows;
    for (const auto& row : rows_) rows.push_back(row.get());
    std::vector<std::string> ids;
    for (const JobRow* row : ListJobs(rows, options)) ids.push_back(row->id);
    return ids;
  }

 private:
  std::vector<std::unique_ptr<JobRow>> rows_;
};

TEST_F(JobListTest, JobsStandInTheOrderOfTheirLaunches) {
  Add("j-b", 2, 0);
  Add("j-c", 1, 9);
  Add("j-a", 2, 3);
  EXPECT_THAT(List({}), ElementsAre("j-c", "j-a", "j-b"));
}

TEST_F(JobListTest, EndedJobsCanBeLeftOut) {
  Add("j-a", 1, 5);
  Add("j-b", 2, 0);
  EXPECT_THAT(List({.live_only = true}), ElementsAre("j-b"));
  EXPECT_THAT(List({.live_only = true, .newest_ended = 1}), ElementsAre("j-b"));
}

TEST_F(JobListTest, OfEndedJobsTheLastToEndAreKept) {
  Add("j-a", 1, 30);
  Add("j-b", 2, 10);
  Add("j-c", 3, 20);
  Add("j-live", 4, 0);
  EXPECT_THAT(List({.newest_ended = 2}), ElementsAre("j-a", "j-c", "j-live"));
  EXPECT_THAT(List({.newest_ended = 3}), ElementsAre("j-a", "j-b", "j-c", "j-live"));
}

}  // namespace
}  // namespace launcher
