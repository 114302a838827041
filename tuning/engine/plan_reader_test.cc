#include "tuning/engine/plan_reader.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tuning/engine/plan.h"
#include "tuning/space/config.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A file in JSON with each entry on its own line.
PlanNode NodeOf(const nlohmann::ordered_json& json, int& line) {
  PlanNode node = {.line = line};
  if (json.is_object()) {
    node.kind = PlanNode::Kind::kMap;
    for (const auto& [name, value] : json.items()) {
      ++line;
      node.entries.emplace_back(name, NodeOf(value, line));
    }
  } else if (json.is_array()) {
    node.kind = PlanNode::Kind::kList;
    for (const auto& item : json) node.items.push_back(NodeOf(item, line));
  } else {
    node.kind = json.is_null()      ? PlanNode::Kind::kNull
                : json.is_boolean() ? PlanNode::Kind::kBool
                : json.is_number()  ? PlanNode::Kind::kNumber
                                    : PlanNode::Kind::kText;
    node.json = json.dump();
  }
  return node;
}

ReadPlanResult Read(const std::string& text) {
  int line = 1;
  return ReadPlan(NodeOf(nlohmann::ordered_json::parse(text), line));
}

std::vector<std::string> Problems(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto& problem : Read(text).problems) {
    lines.push_back(std::to_string(problem.line) + " " + problem.key + ": " + problem.what);
  }
  return lines;
}

TEST(PlanReaderTest, AWandbFileIsReadAsItIs) {
  const auto read = Read(R"({
    "program": "train.py", "method": "bayes", "project": "mine",
    "metric": {"name": "val/loss", "goal": "maximize", "target": 0.9},
    "run_cap": 200, "early_terminate": {"type": "hyperband", "min_iter": 3, "eta": 2, "strict": true},
    "parameters": {
      "lr": {"distribution": "log_uniform_values", "min": 1e-5, "max": 0.1},
      "wd": {"distribution": "log_uniform", "min": -9.5, "max": 0},
      "optimizer": {"values": ["sgd", "adam"], "probabilities": [0.25, 0.75]},
      "layers": {"min": 1, "max": 8}, "dropout": {"min": 0, "max": 0.5},
      "batch": {"distribution": "q_uniform", "min": 16, "max": 256, "q": 16},
      "noise": {"distribution": "normal", "mu": 1, "sigma": 2},
      "epochs": {"value": 81},
      "model": {"parameters": {"width": {"values": [64, 128]}, "act": {"value": "relu"}}}},
    "command": ["${env}", "${program}", "${args}"]})");
  ASSERT_THAT(read.problems, IsEmpty());
  const Plan& plan = read.plan;
  EXPECT_EQ(plan.method, Method::kBayes);
  EXPECT_EQ(plan.metric.name, "val/loss");
  EXPECT_TRUE(plan.metric.maximize);
  EXPECT_EQ(plan.metric.target, 0.9);
  EXPECT_EQ(plan.max_trials, 200u);
  EXPECT_EQ(plan.stopping, Stopping::kBands);
  EXPECT_EQ(plan.bands.min_iter, 3u);
  const Space& space = *plan.space;
  ASSERT_EQ(space.size(), 8u);
  EXPECT_EQ(space[0].distribution, Distribution::kLogUniform);
  EXPECT_NEAR(space[1].low, std::exp(-9.5), 1e-12);
  EXPECT_EQ(space[1].high, 1);
  EXPECT_THAT(space[2].values, ElementsAre("\"sgd\"", "\"adam\""));
  EXPECT_EQ(space[3].kind, Kind::kInt);
  EXPECT_EQ(space[4].kind, Kind::kFloat);
  EXPECT_EQ(space[5].kind, Kind::kInt);
  EXPECT_EQ(space[5].Count(), 16u);
  EXPECT_EQ(space[6].distribution, Distribution::kNormal);
  EXPECT_EQ(space[7].name, "model.width");
  EXPECT_THAT(plan.constants, ElementsAre(Config::value_type("epochs", "81"),
                                          Config::value_type("model.act", "\"relu\"")));
  ASSERT_THAT(read.notices, SizeIs(1));
  EXPECT_EQ(read.notices[0].key, "project");
}

