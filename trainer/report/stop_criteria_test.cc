#include "trainer/report/stop_criteria.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

msg::TrialOptionsT Stop(const std::string& stop) {
  msg::TrialOptionsT options;
  options.stop = stop;
  return options;
}
msg::TrialOptionsT Plateau(const std::string& plateau) {
  msg::TrialOptionsT options;
  options.plateau = plateau;
  return options;
}

// Returns the verdict on a report with these metrics: "" to continue, or "ERR ..." for an error.
std::string Judged(const msg::TrialOptionsT& options, const std::string& metrics,
                   bool done = false) {
  const auto criteria = StopCriteria::From(options);
  EXPECT_TRUE(criteria.ok()) << criteria.status();
  StopCriteria::Report report;
  report.number = 1;
  report.result = *FlattenMetrics(metrics);
  report.done = done;
  report.says_only_done = done && (metrics == "{}" || metrics == R"({"done":true})");
  const auto verdict = criteria->Judge(report);
  if (!verdict.ok()) return absl::StrCat("ERR ", verdict.status().message());
  return verdict->value_or("");
}

// Returns the report in which a trial with these values (JSON; "": no value) reaches a plateau; 0:
// none.
int PlateauAt(const std::string& options, const std::vector<std::string>& values) {
  const auto criteria = StopCriteria::From(Plateau(options));
  EXPECT_TRUE(criteria.ok()) << criteria.status();
  StopCriteria::Report report;
  for (const std::string& value : values) {
    ++report.number;
    report.result = *FlattenMetrics(value.empty() ? "{}" : absl::StrCat("{\"m\":", value, "}"));
    criteria->Remember(report.result, report.window);
    if (criteria->Judge(report)->has_value()) return static_cast<int>(report.number);
  }
  return 0;
}

TEST(StopCriteriaTest, ABoundIsReachedAtOrAboveIt) {
  const msg::TrialOptionsT options = Stop(R"({"training_iteration":10,"eval/acc":0.5})");
  EXPECT_EQ(Judged(options, R"({"training_iteration":9,"eval":{"acc":0.49}})"), "");
  EXPECT_EQ(Judged(options, R"({"training_iteration":10,"eval":{"acc":0.1}})"),
            "training_iteration has reached 10");
  EXPECT_EQ(Judged(options, R"({"training_iteration":1,"eval":{"acc":0.51}})"),
            "eval/acc has reached 0.5");
  EXPECT_EQ(Judged(options, R"({"training_iteration":1,"eval":{"acc":NaN}})"), "");
  EXPECT_EQ(Judged(options, R"({"training_iteration":1,"eval":{"acc":Infinity}})"),
            "eval/acc has reached 0.5");
}

TEST(StopCriteriaTest, ABoundMayBeOnEitherSide) {
  const auto judged = [](const char* bound, const char* value) {
    return Judged(Stop(absl::StrCat("{\"loss\":", bound, "}")),
                  absl::StrCat("{\"loss\":", value, "}"));
  };
  EXPECT_EQ(judged(R"("<0.02")", "0.02"), "");
  EXPECT_EQ(judged(R"("<0.02")", "0.019"), "loss has fallen below 0.02");
  EXPECT_EQ(judged(R"("<=0.02")", "0.021"), "");
  EXPECT_EQ(judged(R"("<=0.02")", "0.02"), "loss has fallen to 0.02");
  EXPECT_EQ(judged(R"(">-1e3")", "-1000"), "");
  EXPECT_EQ(judged(R"(">-1e3")", "-999"), "loss has risen above -1000");
  EXPECT_EQ(judged(R"(">=2")", "2"), "loss has reached 2");
  EXPECT_EQ(judged(R"("<5")", "NaN"), "");
  EXPECT_EQ(judged(R"(["<0.1",">100"])", "5"), "");
  EXPECT_EQ(judged(R"(["<0.1",">100"])", "101"), "loss has risen above 100");
  EXPECT_EQ(judged(R"(["<0.1",100])", "0"), "loss has fallen below 0.1");
}

TEST(StopCriteriaTest, AMissingOneWaits) {
  const msg::TrialOptionsT options = Stop(R"({"acc":1,"loss":"<0.5"})");
  EXPECT_EQ(Judged(options, R"({"a":{"b":2}})"), "");
  EXPECT_EQ(Judged(options, R"({"loss":0.4})"), "loss has fallen below 0.5");
  EXPECT_EQ(Judged(options, R"({"acc":2})"), "acc has reached 1");
  EXPECT_EQ(Judged(options, R"({"acc":"high"})"),
            "ERR the stop criterion \"acc\" is no number in the report");
}

