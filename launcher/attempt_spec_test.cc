#include "launcher/attempt_spec.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "launcher/cluster.h"
#include "launcher/job_row.h"
#include "launcher/shim_protocol.h"

namespace launcher {
namespace {

msg::JobSpecT Trial() {
  msg::JobSpecT spec;
  spec.argv = {"prog"};
  spec.working_directory = "/";
  spec.report_channel = std::make_unique<msg::ReportChannelT>();
  spec.report_channel->socket = "/trainer";
  spec.report_channel->nonce = "n0nce";
  return spec;
}

void AddGroup(msg::JobSpecT* spec, const std::string& type, unsigned count) {
  spec->groups.push_back(std::make_unique<msg::TaskGroupT>());
  spec->groups.back()->type = type;
  spec->groups.back()->count = count;
}

// Of each task, in the order of their ranks.
std::vector<ShimSpec> SpecsOf(msg::JobSpecT spec) {
  const JobRow row = MakeJobRow(std::move(spec));
  const ClusterPlan plan = PlanTasks(row.spec, {});
  std::vector<ShimSpec> specs;
  for (std::size_t rank = 0; rank < row.tasks.size(); ++rank) {
    specs.push_back(AttemptSpec({}, row, {}, plan, static_cast<int>(rank), 1));
  }
  return specs;
}

TEST(AttemptSpecTest, TheOnlyTaskOfATrialReports) {
  const auto specs = SpecsOf(Trial());
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs[0].trainer_socket, "/trainer");
  EXPECT_EQ(specs[0].nonce, "n0nce");
  EXPECT_EQ(specs[0].no_reports, "");
}

TEST(AttemptSpecTest, OfAClusterOnlyRankZeroReportsWhateverItsType) {
  msg::JobSpecT spec = Trial();
  AddGroup(&spec, "chief", 1);
  AddGroup(&spec, "worker", 2);
  const auto specs = SpecsOf(std::move(spec));
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].trainer_socket, "/trainer");
  EXPECT_EQ(specs[0].no_reports, "");
  for (std::size_t rank = 1; rank < 3; ++rank) {
    EXPECT_EQ(specs[rank].trainer_socket, "");
    EXPECT_EQ(specs[rank].nonce, "") << "it is a secret between the trainer and rank 0";
    EXPECT_EQ(specs[rank].no_reports,
              "rank " + std::to_string(rank) + " does not report: rank 0 does");
  }
}

TEST(AttemptSpecTest, AJobThatIsNoTrialHasNobodyWhoReports) {
  msg::JobSpecT spec = Trial();
  spec.report_channel.reset();
  AddGroup(&spec, "worker", 2);
  for (const ShimSpec& one : SpecsOf(std::move(spec))) {
    EXPECT_EQ(one.trainer_socket, "");
    EXPECT_EQ(one.no_reports, "");
  }
}

}  // namespace
}  // namespace launcher