TEST(PlanReaderTest, InvertedLogarithmsAndBothFormsOfBandsAreThose) {
  const auto read = Read(R"({"method": "random",
    "metric": {"name": "loss"}, "early_terminate": {"type": "hyperband", "max_iter": 27, "s": 2},
    "parameters": {"a": {"distribution": "inv_log_uniform", "min": 0, "max": 2},
                   "b": {"distribution": "inv_log_uniform_values", "min": 0.5, "max": 2},
                   "c": {"distribution": "q_log_uniform_values", "min": 1, "max": 100, "q": 3}}})");
  ASSERT_THAT(read.problems, IsEmpty());
  EXPECT_NEAR((*read.plan.space)[0].low, std::exp(-2), 1e-12);
  EXPECT_EQ((*read.plan.space)[0].high, 1);
  EXPECT_EQ((*read.plan.space)[1].distribution, Distribution::kInverseLogUniform);
  EXPECT_EQ((*read.plan.space)[2].step, 3);
  EXPECT_EQ(read.plan.bands.max_iter, 27u);
}

TEST(PlanReaderTest, WhatWandbLacksIsRead) {
  const auto read = Read(R"({"method": "tpe", "metric": {"name": "loss", "at": "last"},
    "early_terminate": {"type": "asha", "min": 2, "max": 81, "eta": 3, "promote": true},
    "parameters": {"momentum": {"min": 0.0, "max": 0.99, "when": {"optimizer": "sgd"}},
                   "batch": {"min": 8, "max": 1024, "log": true},
                   "optimizer": {"values": ["sgd", "adam"]}},
    "seed": 7, "parallel": 4, "enqueue": [{"optimizer": "adam", "batch": 64}],
    "failures": {"max": 10, "max_in_a_row": 5}, "duplicates": "allow"})");
  ASSERT_THAT(read.problems, IsEmpty());
  EXPECT_TRUE(read.plan.metric.last);
  EXPECT_EQ(read.plan.stopping, Stopping::kAshaPromotion);
  EXPECT_EQ(read.plan.asha.min_resource, 2);
  EXPECT_EQ(read.plan.seed, 7u);
  EXPECT_EQ(read.plan.parallel, 4u);
  EXPECT_EQ(read.plan.max_failures_in_a_row, 5u);
  EXPECT_TRUE(read.plan.duplicates);
  // A parameter that depends on another one follows it.
  EXPECT_EQ((*read.plan.space)[2].name, "momentum");
  EXPECT_EQ((*read.plan.space)[0].kind, Kind::kInt);
  EXPECT_EQ((*read.plan.space)[0].distribution, Distribution::kLogUniform);
  EXPECT_THAT(read.enqueue, SizeIs(1));
}

TEST(PlanReaderTest, AllProblemsAreNamedWithTheirLines) {
  EXPECT_THAT(
      Problems(R"({
        "metod": "random",
        "metric": {
          "name": "loss",
          "goal": "minimise"},
        "run_cap": 0,
        "parameters": {
          "lr": {
            "min": 1,
            "max": 0.5},
          "momentum": {
            "mim": 0,
            "max": 1},
          "loss": {
            "value": 3}}})"),
      ElementsAre("1 method: there is no method",
                  "2 metod: there is no key metod; did you mean method?",
                  "5 metric.goal: minimise is none of minimize, maximize; did you mean minimize?",
                  "6 run_cap: 0 is no whole number above 0",
                  AllOf(HasSubstr("8 parameters.lr: parameter lr"), HasSubstr("least value of 1")),
                  "11 parameters.momentum: says neither value, values, nor min and max",
                  "12 parameters.momentum.mim: there is no key mim; did you mean min?",
                  "14 parameters.loss: is the metric, too"));
}

TEST(PlanReaderTest, ConditionsThatCannotBeAreNamed) {
  EXPECT_THAT(Problems(R"({"method": "random", "parameters": {
      "a": {"values": [1, 2], "when": {"b": 1}}, "b": {"values": [1, 2], "when": {"a": 1}},
      "mode": {"values": [1]}, "c": {"min": 0.0, "max": 1.0, "when": {"mod": 1}}}})"),
              ElementsAre(HasSubstr("parameters.a.when: b depends on a, too"),
                          HasSubstr("parameters.b.when: a depends on b, too"),
                          HasSubstr("there is no parameter mod; did you mean mode?")));
}

