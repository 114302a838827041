#include "tools/yard/configuration/settings.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/yard/state/service_names.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Wanted Full() {
  Wanted wanted{.logdir = "/runs",
                .trainer = "/t",
                .resources = {"gpu=0,1", "slots=4"},
                .datamanager = {"cache_mb=512"},
                .slots = 3,
                .logdir_was_given = true};
  for (const std::string_view service : kAllServices) {
    wanted.flags[std::string(service)] = {"log_level=debug"};
  }
  wanted.flags["trainer"].push_back("keep_trials=7");
  wanted.flags["web"].push_back("port=7711");
  return wanted;
}

TEST(SettingsTest, AWantedIsItsSettingsByTheirKeys) {
  EXPECT_THAT(
      SettingsOf(Full()),
      UnorderedElementsAre(Pair("logdir", "/runs"), Pair("trainer", "/t"), Pair("slots", "3"),
                           Pair("resources", "gpu=0,1 slots=4"), Pair("log_level", "debug"),
                           Pair("keep_trials", "7"), Pair("services.datamanager.cache_mb", "512"),
                           Pair("services.web.port", "7711")));
  EXPECT_THAT(SettingsOf({.logdir = "/by/default"}), IsEmpty());
}

TEST(SettingsTest, AFlagThatOnlySomeServicesHaveIsOneOfEach) {
  Wanted wanted = Full();
  wanted.flags["launcher"] = {"log_level=error"};
  const auto settings = SettingsOf(wanted);
  EXPECT_FALSE(settings.contains("log_level"));
  EXPECT_EQ(settings.at("services.launcher.log_level"), "error");
  EXPECT_EQ(settings.at("services.web.log_level"), "debug");
}

TEST(SettingsTest, TheOtherSettingsAreNamed) {
  Wanted other = Full();
  EXPECT_THAT(DifferentSettings(Full(), other), IsEmpty());
  other.origins["slots"] = "a.yaml:3";  // The origin is not part of the comparison.
  EXPECT_THAT(DifferentSettings(Full(), other), IsEmpty());
  other.slots = 0;
  other.datamanager = {"cache_mb=1", "index_bytes=0"};
  EXPECT_THAT(
      DifferentSettings(Full(), other),
      ElementsAre("services.datamanager.cache_mb", "services.datamanager.index_bytes", "slots"));
}

TEST(SettingsTest, FlagsWinOverAFileOneByOne) {
  Wanted flags;
  flags.slots = 8;
  flags.flags["web"] = {"port=1"};
  flags.datamanager = {"log_level=error"};
  const auto settings = SettingsOf(Over(Full(), flags));
  EXPECT_EQ(settings.at("slots"), "8");
  EXPECT_EQ(settings.at("services.web.port"), "1");
  EXPECT_EQ(settings.at("services.web.log_level"), "debug");
  EXPECT_EQ(settings.at("services.datamanager.log_level"), "error");
  EXPECT_EQ(settings.at("services.datamanager.cache_mb"), "512");
  EXPECT_EQ(settings.at("resources"), "gpu=0,1 slots=4");
  // Each flag appears once.
  EXPECT_THAT(Over(Full(), flags).flags.at("web"),
              UnorderedElementsAre("log_level=debug", "port=1"));
}

TEST(SettingsTest, TheLastOfAFlagCounts) {
  EXPECT_THAT(LastOfEach({"a=1", "b=2", "a=3"}), ElementsAre("b=2", "a=3"));
}

}  // namespace
}  // namespace yard
