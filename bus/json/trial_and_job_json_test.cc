#include "bus/json/trial_and_job_json.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace bus {
namespace {

TEST(MetricsToJsonTest, NotFiniteNumbersAreStrings) {
  EXPECT_EQ(MetricsToJson(R"({"a":NaN,"b":Infinity,"c":[-Infinity, 1],"d":0.5})").dump(),
            R"({"a":"NaN","b":"Infinity","c":["-Infinity",1],"d":0.5})");
}

TEST(MetricsToJsonTest, NumbersOverTheLargestAreInfinite) {
  EXPECT_EQ(MetricsToJson(R"({"a":1e400,"b":[-2E+999,1e-400],"c":1.5e308,"d1e400":"1e400","e":12})")
                .dump(),
            R"({"a":"Infinity","b":["-Infinity",0.0],"c":1.5e+308,"d1e400":"1e400","e":12})");
}

TEST(MetricsToJsonTest, IntegersBeyondADoubleAreStrings) {
  const std::string metrics = R"({"a":9007199254740993,"b":[18446744073709551616],"c":NaN})";
  EXPECT_EQ(MetricsToJson(metrics).dump(),
            R"({"a":"9007199254740993","b":["18446744073709551616"],"c":"NaN"})");
  EXPECT_EQ(MetricNumbers(metrics).dump(),
            R"({"a":9007199254740993,"b":[1.8446744073709552e+19],"c":"NaN"})");
}

TEST(MetricsToJsonTest, TextThatSaysNaNStaysAsItIs) {
  EXPECT_EQ(MetricsToJson(R"({"NaN":"say \"NaN\" or Infinity\\"})").dump(),
            R"({"NaN":"say \"NaN\" or Infinity\\"})");
}

TEST(MetricsToJsonTest, WhatIsNoObjectIsEmpty) {
  for (const char* text : {"", "3", "[1]", "{\"a\":", "\"", "\\"}) {
    EXPECT_EQ(MetricsToJson(text).dump(), "{}") << text;
  }
}

TEST(TrialToJsonTest, TimesAreIsoAndMetricsAnObject) {
  msg::TrialT trial;
  trial.id = "t-abcde";
  trial.state = msg::TrialState::Running;
  trial.created_us = 1'700'000'000'000'000;
  trial.last_metrics = R"({"loss":NaN})";
  const nlohmann::json json = ToJson(trial);
  EXPECT_EQ(json["state"], "running");
  EXPECT_EQ(json["created"], "2023-11-14T22:13:20.000000Z");
  EXPECT_TRUE(json["ended"].is_null());
  EXPECT_EQ(json["metrics"]["loss"], "NaN");
}

nlohmann::json AttemptJson(const msg::AttemptT& attempt) {
  msg::TaskT task;
  task.attempts.push_back(std::make_unique<msg::AttemptT>(attempt));
  return ToJson(task)["attempts"][0];
}

TEST(AttemptToJsonTest, WhatIsNotThereIsNull) {
  msg::AttemptT attempt;
  for (const char* key : {"pid", "exit_code", "started", "ended"}) {
    EXPECT_TRUE(AttemptJson(attempt)[key].is_null()) << key;
  }
  attempt.pid = 17;
  attempt.started_us = 1;
  EXPECT_TRUE(AttemptJson(attempt)["exit_code"].is_null()) << "it runs";
  EXPECT_EQ(AttemptJson(attempt)["pid"], 17);
  attempt.ended_us = 2;
  EXPECT_EQ(AttemptJson(attempt)["exit_code"], 0);
  EXPECT_EQ(AttemptJson(attempt)["ended"], "1970-01-01T00:00:00.000002Z");
  attempt.signal = 9;
  EXPECT_TRUE(AttemptJson(attempt)["exit_code"].is_null()) << "a signal has ended it";
  attempt.signal = 0;
  attempt.shim_lost = true;
  EXPECT_TRUE(AttemptJson(attempt)["exit_code"].is_null()) << "nobody knows";
}

}  // namespace
}  // namespace bus
