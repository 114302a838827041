#include "tools/yard/sweep/sweep_view.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bus/schema/trainer_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Stage = msg::SweepStage;

std::unique_ptr<msg::SweepTrialT> Trial(std::uint64_t number, Stage stage,
                                        const std::string& config) {
  auto trial = std::make_unique<msg::SweepTrialT>();
  trial->number = number;
  trial->trial = "t-000" + std::to_string(number);
  trial->name = "digits-000" + std::to_string(number);
  trial->stage = stage;
  trial->config = config;
  trial->attempt = 1;
  return trial;
}

void SetValue(msg::SweepTrialT& trial, double value, double resource, std::int64_t ended_s) {
  trial.has_value = true;
  trial.value = value;
  trial.resource = resource;
  trial.started_us = 1'000'000;
  trial.ended_us = ended_s * 1'000'000;
}

msg::SweepDetailsReplyT Details() {
  msg::SweepDetailsReplyT details;
  details.sweep = std::make_unique<msg::SweepT>();
  details.sweep->id = "s-abcde";
  details.sweep->name = "digits";
  details.sweep->method = "tpe";
  details.sweep->metric = "loss";
  details.sweep->run_cap = 10;
  details.sweep->trials = 4;
  details.sweep->done = 1;
  details.sweep->stopped_early = 1;
  details.sweep->failed = 2;
  details.sweep->parallel = 2;
  details.trials.push_back(Trial(0, Stage::Done, R"({"lr":0.1,"opt":"adam","epochs":9})"));
  SetValue(*details.trials[0], 0.5, 9, 30);
  details.trials.push_back(Trial(1, Stage::StoppedEarly, R"({"lr":1e-3,"opt":"sgd","epochs":9})"));
  SetValue(*details.trials[1], 0.25, 3, 20);
  details.trials[1]->reason = "stopped at iteration 3";
  for (const std::uint64_t number : {2, 3}) {
    details.trials.push_back(Trial(number, Stage::Failed, R"({"lr":1,"opt":"a,b","epochs":9})"));
    details.trials.back()->reason = "exit code 1\x1b";
  }
  details.sweep->best = std::make_unique<msg::SweepTrialT>(*details.trials[1]);
  details.levels.push_back(std::make_unique<msg::SweepLevelT>());
  details.levels[0]->resource = 3;
  details.levels[0]->arrived = 2;
  details.levels[0]->went_on = 1;
  details.levels[0]->has_cutoff = true;
  details.levels[0]->cutoff = 0.3125;
  details.importance.push_back(std::make_unique<msg::SweepImportanceT>());
  details.importance[0]->parameter = "lr";
  details.importance[0]->importance = 0.75;
  auto marginal = std::make_unique<msg::SweepMarginalT>();
  marginal->parameter = "opt";
  marginal->bins.push_back(std::make_unique<msg::SweepBinT>());
  marginal->bins[0]->value = "\"sgd\"";
  marginal->bins[0]->trials = 1;
  marginal->bins[0]->best = marginal->bins[0]->median = 0.25;
  details.marginals.push_back(std::move(marginal));
  marginal = std::make_unique<msg::SweepMarginalT>();
  marginal->parameter = "lr";
  marginal->bins.push_back(std::make_unique<msg::SweepBinT>());
  marginal->bins[0]->low = 1e-3;
  marginal->bins[0]->high = 0.1;
  marginal->bins[0]->trials = 2;
  marginal->bins[0]->best = 0.25;
  marginal->bins[0]->median = 0.375;
  details.marginals.push_back(std::move(marginal));
  return details;
}

TEST(SweepViewTest, ALineSaysHowItStands) {
  EXPECT_EQ(SweepLine(*Details().sweep),
            "s-abcde digits running, 4 of 10 trials: 1 done, 1 stopped early, 2 failed, best loss "
            "0.25 of digits-0001");
  const auto details = Details();
  EXPECT_EQ(SweepTrialLine(*details.sweep, *details.trials[1]),
            "digits-0001  stopped early  loss 0.25 at 3  lr=0.001 opt=sgd epochs=9  stopped at "
            "iteration 3");
}

TEST(SweepViewTest, TheReportHasWhatASweepHasFound) {
  const std::string text = SweepReport(Details(), {});
  EXPECT_THAT(text,
              AllOf(HasSubstr("trials     4 of 10 trials: 1 done"),
                    HasSubstr("best       loss 0.25 of digits-0001"),
                    HasSubstr("digits-0001  0.25   3  stopped early  0.001  sgd"),
                    HasSubstr("LEVEL  ARRIVED  WENT ON"), HasSubstr("lr               0.75"),
                    HasSubstr("failed     2 \u00d7 exit code 1"),
                    HasSubstr("digits-0002, digits-0003"), HasSubstr("spent      12 iterations: "),
                    HasSubstr("48 s of trials: 29 s done, 19 s stopped early")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr(" epochs "))));
  EXPECT_THAT(text, AllOf(HasSubstr("    3        2        1   0.3125     -"),
                          HasSubstr("opt        sgd                1  0.25    0.25\n"),
                          HasSubstr("lr         0.001 to 0.1       2  0.25   0.375\n")));
}