TEST(StopCriteriaTest, AMissingOneThatIsRequiredIsAnErrorThatNamesWhatThereIs) {
  msg::TrialOptionsT options = Stop(R"({"acc":1})");
  options.required_metrics = {"acc"};
  EXPECT_EQ(Judged(options, R"({"loss":1,"a":{"b":2}})"),
            "ERR the required metric \"acc\" is not in the report; it has: loss, a/b");
  std::string many = "{\"x0\":0";
  for (int i = 1; i < 500; ++i) absl::StrAppend(&many, ",\"x", i, "\":0");
  const std::string error = Judged(options, many + "}");
  EXPECT_THAT(error, HasSubstr("x19 and 480 more"));
  EXPECT_LT(error.size(), 300u);
}

TEST(StopCriteriaTest, RequiredMetrics) {
  msg::TrialOptionsT options;
  options.required_metrics = {"loss", "eval/acc"};
  EXPECT_EQ(Judged(options, R"({"loss":null,"eval":{"acc":1}})"), "");
  EXPECT_EQ(Judged(options, R"({"loss":1})"),
            "ERR the required metric \"eval/acc\" is not in the report; it has: loss");
  EXPECT_THAT(Judged(options, R"({"loss":1,"done":true})", true), HasSubstr("eval/acc"));
  EXPECT_EQ(Judged(options, R"({"done":true})", true), "");
  EXPECT_EQ(Judged(options, "{}", true), "");
  EXPECT_THAT(Judged(options, "{}"), HasSubstr("loss"));
}

TEST(StopCriteriaTest, TheTimeBudget) {
  msg::TrialOptionsT options;
  options.time_budget_ms = 1500;
  const auto criteria = StopCriteria::From(options);
  EXPECT_EQ(criteria->time_budget(), absl::Milliseconds(1500));
  EXPECT_EQ(criteria->TimeBudgetWords(), "its time budget of 1.5s is used up");
  EXPECT_TRUE(criteria->empty()) << "no report has to do with it";
}

// The first three cases are upstream's own.
TEST(StopCriteriaTest, APlateau) {
  std::vector<std::string> values = {"10", "11", "12"};
  values.insert(values.end(), 10, "20");
  EXPECT_EQ(PlateauAt(R"({"metric":"m","num_results":4})", values), 7);
  EXPECT_EQ(PlateauAt(R"({"metric":"m","num_results":4,"grace_period":9})", values), 9);
  EXPECT_EQ(
      PlateauAt(R"({"metric":"m","num_results":4,"metric_threshold":22,"mode":"max"})", values), 0);
  EXPECT_EQ(PlateauAt(R"({"metric":"m","metric_threshold":20,"mode":"max"})", values), 7);
  EXPECT_EQ(PlateauAt(R"({"metric":"m","metric_threshold":20,"mode":"min"})", values), 7);
  EXPECT_EQ(PlateauAt(R"({"metric":"m","metric_threshold":0,"mode":"min"})", values), 0);
  EXPECT_EQ(PlateauAt(R"({"metric":"m","num_results":1,"grace_period":0})", values), 1);
  EXPECT_EQ(PlateauAt(R"({"metric":"m","std":100})", values), 4);
  EXPECT_EQ(PlateauAt(R"({"metric":"m","std":0})", values), 0) << "under it, not at it";
  EXPECT_EQ(PlateauAt(R"({"metric":"other"})", values), 0);
}

TEST(StopCriteriaTest, AReportWithoutAValueIsNoPlateau) {
  EXPECT_EQ(PlateauAt(R"({"metric":"m"})", {"1", "1", "", "1", "", "1", "1"}), 6)
      << "one without the metric counts for nothing";
  EXPECT_EQ(PlateauAt(R"({"metric":"m","grace_period":6})", {"1", "1", "1", "1", "1", "", "1"}), 7);
  EXPECT_EQ(PlateauAt(R"({"metric":"m"})", {"1", "1", "1", "NaN", "1", "1", "1", "1"}), 8);
  EXPECT_EQ(PlateauAt(R"({"metric":"m"})", {"\"x\"", "1", "1", "1", "1"}), 5);
  EXPECT_EQ(PlateauAt(R"({"metric":"m"})", {"Infinity", "Infinity", "Infinity", "Infinity"}), 0);
}

