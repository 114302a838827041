#include "trainer/report/metric_rule.h"

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

TEST(MetricRuleTest, ComparesAsItIsWritten) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    const char* text;
    double value;
    bool is_met;
  };
  for (const auto& [text, value, is_met] :
       {Case{"loss>10", 10, false}, Case{"loss>10", 10.5, true}, Case{"loss>=10", 10, true},
        Case{"loss<-1e3", -1000, false}, Case{"loss<=-1e3", -1000, true},
        Case{"loss>10", infinity, true}, Case{"loss>10", nan, false},
        Case{"loss<10", nan, false}}) {
    const auto rule = MetricRule::Parse(text);
    ASSERT_TRUE(rule.ok()) << rule.status();
    EXPECT_EQ(rule->metric(), "loss");
    EXPECT_EQ(rule->IsMetBy(value), is_met) << text << " of " << value;
  }
}

TEST(MetricRuleTest, TheNameOfTheMetricMayHoldAnything) {
  const auto rule = MetricRule::Parse("  eval/a<b> loss  >= 0.5 ");
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_EQ(rule->metric(), "eval/a<b> loss");
  EXPECT_EQ(rule->text(), "eval/a<b> loss  >= 0.5");
  EXPECT_TRUE(rule->IsMetBy(0.5));
}

TEST(MetricRuleTest, SaysWhatIsWrongAndHowARuleLooks) {
  struct Case {
    std::string text;
    const char* words;
  };
  for (const auto& [text, words] :
       {Case{"", "no comparison"}, Case{"loss", "no comparison"}, Case{">10", "no metric"},
        Case{"loss>", "no number"}, Case{"loss>ten", "no number"}, Case{"loss>inf", "no number"},
        Case{"loss==1", "no comparison"}, Case{"a\xff>1", "not UTF-8"},
        Case{std::string(301, 'a') + ">1", "longer than"}}) {
    const auto rule = MetricRule::Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(rule.status())) << text;
    EXPECT_THAT(rule.status().message(), HasSubstr(words)) << text;
    EXPECT_THAT(rule.status().message(), HasSubstr("such as loss>10"));
  }
}

TEST(MetricRuleTest, ThereAreNotAnyNumberOfRules) {
  const std::vector<std::string> many(kMostMetricRules + 1, "loss>1");
  EXPECT_TRUE(absl::IsInvalidArgument(MetricRule::ParseAll(many).status()));
  EXPECT_TRUE(MetricRule::ParseAll({many.begin(), many.end() - 1}).ok());
}

}  // namespace
}  // namespace trainer
