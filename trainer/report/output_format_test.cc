#include "trainer/report/output_format.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/text/json_value.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string line;
  std::string metrics;  // Empty: no report.
};

void Check(const std::string& format, const std::vector<Case>& cases) {
  const auto made = OutputFormat::From(format);
  ASSERT_TRUE(made.ok()) << made.status();
  for (const Case& one : cases) {
    EXPECT_EQ(made->MetricsIn(one.line).value_or(""), one.metrics) << format << ": " << one.line;
  }
}

TEST(OutputFormatTest, LinesThatAreAJsonObject) {
  Check("json", {
                    {R"({"loss": 0.10, "n": {"a": [1, 2]}})", R"({"loss":0.10,"n":{"a":[1,2]}})"},
                    {R"(  {"loss": NaN, "x": -Infinity} )", R"({"loss":NaN,"x":-Infinity})"},
                    {"{\"a\": 1}\r", R"({"a":1})"},
                    {"{}", ""},
                    {"", ""},
                    {"[1]", ""},
                    {"7", ""},
                    {R"(epoch {"a": 1})", ""},
                    {R"({"a": 1} and more)", ""},
                    {R"({"a": 1)", ""},
                    {"loss=1", ""},
                });
}

TEST(OutputFormatTest, NamesWithNumbers) {
  Check(
      "values",
      {
          {"loss=0.12", R"({"loss":0.12})"},
          {"epoch 3/10: loss=0.120, acc = 91.5 lr=1e-4", R"({"loss":0.120,"acc":91.5,"lr":1e-4})"},
          {"[step=7] (val/loss=2;val/acc=.5)", R"({"step":7,"val/loss":2,"val/acc":0.5})"},
          {"a=+1 b=1. c=nan d=-inf e=Infinity f=-2",
           R"({"a":1,"b":1,"c":NaN,"d":-Infinity,"e":Infinity,"f":-2})"},
          {"n=9007199254740993", R"({"n":9007199254740993})"},
          {"a=1 a=2", R"({"a":2})"},
          {"done=True ok=false", R"({"done":true,"ok":false})"},
          {"10%|#   | loss=3\r20%|##  | loss=2\r30%|### | loss=1", R"({"loss":1})"},
          // No metrics.
          {"took=3s name=resnet x=0x10 y=1_000 z= w", ""},
          {"python train.py --lr=0.1", ""},
          {"url http://h/?a=1", ""},
          {"a==1", ""},
          {"=1", ""},
          {"1a=1", ""},
          {"loss: 0.12", ""},
          {"Training ...", ""},
          {"", ""},
      });
}

TEST(OutputFormatTest, OnlyLinesWithATag) {
  Check("tag:METRICS", {
                           {"METRICS loss=1", R"({"loss":1})"},
                           {"  METRICS: loss=1 acc=2", R"({"loss":1,"acc":2})"},
                           {R"(METRICS {"loss": 1})", R"({"loss":1})"},
                           {R"(METRICS:{"loss": 1})", R"({"loss":1})"},
                           {"METRICSX loss=1", ""},
                           {"loss=1", ""},
                           {R"({"loss": 1})", ""},
                           {"METRICS", ""},
                           {"METRICS none", ""},
                           {"see METRICS loss=1", ""},
                       });
}

TEST(OutputFormatTest, WhatIsNoFormatIsRefused) {
  for (const std::string& text :
       {std::string("xml"), std::string(""), std::string("JSON"), std::string("tag:"),
        std::string("tag:a b"), std::string("tag:\n"), std::string("tag:\xff"),
        "tag:" + std::string(101, 'x')}) {
    const auto format = OutputFormat::From(text);
    EXPECT_EQ(format.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(OutputFormat::From("xml").status().message(),
              HasSubstr("output \"xml\" is not auto, json, values, tag:WORD, keras, xgboost, "
                        "lightgbm, dict or tqdm"));
}

TEST(OutputFormatTest, HostileLinesStayWithinBounds) {
  const auto format = OutputFormat::From("values");
  std::string many;
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&many, "a", i, "=", i, " ");
  const auto metrics = format->MetricsIn(many);
  ASSERT_TRUE(metrics.has_value());
  EXPECT_EQ(runtime::ParseJson(*metrics)->members.size(), 1000u);
  EXPECT_EQ(format->MetricsIn(std::string(1 << 20, '=')), std::nullopt);
  EXPECT_EQ(format->MetricsIn("a=" + std::string(1 << 20, '9')), std::nullopt);
  EXPECT_EQ(format->MetricsIn(std::string("\0a\xff=1", 5)), std::nullopt);
  EXPECT_EQ(OutputFormat::From("json")->MetricsIn(std::string(1 << 20, '{')), std::nullopt);
}

}  // namespace
}  // namespace trainer
