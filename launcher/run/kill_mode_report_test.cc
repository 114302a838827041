#include "launcher/run/kill_mode_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace launcher {
namespace {

using ::testing::IsEmpty;

std::vector<KillModeOffer> Offers(bool cgroup2, bool freezer, bool subreaper, bool group) {
  return {{KillMode::kCgroup2, cgroup2, "in /c"},
          {KillMode::kFreezer, freezer, "in /f"},
          {KillMode::kNamespace, true, "where it is asked for"},
          {KillMode::kSubreaper, subreaper, "everywhere"},
          {KillMode::kGroup, group, "misses who leaves"}};
}

std::string Chosen(std::vector<KillModeOffer> offers) {
  return KillModeReport([&] { return offers; }).Get().chosen;
}

TEST(KillModeReportTest, TheBestThatIsOfferedIsChosenButNeverWhatTheTaskSees) {
  EXPECT_EQ(Chosen(Offers(true, true, true, false)), "cgroup2");
  EXPECT_EQ(Chosen(Offers(false, true, true, false)), "freezer");
  EXPECT_EQ(Chosen(Offers(false, false, true, false)), "subreaper");
  EXPECT_EQ(Chosen(Offers(false, false, false, true)), "group");
  EXPECT_EQ(Chosen(Offers(false, false, false, false)), "");
}

TEST(KillModeReportTest, TellsEachModeWithWhereOrWhyNot) {
  KillModeReport report([] { return Offers(false, true, true, false); });
  const auto reply = report.Get();
  ASSERT_EQ(reply.modes.size(), 5U);
  EXPECT_EQ(reply.modes[0]->name, "cgroup2");
  EXPECT_FALSE(reply.modes[0]->offered);
  EXPECT_EQ(reply.modes[1]->detail, "in /f");
  EXPECT_EQ(reply.modes[4]->name, "group");
}

TEST(KillModeReportTest, TheMachineIsProbedOnceHoweverManyAsk) {
  std::atomic<int> probes = 0;
  KillModeReport report([&] {
    ++probes;
    return Offers(true, true, true, true);
  });
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] { EXPECT_EQ(report.Get().chosen, "cgroup2"); });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(probes, 1);
}

TEST(KillModeReportTest, ThisMachineOffersAtLeastOneMode) {
  EXPECT_THAT(KillModeReport().Get().chosen, ::testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace launcher
