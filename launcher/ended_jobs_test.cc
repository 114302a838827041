// Tests that an ended job takes little memory, and can be started again all the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/job/job_list.h"
#include "launcher/job/supervisor.h"
#include "launcher/run/job_table.h"
#include "runtime/allocated_bytes.h"

namespace launcher {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class EndedJobsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(yard_.Open().ok()); }

  // Each job has a different environment of 3 kB, like jobs of trials.
  msg::JobSpecT Job(int number, const std::string& script = "echo $NUMBER >> out") {
    msg::JobSpecT spec = yard_.Shell(script);
    spec.caller = std::make_unique<msg::CallersProcessT>();
    spec.caller->umask = 0007;
    for (const char* const name : {"as", "core", "cpu", "data", "fsize", "nofile", "stack"}) {
      spec.caller->limits.push_back(std::make_unique<msg::ProcessLimitT>());
      spec.caller->limits.back()->name = name;
      spec.caller->limits.back()->soft = spec.caller->limits.back()->hard = ~std::uint64_t{0};
    }
    spec.environment.push_back(absl::StrCat("NUMBER=", number));
    spec.environment.push_back(absl::StrCat("LARGE=", std::string(3000, 'x')));
    return spec;
  }
  std::string Run(const msg::JobSpecT& spec) {
    const auto job = yard_.Launch(spec);
    EXPECT_TRUE(job.ok()) << job.status();
    if (!job.ok()) return "";
    EXPECT_TRUE(yard_.AwaitEnd(job->id).has_value());
    return job->id;
  }
  bool AwaitAllAside() {
    return yard_.AwaitTrue([&] {
      JobTable::Stats stats;
      yard_.OnLoop([&] { stats = yard_.table()->GetStats(); });
      return stats.at_hand == 0;
    });
  }
  absl::Status Restart(const std::string& job) {
    absl::Status restarted;
    yard_.OnLoop([&] {
      restarted = yard_.table()->Restart({job, kWholeJob}, absl::ZeroDuration());
    });
    return restarted;
  }

  TestingTable yard_;
};

TEST_F(EndedJobsTest, CostLittleAndNothingOfTheirEnvironment) {
  constexpr int kJobs = 20;
  for (int i = 0; i < kJobs; ++i) Run(Job(i));  // The first jobs also cause one-time allocations.
  ASSERT_TRUE(AwaitAllAside());
  const std::size_t before = runtime::AllocatedBytes();
  for (int i = 0; i < kJobs; ++i) Run(Job(i));
  ASSERT_TRUE(AwaitAllAside());
  const std::size_t after = runtime::AllocatedBytes();
  EXPECT_LT(after, before + kJobs * 2'500);
  RecordProperty("bytes", static_cast<int>((after - before) / kJobs));
}

TEST_F(EndedJobsTest, AreStartedAgainAsTheyWere) {
  const std::string job = Run(Job(7));
  ASSERT_TRUE(AwaitAllAside());
  EXPECT_EQ(yard_.Stop(job, absl::ZeroDuration()), absl::OkStatus()) << "it stays as it is";
  ASSERT_EQ(Restart(job), absl::OkStatus());
  const auto ended = yard_.Await(job, [](const msg::JobT& message) {
    return message.state == msg::TaskState::Exited && message.tasks[0]->attempts.size() == 2;
  });
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(yard_.AwaitInFile(yard_.folder() + "/out", "7\n7\n"));
  EXPECT_TRUE(AwaitAllAside());
}

TEST_F(EndedJobsTest, AreStartedAgainByAnotherLauncher) {
  const std::string job = Run(Job(7, "echo $NUMBER $(umask) >> out"));
  yard_.Close();
  ASSERT_TRUE(yard_.Open().ok());
  EXPECT_TRUE(AwaitAllAside());
  ASSERT_EQ(Restart(job), absl::OkStatus());
  EXPECT_TRUE(yard_.AwaitInFile(yard_.folder() + "/out", "7 0007\n7 0007\n"));
}

TEST_F(EndedJobsTest, TheLastOnesAreListed) {
  std::vector<std::string> ended;
  for (int i = 0; i < 3; ++i) ended.push_back(Run(Job(i)));
  const std::string live = yard_.Launch(yard_.Shell("exec sleep 1000000"))->id;
  // The first job runs and ends once more.
  ASSERT_EQ(Restart(ended[0]), absl::OkStatus());
  ASSERT_TRUE(yard_.AwaitInFile(yard_.folder() + "/out", "0\n1\n2\n0\n"));
  ASSERT_TRUE(yard_.AwaitEnd(ended[0]).has_value());
  const auto listed = [this](const JobListOptions& options) {
    std::vector<std::string> ids;
    yard_.OnLoop([&] {
      for (const msg::JobT& job : yard_.table()->List(options)) ids.push_back(job.id);
    });
    return ids;
  };
  EXPECT_THAT(listed({.newest_ended = 2}), ElementsAre(ended[0], ended[2], live));
  EXPECT_THAT(listed({.newest_ended = 9}), ElementsAre(ended[0], ended[1], ended[2], live));
  EXPECT_THAT(listed({.live_only = true, .newest_ended = 2}), ElementsAre(live));
}

// The causes of a failure are those that were known when the job ended.
TEST_F(EndedJobsTest, KeepTheirFailure) {
  const std::string job = Run(yard_.Shell("echo it broke >&2; exit 3"));
  ASSERT_TRUE(AwaitAllAside());
  EXPECT_EQ(yard_.Stop(job, absl::ZeroDuration()), absl::OkStatus());
  const auto listed = yard_.List();
  ASSERT_EQ(listed.size(), 1u);
  ASSERT_NE(listed[0].failure, nullptr);
  EXPECT_EQ(listed[0].failure->task, "worker-0");
  EXPECT_THAT(listed[0].failure->last_lines, Contains("it broke"));
}

}  // namespace
}  // namespace launcher
