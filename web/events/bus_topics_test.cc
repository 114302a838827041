#include "web/events/bus_topics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace web {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(BusTopicsTest, ATopicOfThePageIsAPrefixOfTheBus) {
  EXPECT_THAT(BusPrefixesOf("yard"), ElementsAre("t/", "s/launcher/", "$sys/reg/", "a/"));
  EXPECT_THAT(BusPrefixesOf("run:sweep/a"), ElementsAre("m/sweep$2Fa/"));
  EXPECT_THAT(BusPrefixesOf("logs:j-abcde"), ElementsAre("l/j-abcde/"));
  EXPECT_THAT(BusPrefixesOf("sweep:s-abcde"), ElementsAre("t/s-abcde/"));
}

TEST(BusTopicsTest, OthersAreNone) {
  for (const char* topic : {"", "yards", "run:", "logs:", "sweep:", "m/a/", "e/"}) {
    EXPECT_THAT(BusPrefixesOf(topic), IsEmpty()) << topic;
    EXPECT_FALSE(IsTopic(topic)) << topic;
  }
}

}  // namespace
}  // namespace web
