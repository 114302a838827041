#include "launcher/alert/machine_rules.h"

#include <memory>
#include <string>
#include <vector>

#include "bus/alert/alert_rows.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Raised(const MachineNews& news) {
  std::vector<std::string> causes;
  for (const bus::NewAlert& alert : news.raised) causes.push_back(alert.cause);
  return causes;
}

TEST(ParseBytesTest, TakesPowersOf1024) {
  EXPECT_EQ(*ParseBytes("0"), 0u);
  EXPECT_EQ(*ParseBytes("1024"), 1024u);
  EXPECT_EQ(*ParseBytes("2 KiB"), 2048u);
  EXPECT_EQ(*ParseBytes("1.5M"), 3u << 19);
  EXPECT_EQ(*ParseBytes("2GB"), std::uint64_t{2} << 30);
  for (const char* const wrong : {"", "x", "GiB", "2GX", "-1", "1e3", "2iB", "9999999P"}) {
    EXPECT_FALSE(ParseBytes(wrong).ok()) << wrong;
  }
}

TEST(DiskRuleTest, ADiskIsLowOnceUntilThereIsClearlyMoreRoom) {
  DiskRule rule(1000);
  EXPECT_THAT(Raised(rule.Look({{"/runs", 1, 5000}})), IsEmpty());
  const MachineNews news = rule.Look({{"/runs", 1, 999}});
  EXPECT_THAT(Raised(news), ElementsAre("disk//runs"));
  EXPECT_EQ(news.raised[0].alert.kind, "disk_low");
  EXPECT_EQ(news.raised[0].alert.name, "/runs");
  EXPECT_THAT(news.raised[0].alert.reason, HasSubstr("are free on the disk of /runs"));
  EXPECT_THAT(Raised(rule.Look({{"/runs", 1, 1}})), IsEmpty());
  EXPECT_THAT(rule.Look({{"/runs", 1, 1100}}).released, IsEmpty());
  EXPECT_THAT(Raised(rule.Look({{"/runs", 1, 900}})), IsEmpty());
  EXPECT_THAT(rule.Look({{"/runs", 1, 1250}}).released, ElementsAre("disk//runs"));
  EXPECT_THAT(Raised(rule.Look({{"/runs", 1, 900}})), ElementsAre("disk//runs"));
}

TEST(DiskRuleTest, ADiskOfTwoDirectoriesIsToldOnce) {
  DiskRule rule(1000);
  EXPECT_THAT(Raised(rule.Look({{"/runs", 1, 10}, {"/state", 1, 10}, {"/other", 2, 10}})),
              ElementsAre("disk//runs", "disk//other"));
}

TEST(DiskRuleTest, WithoutAFloorNoDiskIsLow) {
  EXPECT_THAT(Raised(DiskRule(0).Look({{"/runs", 1, 0}})), IsEmpty());
}

TEST(DiskRuleTest, AConditionOfAnEarlierLauncherMayBeOver) {
  EXPECT_THAT(DiskRule(1000).Look({{"/runs", 1, 5000}}).released, ElementsAre("disk//runs"));
}

msg::GpuUsageT Gpu(std::uint32_t index, const std::string& uuid) {
  msg::GpuUsageT gpu;
  gpu.index = index;
  gpu.uuid = uuid;
  gpu.name = "H100";
  return gpu;
}

TEST(GpuRuleTest, AGpuThatIsGoneOrSilentTwiceIsLost) {
  GpuRule rule;
  EXPECT_THAT(Raised(rule.Look({Gpu(0, "u0"), Gpu(1, "u1"), Gpu(2, "u2")})), IsEmpty());
  // One GPU is missing; another one has only its index.
  EXPECT_THAT(Raised(rule.Look({Gpu(0, "u0"), Gpu(1, "")})), IsEmpty());
  const MachineNews news = rule.Look({Gpu(0, "u0"), Gpu(1, "")});
  EXPECT_THAT(Raised(news), ElementsAre("gpu/u1", "gpu/u2"));
  EXPECT_EQ(news.raised[0].alert.name, "GPU 1");
  EXPECT_THAT(news.raised[0].alert.reason, HasSubstr("(H100, u1)"));
  EXPECT_THAT(Raised(rule.Look({Gpu(0, "u0")})), IsEmpty()) << "once";
  EXPECT_THAT(rule.Look({Gpu(0, "u0"), Gpu(1, "u1")}).released, ElementsAre("gpu/u1"));
  rule.Look({Gpu(0, "u0")});
  EXPECT_THAT(Raised(rule.Look({Gpu(0, "u0")})), ElementsAre("gpu/u1")) << "lost again";
}

TEST(GpuRuleTest, ASingleSlowAnswerIsNoLoss) {
  GpuRule rule;
  rule.Look({Gpu(0, "u0")});
  rule.Look({});
  EXPECT_THAT(Raised(rule.Look({Gpu(0, "u0")})), IsEmpty());
  rule.Look({});
  EXPECT_THAT(Raised(rule.Look({Gpu(0, "u0")})), IsEmpty());
}

}  // namespace
}  // namespace launcher
