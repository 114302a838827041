#include "trainer/report/newest_metrics.h"

#include <string>

#include "gtest/gtest.h"

namespace trainer {
namespace {

TEST(NewestMetricsTest, NamesAreTheSameWhateverTheirValuesAre) {
  EXPECT_TRUE(HaveSameNames(R"({"a":1,"b":"x"})", R"({"a":-0.25,"b":"a\"},\"c\":"})"));
  EXPECT_TRUE(HaveSameNames(R"({"a":[1,{"x":2}],"b":{"c":NaN}})", R"({"a":null,"b":{"c":true}})"));
  EXPECT_TRUE(HaveSameNames("{}", "{}"));
  EXPECT_FALSE(HaveSameNames(R"({"a":1})", R"({"b":1})"));
  EXPECT_FALSE(HaveSameNames(R"({"a":1})", R"({"a":1,"b":1})"));
  EXPECT_FALSE(HaveSameNames(R"({"a":1,"b":1})", R"({"a":1})"));
  EXPECT_FALSE(HaveSameNames(R"({"a":{"b":1}})", R"({"a":{"c":1}})"));
  EXPECT_FALSE(HaveSameNames(R"({"a":{"b":1}})", R"({"a":1})"));
  EXPECT_FALSE(HaveSameNames("{}", R"({"a":1})"));
  EXPECT_FALSE(HaveSameNames(R"({"a\"":1})", R"({"a":1})"));
}

TEST(NewestMetricsTest, TheNewerValueComesFirstAndWins) {
  EXPECT_EQ(MergedMetrics(R"({"loss":0.50,"acc":1})", R"({"eval_loss":0.10,"loss":2e3})"),
            R"({"eval_loss":0.10,"loss":2e3,"acc":1})");
  EXPECT_EQ(MergedMetrics(R"({"eval":{"a":1,"b":NaN}})", R"({"eval":{"b":2}})"),
            R"({"eval":{"b":2,"a":1}})");
  EXPECT_EQ(MergedMetrics(R"({"x":{"a":1}})", R"({"x":"\u00e9"})"), R"({"x":"\u00e9"})");
  EXPECT_EQ(MergedMetrics(R"({"a\"b":[1,2]})", "{}"), R"({"a\"b":[1,2]})");
}

TEST(NewestMetricsTest, WithoutAnOlderOneItIsTheNewer) {
  EXPECT_EQ(MergedMetrics("", R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(MergedMetrics("damaged", R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(MergedMetrics("{\"b\":\"" + std::string(70'000, 'x') + "\"}", R"({"a":1})"),
            R"({"a":1})");
  EXPECT_EQ(MergedMetrics(R"({"a":1})", ""), "");
}

}  // namespace
}  // namespace trainer
