#include "tools/yard/pool/pool_jobs.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

const KeptHost kHost = {.pool = "lab", .host = {.address = "ann@gpu1", .node = "gpu1"}, .slots = 3};

// Returns the job that the launcher makes from a spec.
msg::JobT JobOf(const msg::JobSpecT& spec) {
  msg::JobT job;
  job.id = "j-abcde";
  job.argv = spec.argv;
  for (const auto& label : spec.labels) {
    job.labels.push_back(std::make_unique<msg::KeyValueT>(*label));
  }
  return job;
}

TEST(PoolJobsTest, TheJobOfAHostComesBackWithTheYard) {
  const auto spec = JobOfHost(kHost, "/opt/bin/yard", {"HOME=/home/ann", "YARD_AT=elsewhere"});
  EXPECT_EQ(spec.name, "pool-lab-gpu1");
  EXPECT_THAT(spec.argv, ElementsAre("/opt/bin/yard", "--keep_host", "lab", "ann@gpu1", "3"));
  EXPECT_THAT(spec.environment, Contains("HOME=/home/ann"));
  EXPECT_THAT(spec.environment, Not(Contains("YARD_AT=elsewhere")));
  EXPECT_EQ(spec.restart, msg::RestartPolicy::Always);
  EXPECT_TRUE(spec.autostart);
  EXPECT_TRUE(spec.keep_going);
}

TEST(PoolJobsTest, AJobTellsItsHost) {
  const auto host = HostOfJob(JobOf(JobOfHost(kHost, "yard", {})));
  ASSERT_TRUE(host.has_value());
  EXPECT_EQ(host->id, "j-abcde");
  EXPECT_EQ(host->pool, "lab");
  EXPECT_EQ(host->host, kHost.host);
}

TEST(PoolJobsTest, OtherJobsWithSuchLabelsAreLeftAlone) {
  auto spec = JobOfHost(kHost, "yard", {});
  spec.argv = {"python3", "train.py"};
  EXPECT_FALSE(HostOfJob(JobOf(spec)).has_value());
  auto unlabelled = JobOfHost(kHost, "yard", {});
  unlabelled.labels.clear();
  EXPECT_FALSE(HostOfJob(JobOf(unlabelled)).has_value());
}

TEST(PoolJobsTest, WordsOfTheTaskAreReadBack) {
  const auto kept = ReadKeepHostWords(KeepHostWords(kHost));
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->pool, "lab");
  EXPECT_EQ(kept->host, kHost.host);
  EXPECT_EQ(kept->slots, 3u);
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"--keep_host"},
                                              {"--keep_host", "lab", "a", "-1"},
                                              {"--keep_host", "Lab", "a", "0"},
                                              {"--keep_host", "lab", "-oProxyCommand=x", "0"}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadKeepHostWords(bad).status()));
  }
}

}  // namespace
}  // namespace yard