TEST(StopCriteriaTest, RefusesWhatIsWrongByItsName) {
  const auto error = [](const msg::TrialOptionsT& options) {
    const auto criteria = StopCriteria::From(options);
    EXPECT_EQ(criteria.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(criteria.status().message());
  };
  EXPECT_EQ(error(Stop(R"({"a":{"b":1}})")),
            "the stop criterion \"a\" is an object: write its path, \"a/b\"");
  EXPECT_THAT(error(Stop(R"({"a":{"b":{"c":1}}})")), HasSubstr("write its path, \"a/b/c\""));
  EXPECT_THAT(error(Stop(R"({"a":{"b":{}}})")), HasSubstr("write its path, \"a/b/NAME\""));
  for (const char* text : {"<", "<x", "=1", "<>1", "!1", "<NaN", "1", ""}) {
    EXPECT_THAT(error(Stop(absl::StrCat("{\"a\":\"", text, "\"}"))),
                HasSubstr("a text such as \"<0.5\""))
        << text;
  }
  EXPECT_THAT(error(Stop(R"({"a":[]})")), HasSubstr("\"a\" needs"));
  EXPECT_THAT(error(Stop(R"({"a":[[1]]})")), HasSubstr("\"a\" needs"));
  EXPECT_THAT(error(Stop(R"({"a":"x"})")), HasSubstr("\"a\" needs a name and a finite number"));
  EXPECT_THAT(error(Stop(R"({"a":NaN})")), HasSubstr("finite"));
  EXPECT_THAT(error(Stop(R"({"":1})")), HasSubstr("name"));
  EXPECT_THAT(error(Stop("[1]")), HasSubstr("stop must be a JSON object"));
  EXPECT_THAT(error(Stop("{")), HasSubstr("stop: "));
  EXPECT_THAT(error(Stop(std::string(70'000, ' '))), HasSubstr("70000 bytes"));
  std::string many = "{\"x\":0";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&many, ",\"x", i, "\":0");
  EXPECT_THAT(error(Stop(many + "}")), HasSubstr("101 criteria"));
  EXPECT_THAT(error(Plateau("{}")), HasSubstr("\"metric\""));
  EXPECT_THAT(error(Plateau(R"({"metric":3})")), HasSubstr("metric must be the name"));
  EXPECT_THAT(error(Plateau(R"({"metric":"m","std":-1})")), HasSubstr("std must be"));
  EXPECT_THAT(error(Plateau(R"({"metric":"m","num_results":0})")), HasSubstr("num_results must"));
  EXPECT_THAT(error(Plateau(R"({"metric":"m","num_results":1001})")), HasSubstr("1 to 1000"));
  EXPECT_THAT(error(Plateau(R"({"metric":"m","grace_period":1.5})")), HasSubstr("grace_period"));
  EXPECT_THAT(error(Plateau(R"({"metric":"m","mode":"best"})")), HasSubstr("mode must be"));
  EXPECT_THAT(error(Plateau(R"({"metric":"m","metric_threshold":1})")), HasSubstr("needs a mode"));
  EXPECT_THAT(error(Plateau(R"({"metric":"m","patience":1})")),
              HasSubstr("no option \"patience\"; there are: metric,"));
  msg::TrialOptionsT options;
  options.required_metrics = {""};
  EXPECT_THAT(error(options), HasSubstr("required_metrics"));
  options = {};
  options.time_budget_ms = std::uint64_t{1} << 63;
  EXPECT_THAT(error(options), HasSubstr("time_budget_ms"));
}

TEST(StopCriteriaTest, NullLeavesAnOptionOfAPlateauOut) {
  EXPECT_EQ(
      PlateauAt(R"({"metric":"m","metric_threshold":null,"mode":null})", {"1", "1", "1", "1"}), 4);
}

TEST(StopCriteriaTest, WithoutOptionsThereIsNothingToJudge) {
  EXPECT_TRUE(StopCriteria::From({})->empty());
  EXPECT_FALSE(StopCriteria::From(Stop(R"({"a":1})"))->empty());
}

}  // namespace
}  // namespace trainer
