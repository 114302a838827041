#include "tools/yard/slurm/slurm_view.h"

#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using Phase = SlurmPoolState::Phase;
using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

KnownSlurmPool Known(Phase phase) {
  return {.pool = {.pool = "lab", .nodes = 2},
          .state = {.name = "y-lab-1-0badcafe",
                    .phase = phase,
                    .slurm_id = "17",
                    .state = "PENDING",
                    .reason = "Priority",
                    .node_list = "node[1-2]",
                    .end_us = absl::ToUnixMicros(kNow + absl::Hours(7))}};
}

TEST(SlurmViewTest, ALineSaysHowFarTheAllocationIs) {
  EXPECT_EQ(SlurmLine(Known(Phase::kWaiting), kNow), "Slurm job 17 waits: Priority");
  EXPECT_EQ(SlurmLine(Known(Phase::kRunning), kNow),
            "Slurm job 17 runs on node[1-2], for 7 h more");
  EXPECT_EQ(SlurmLine(Known(Phase::kSubmitting), kNow), "Slurm is asked for 2 nodes");
  KnownSlurmPool refused = Known(Phase::kRefused);
  refused.state.why = "sbatch: error: invalid\x1b[2J";
  EXPECT_THAT(SlurmLine(refused, kNow), HasSubstr("sbatch: error: invalid"));
  EXPECT_EQ(SlurmLine(refused, kNow).find('\x1b'), std::string::npos);
}

TEST(SlurmViewTest, ATableHasARowForEachPool) {
  const std::string table = SlurmTable({Known(Phase::kWaiting)}, kNow, 0);
  EXPECT_THAT(table, testing::ContainsRegex("lab +slurm +17 +waiting +Priority +2 +- +node"));
  EXPECT_THAT(SlurmTable({Known(Phase::kRunning)}, kNow, 0), HasSubstr("7 h"));
  KnownSlurmPool second = Known(Phase::kRunning);
  second.state.last_end = "Slurm: PREEMPTED (Slurm job 12)";
  EXPECT_THAT(SlurmTable({second}, kNow, 0), HasSubstr("PREEMPTED (Slurm job 12)"));
}

TEST(SlurmViewTest, WhatIsNotKnownIsNullAsJson) {
  const nlohmann::json json = SlurmPoolToJson({.pool = {.pool = "lab"}, .state = {}});
  for (const char* const key : {"slurm_id", "cluster", "state", "reason", "hosts", "ends", "why",
                                "submitted", "allocation", "last_end"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  EXPECT_EQ(SlurmPoolToJson(Known(Phase::kRunning))["hosts"], "node[1-2]");
}

}  // namespace
}  // namespace yard
