#include "launcher/job/jobs_to_forget.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JobsToForgetTest : public ::testing::Test {
 protected:
  // A job that ended at this time; 0 for a live job.
  void Add(const std::string& id, std::int64_t ended_us) {
    JobRow row = MakeJobRow({});
    row.id = id;
    row.ended_us = ended_us;
    for (TaskStatus& task : row.status.tasks) {
      task.state = ended_us == 0 ? msg::TaskState::Running : msg::TaskState::Exited;
    }
    rows_.push_back(std::move(row));
  }
  std::vector<std::string> Of(std::int64_t oldest_us, std::size_t keep_count) const {
    std::vector<const JobRow*> rows;
    for (const JobRow& row : rows_) rows.push_back(&row);
    return JobsToForget(rows, oldest_us, keep_count);
  }

 private:
  std::vector<JobRow> rows_;
};

TEST_F(JobsToForgetTest, OldJobsGoTheFirstToEndFirst) {
  Add("j-c", 30);
  Add("j-b", 20);
  Add("j-a", 10);
  EXPECT_THAT(Of(21, 100), ElementsAre("j-a", "j-b"));
  EXPECT_THAT(Of(20, 100), ElementsAre("j-a"));
  EXPECT_THAT(Of(10, 100), IsEmpty());
}

TEST_F(JobsToForgetTest, OfTooManyTheNewestStay) {
  Add("j-a", 10);
  Add("j-b", 20);
  Add("j-c", 30);
  EXPECT_THAT(Of(0, 1), ElementsAre("j-a", "j-b"));
  EXPECT_THAT(Of(0, 0), ElementsAre("j-a", "j-b", "j-c"));
  EXPECT_THAT(Of(0, 3), IsEmpty());
}

TEST_F(JobsToForgetTest, AJobThatLivesIsNeitherForgottenNorCounted) {
  Add("j-live", 0);
  Add("j-a", 10);
  EXPECT_THAT(Of(0, 1), IsEmpty());
  EXPECT_THAT(Of(100, 1), ElementsAre("j-a"));
}

}  // namespace
}  // namespace launcher
