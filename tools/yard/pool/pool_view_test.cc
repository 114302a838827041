#include "tools/yard/pool/pool_view.h"

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "bus/wire/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kSince = 1'700'000'000'000'000;

msg::NodeT Connected() {
  msg::NodeT node;
  node.pool = "lab";
  node.name = node.host = "gpu1";
  node.address = "ann@gpu1";
  node.state = msg::NodeState::Connected;
  node.since_us = kSince;
  node.cpus = 16;
  node.memory_bytes = 64'000'000'000;
  node.gpus = {"GPU-1", "GPU-2"};
  node.gpus_used = 1;
  node.slots = 4;
  node.slots_used = 3;
  node.version = std::string(bus::kVersion);
  node.tasks = {"j-abcde/worker-0"};
  return node;
}

TEST(PoolViewTest, ARowHasWhatIsUsedOfAll) {
  const std::string table =
      NodeTable({Connected()}, absl::FromUnixMicros(kSince) + absl::Minutes(5), 0);
  EXPECT_THAT(table, testing::ContainsRegex(
                         "lab +gpu1 +ann@gpu1 +connected +5 min +3/4 +16 +64.0 GB +1/2 +[0-9.]+"));
}

TEST(PoolViewTest, ANodeOfAnotherVersionSaysTheNextStep) {
  msg::NodeT node = Connected();
  EXPECT_FALSE(NodeToJson(node)["outdated"]);
  node.version = "0.0.7";
  EXPECT_THAT(
      NodeTable({node}, absl::FromUnixMicros(kSince), 0),
      testing::ContainsRegex("it runs version 0.0.7, and this is [0-9.]+; next: yard restart "
                             "pool-lab-gpu1, which ends its tasks"));
  EXPECT_TRUE(NodeToJson(node)["outdated"]);
  node.why = "cannot reach gpu1";
  EXPECT_THAT(NodeTable({node}, absl::FromUnixMicros(kSince), 0), Not(HasSubstr("restart")));
}

TEST(PoolViewTest, ANodeThatHasNeverConnectedHasNoFacts) {
  msg::NodeT node;
  node.pool = "lab";
  node.name = node.address = "gpu2";
  node.state = msg::NodeState::Away;
  node.why = "cannot reach gpu2: \x1b[2J";
  const std::string table = NodeTable({node}, absl::FromUnixMicros(kSince), 0);
  EXPECT_THAT(table, testing::ContainsRegex("gpu2 +gpu2 +away +- +- +- +- +- +cannot reach gpu2"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
  EXPECT_TRUE(NodeToJson(node)["version"].is_null());
}

TEST(PoolViewTest, JsonHasEveryField) {
  const nlohmann::json json = NodeToJson(Connected());
  EXPECT_EQ(json["kind"], "node");
  EXPECT_EQ(json["state"], "connected");
  EXPECT_EQ(json["gpus"].size(), 2u);
  EXPECT_EQ(json["tasks"][0], "j-abcde/worker-0");
  EXPECT_TRUE(json["why"].is_null());
}

}  // namespace
}  // namespace yard