TEST(SweepViewTest, ProgressIsInTheOrderOfTheEnds) {
  const auto details = Details();
  const auto progress = ProgressOf(details);
  ASSERT_EQ(progress.size(), 2u);
  EXPECT_EQ(progress[0].trial->number, 1u);
  EXPECT_EQ(progress[1].best, 0.25);
}

TEST(SweepViewTest, AValueThatIsNoNumberRanksLastAndIsNoProgress) {
  auto details = Details();
  details.trials[0]->value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(ProgressOf(details).size(), 1u);
  const std::string text = SweepReport(details, {});
  EXPECT_LT(text.find("digits-0001  "), text.find("digits-0000  "));
}

TEST(SweepViewTest, AScheduleIsAChainOfTrials) {
  auto details = Details();
  details.trials[1]->has_from = true;
  details.trials[1]->from = 0;
  details.trials[1]->from_resource = 3;
  EXPECT_EQ(SweepSchedule(details),
            "FROM  TRIAL        CONFIGURATION\n"
            "   0  digits-0000  lr=0.1 opt=adam epochs=9\n"
            "   3  digits-0001  lr=0.001 opt=sgd epochs=9\n");
  const auto object = SweepScheduleJson(details);
  EXPECT_EQ(object["kind"], "schedule");
  EXPECT_EQ(object["schedule"][1]["from"], 3);
  EXPECT_EQ(object["schedule"][1]["config"]["lr"], 0.001);
  EXPECT_THAT(SweepSchedulePlan(details),
              AllOf(HasSubstr(R"([{"from":0,"config":{"lr":0.1,)"), HasSubstr(R"({"from":3,)")));
  details.sweep->best = nullptr;
  EXPECT_EQ(SweepSchedule(details), "");
}

TEST(SweepViewTest, ATrialThatDidNothingIsNotInTheSchedule) {
  auto details = Details();
  details.trials[1]->has_from = true;
  details.trials[1]->from = 0;
  details.trials[1]->from_resource = 0;
  ASSERT_EQ(ScheduleOf(details).size(), 1u);
  EXPECT_EQ(ScheduleOf(details)[0].trial->number, 1u);
}

TEST(SweepViewTest, CsvHasAColumnAParameter) {
  auto details = Details();
  details.trials.erase(details.trials.begin());
  const std::string text = SweepCsv(details);
  EXPECT_THAT(text, HasSubstr("number,trial,name,state,value,resource,attempt,started,ended,reason,"
                              "config/lr,config/opt,config/epochs\r\n1,t-0001,digits-0001,stopped "
                              "early,0.25,3,1,"));
  EXPECT_THAT(text, HasSubstr(",exit code 1\x1b,1,\"a,b\",9\r\n"));
  EXPECT_THAT(SweepCsv(details, true), Not(HasSubstr("\x1b")));
}

void SetSecond(msg::SweepDetailsReplyT& details) {
  for (const bool maximize : {false, true}) {
    details.sweep->objectives.push_back(std::make_unique<msg::SweepObjectiveT>());
    details.sweep->objectives.back()->metric = maximize ? "speed" : "loss";
    details.sweep->objectives.back()->maximize = maximize;
  }
  details.trials[0]->values = {0.5, 40};
  details.trials[1]->values = {0.25, 30};
  details.sweep->front = {1, 0};
}

TEST(SweepViewTest, OfTwoMetricsTheFrontIsTheBest) {
  auto details = Details();
  SetSecond(details);
  const std::string text = SweepReport(details, {});
  EXPECT_THAT(text, AllOf(HasSubstr("metric     minimize loss, maximize speed"),
                          HasSubstr("best       a front of 2 trials\n"),
                          HasSubstr("TRIAL        loss  speed  AT  STATE"),
                          HasSubstr("digits-0001  0.25     30   3  stopped early")));
  EXPECT_LT(text.find("digits-0001  "), text.find("digits-0000  "));
  EXPECT_THAT(SweepTrialLine(*details.sweep, *details.trials[0]),
              HasSubstr("loss 0.5, speed 40 at 9"));
  EXPECT_THAT(SweepCsv(details), AllOf(HasSubstr(",reason,value/speed,config/lr"),
                                       HasSubstr(",stopped at iteration 3,30,0.001")));
}

TEST(SweepViewTest, WhoBreaksAConstraintComesLastAndIsCounted) {
  auto details = Details();
  details.trials[1]->breaks = "ms <= 20";
  details.sweep->best = std::make_unique<msg::SweepTrialT>(*details.trials[0]);
  const std::string text = SweepReport(details, {});
  EXPECT_LT(text.find("digits-0000  "), text.find("digits-0001  "));
  EXPECT_THAT(text, AllOf(HasSubstr("BREAKS"), HasSubstr("breaks     1 trial: ms <= 20\n")));
  EXPECT_THAT(SweepTrialLine(*details.sweep, *details.trials[1]), HasSubstr("breaks ms <= 20"));
  EXPECT_THAT(SweepCsv(details), AllOf(HasSubstr(",reason,breaks,config/lr"),
                                       HasSubstr(",stopped at iteration 3,ms <= 20,0.001")));
  EXPECT_EQ(ProgressOf(details).size(), 1u);
}

}  // namespace
}  // namespace yard
