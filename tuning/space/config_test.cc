#include "tuning/space/config.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using testing::HasSubstr;

Space Conditional() {
  return *Space::Create(
      {{.name = "lr", .low = 1e-5, .high = 1},
       {.name = "opt \"x\"", .kind = Kind::kCategory, .values = {"\"sgd\"", "null"}},
       {.name = "momentum",
        .low = 0,
        .high = 1,
        .when = {{.parameter = "opt \"x\"", .values = {"\"sgd\""}}}}});
}

TEST(ConfigTest, AConfigIsWrittenAndReadBack) {
  const Space space = Conditional();
  const Point point = {1e-5, 0, 0.5};
  const Config config = ConfigOf(space, point, {{"epochs", "81"}});
  EXPECT_EQ(ConfigText(config), R"({"lr":1e-05,"opt \"x\"":"sgd","momentum":0.5,"epochs":81})");
  const auto read = ParseConfig(ConfigText(config));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, config);
  EXPECT_EQ(*PointOf(space, *read), point);
}

TEST(ConfigTest, WhatIsNotActiveIsNotThere) {
  const Space space = Conditional();
  const Point point = {0.25, 1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(ConfigText(ConfigOf(space, point)), R"({"lr":0.25,"opt \"x\"":null})");
  EXPECT_TRUE(std::isnan(PointOf(space, *ParseConfig(R"({"lr":1,"opt \"x\"":null})"))->at(2)));
}

TEST(ConfigTest, WhatDoesNotFitIsNamed) {
  const Space space = Conditional();
  const auto why = [&](std::string text) {
    return std::string(PointOf(space, *ParseConfig(text)).status().message());
  };
  EXPECT_THAT(why(R"({"lr":2,"opt \"x\"":null})"), HasSubstr("parameter lr: 2 is not from"));
  EXPECT_THAT(why(R"({"lr":1})"), HasSubstr("parameter opt \"x\" has no value"));
  EXPECT_THAT(why(R"({"lr":1,"opt \"x\"":"adam"})"), HasSubstr("has no value \"adam\""));
  EXPECT_FALSE(ParseConfig("[1]").ok());
  EXPECT_FALSE(ParseConfig("{").ok());
}

}  // namespace
}  // namespace tuning