TEST(PlanReaderTest, WhatIsNotServedIsSaid) {
  EXPECT_THAT(Problems(R"({"method": "grid", "parameters": {"x": {"min": 0.0, "max": 1.0}}})"),
              ElementsAre(HasSubstr("2 method: parameter x: a grid takes values")));
  EXPECT_THAT(Problems(R"({"method": "tpe", "parameters": {"x": {"values": [1]}}})"),
              ElementsAre("1 metric: there is no metric, which the method looks at"));
  EXPECT_THAT(Problems(R"({"method": "random", "scheduler": {"engine": "optuna"},
                           "parameters": {"x": {"distribution": "beta"}}})"),
              ElementsAre(HasSubstr("scheduler is W&B's"), HasSubstr("beta is not there")));
  EXPECT_THAT(Problems(R"({"method": "random", "parameters": {"x": {"min": 0, "max": 5}},
                           "enqueue": [{"x": 9}]})"),
              ElementsAre(HasSubstr("enqueue: parameter x: 9 is not from 0 to 5")));
  EXPECT_THAT(Problems(R"({"method": "random", "metric": {"name": "l"},
                           "early_terminate": {"type": "hyperband"},
                           "parameters": {"x": {"values": [1]}}})"),
              ElementsAre(HasSubstr("early_terminate: it takes either min_iter")));
  EXPECT_THAT(Problems("[]"), SizeIs(1));
}

TEST(PlanReaderTest, TwoMetricsAreReadAndTheLastValueOfEachCounts) {
  const auto read = Read(R"({"method": "tpe",
    "metrics": [{"name": "val/loss"}, {"name": "speed", "goal": "maximize", "at": "best"}],
    "warm_start": {"results": [{"config": {"x": 0.5}, "values": {"speed": 3, "val/loss": 1}}]},
    "parameters": {"x": {"min": 0.0, "max": 1.0}}})");
  ASSERT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(read.plan.metric.name, "val/loss");
  EXPECT_TRUE(read.plan.metric.last);
  ASSERT_TRUE(read.plan.second.has_value());
  EXPECT_EQ(read.plan.second->name, "speed");
  EXPECT_TRUE(read.plan.second->maximize);
  EXPECT_FALSE(read.plan.second->last);
  ASSERT_THAT(read.known, SizeIs(1));
  EXPECT_EQ(read.known.front().value, 1);
  EXPECT_THAT(read.known.front().others, ElementsAre(3));
}

TEST(PlanReaderTest, MetricsThatCannotBeAreNamedWithTheirLines) {
  const auto problems = [](const std::string& method, const std::string& metrics) {
    return Problems(R"({"method": ")" + method + R"(", )" + metrics +
                    R"(, "parameters": {"x": {"min": 0.0, "max": 1.0}}})");
  };
  EXPECT_THAT(problems("tpe", R"("metrics": [{"name": "a"}])"),
              ElementsAre(HasSubstr("3 metrics: is a list of two")));
  EXPECT_THAT(problems("tpe", R"("metrics": [{"name": "a"}, {"name": "b"}, {"name": "c"}])"),
              ElementsAre(HasSubstr("3 metrics: are 3, and two are the most")));
  EXPECT_THAT(problems("tpe", R"("metric": {"name": "a"}, "metrics": [{"name": "a"}])"),
              ElementsAre(HasSubstr("3 metric: is there, and metrics too")));
  EXPECT_THAT(problems("tpe", R"("metrics": [{"name": "a", "target": 1}, {"nam": "b"}])"),
              ElementsAre(HasSubstr("metrics.name: the metric has no name"),
                          HasSubstr("metrics.target: belongs to one metric alone"),
                          HasSubstr("there is no key nam; did you mean name?")));
  EXPECT_THAT(problems("tpe", R"("metrics": [{"name": "a"}, {"name": "a"}])"),
              ElementsAre(HasSubstr("metrics: a is there twice")));
  EXPECT_THAT(problems("tpe", R"("metrics": [{"name": "a"}, {"name": "x"}])"),
              ElementsAre(HasSubstr("parameters.x: is the metric, too")));
  EXPECT_THAT(problems("cmaes", R"("metrics": [{"name": "a"}, {"name": "b"}])"),
              ElementsAre(HasSubstr("2 method: cmaes looks for the best of one metric")));
}

