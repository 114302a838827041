#include "tools/yard/slurm/slurm_keys.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SlurmPool With(const std::string& key, const std::string& value) {
  SlurmPool pool;
  const absl::Status set = SetSlurmKey(key, value, &pool);
  EXPECT_TRUE(set.ok()) << set;
  return pool;
}

TEST(SlurmKeysTest, TimesAreThoseOfTheYardAndThoseOfSlurm) {
  EXPECT_EQ(With("time", "8h").time_minutes, 480);
  EXPECT_EQ(With("time", "90s").time_minutes, 2);
  EXPECT_EQ(With("time", "8:00:00").time_minutes, 480);
  EXPECT_EQ(With("time", "0:00:30").time_minutes, 1);
  EXPECT_EQ(With("time", "1-12").time_minutes, 36 * 60);
  EXPECT_EQ(With("time", "1-12:30").time_minutes, 36 * 60 + 30);
  EXPECT_EQ(With("time", "1-0:0:0").time_minutes, 24 * 60);
}

TEST(SlurmKeysTest, ANumberThatSlurmAndTheYardReadDifferentlyIsRefused) {
  for (const char* const text : {"30", "1.5", "30:00", "abc", "", "0s", "1-", "1:2:3:4", "-1h"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckSlurmValue("time", text))) << text;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(CheckSlurmValue("memory", "4096")));
}

TEST(SlurmKeysTest, EveryKeyIsTaken) {
  EXPECT_EQ(With("nodes", "4").nodes, 4);
  EXPECT_EQ(With("partition", "gpu").partition, "gpu");
  EXPECT_EQ(With("account", "a1").account, "a1");
  EXPECT_EQ(With("qos", "high").qos, "high");
  EXPECT_EQ(With("constraint", "a&b").constraint, "a&b");
  EXPECT_EQ(With("gpus", "a100:2").gpus, "a100:2");
  EXPECT_EQ(With("cpus", "16").cpus, 16);
  EXPECT_EQ(With("memory", "4GiB").memory_mib, 4096);
  EXPECT_THAT(With("exclude", "n1,n[2-3,5],m").exclude, ElementsAre("n1", "n[2-3,5]", "m"));
  EXPECT_THAT(With("sbatch", "--a  --b=c").sbatch_words, ElementsAre("--a", "--b=c"));
  EXPECT_EQ(With("slots", "3").slots, 3);
  EXPECT_EQ(With("directory", "/d").directory, "/d");
  EXPECT_THAT(With("gate", "tcp://a:1,tcp://b:2").gate, ElementsAre("tcp://a:1", "tcp://b:2"));
  EXPECT_EQ(With("drain", "5m").drain_seconds, 300);
  EXPECT_EQ(With("idle", "30s").idle_seconds, 30);
}

TEST(SlurmKeysTest, AnErrorNamesTheKeyAndTheNearestOne) {
  EXPECT_THAT(std::string(CheckSlurmValue("partitoin", "x").message()), HasSubstr("partition?"));
  EXPECT_THAT(std::string(CheckSlurmValue("nodes", "0").message()), HasSubstr("nodes: expected"));
  EXPECT_THAT(std::string(CheckSlurmValue("partition", "-p").message()), HasSubstr("partition"));
  EXPECT_THAT(std::string(CheckSlurmValue("gate", "login1:7711").message()), HasSubstr("tcp://"));
  SlurmPool pool;
  EXPECT_THAT(std::string(SetSlurmValues({{"nodes", "x"}}, "--", &pool).message()),
              testing::StartsWith("--nodes: "));
  SlurmValues values;
  EXPECT_TRUE(AddSlurmAssignment("time=8h", &values).ok());
  EXPECT_EQ(values["time"], "8h");
  EXPECT_TRUE(absl::IsInvalidArgument(AddSlurmAssignment("time", &values)));
  EXPECT_TRUE(absl::IsInvalidArgument(AddSlurmAssignment("=x", &values)));
}

TEST(SlurmKeysTest, AJobGetsAsManyNodesAsItsTasksNeed) {
  EXPECT_EQ(NodesForTasks(0, {}), 1);
  EXPECT_EQ(NodesForTasks(6, {}), 6);
  EXPECT_EQ(NodesForTasks(6, {.cpus = 4}), 2);
  EXPECT_EQ(NodesForTasks(6, {.cpus = 4, .slots = 2}), 3);
}

}  // namespace
}  // namespace yard