TEST(PlanReaderTest, ConstraintsOfMetricsAreKeptApart) {
  const auto read = Read(R"({"method": "tpe", "metric": {"name": "loss"},
    "constraints": ["x < 0.9", "ms * x <= 20", "`val/loss` < 1 and loss < 5"],
    "parameters": {"x": {"min": 0.0, "max": 1.0}, "layers": {"values": [1, 2]}}})");
  ASSERT_THAT(read.problems, IsEmpty());
  EXPECT_THAT(read.plan.constraints, SizeIs(1));
  EXPECT_THAT(read.plan.metric_constraints, SizeIs(2));
  EXPECT_THAT(read.plan.watched, ElementsAre("ms", "val/loss"));
  EXPECT_THAT(read.notices, SizeIs(2));
  // An unquoted name similar to a parameter's counts as misspelled.
  const auto problems = [](const std::string& constraint) {
    return Problems(R"({"method": "random", "constraints": [")" + constraint +
                    R"("], "parameters": {"layers": {"values": [1, 2]}}})");
  };
  EXPECT_THAT(
      problems("layer < 2"),
      ElementsAre(HasSubstr("there is no parameter layer; did you mean layers? (A metric is "
                            "written `layer`.)")));
  EXPECT_THAT(problems("`layer` < 2"), IsEmpty());
}

TEST(PlanReaderTest, ResultsThatFitAreKnownAndABudgetOfEpochsIsRead) {
  const auto read =
      Read(R"({"method":"tpe","metric":{"name":"loss"},"budget":{"time":"1h","epochs":500},)"
           R"("warm_start":{"sweeps":["a","b"],"results":[{"config":{"x":0.5,"y":1},"value":2},)"
           R"({"config":{"x":7},"value":1}]},"constraints":["x > 0.25"],)"
           R"("parameters":{"x":{"min":0.0,"max":1.0}}})");
  EXPECT_TRUE(read.problems.empty()) << read.problems.front().what;
  EXPECT_EQ(read.plan.max_epochs, 500u);
  ASSERT_EQ(read.known.size(), 1u);
  EXPECT_EQ(read.known.front().value, 2);
  EXPECT_EQ(read.warm_sweeps, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(read.plan.constraints.size(), 1u);
}

TEST(PlanReaderTest, AScheduleIsReadAndConstantsAreThoseOfTheFile) {
  const auto with = [](const std::string& schedule) {
    return absl::StrCat(R"({"method":"replay","parallel":4,)", schedule,
                        R"("parameters":{"x":{"min":0.0,"max":1.0},"epochs":{"value":9}}})");
  };
  const auto read = Read(with(
      R"("schedule":[{"from":0,"config":{"x":0.5,"epochs":3}},{"from":4,"config":{"x":0.25}}],)"));
  ASSERT_THAT(read.problems, IsEmpty());
  ASSERT_THAT(read.plan.schedule, SizeIs(2));
  EXPECT_EQ(ConfigText(read.plan.schedule[0].config), R"({"x":0.5,"epochs":9})");
  EXPECT_EQ(read.plan.schedule[1].from, 4);
  EXPECT_EQ(read.plan.parallel, 1u);
  EXPECT_THAT(Problems(with("")), ElementsAre(HasSubstr("there is no schedule, which replay")));
  EXPECT_THAT(Problems(with(R"("schedule":[{"from":1,"config":{"x":0.5}}],)")),
              ElementsAre(HasSubstr("a schedule has a configuration from 0 on")));
  EXPECT_THAT(Problems(with(R"("schedule":[{"from":0,"config":{"y":0.5}}],)")),
              ElementsAre(HasSubstr("there is no parameter y")));
  EXPECT_THAT(Problems(with(R"("schedule":[{"from":0,"config":{"x":0.5}},)"
                            R"({"from":0,"config":{"x":0.5}}],)")),
              ElementsAre(HasSubstr("a schedule goes on at 0 after 0")));
  EXPECT_THAT(Problems(R"({"method":"random","schedule":[],"parameters":{"x":{"values":[1]}}})"),
              ElementsAre(HasSubstr("is followed by method: replay alone")));
}

}  // namespace
}  // namespace tuning
