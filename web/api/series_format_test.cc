#include "web/api/series_format.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace web {
namespace {

using nlohmann::json;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

json TextOf(const std::string& body) {
  EXPECT_EQ(body.substr(0, 4), "YSR1");
  std::uint32_t length = 0;
  memcpy(&length, body.data() + 4, sizeof length);
  return json::parse(body.substr(8, length));
}

template <typename T>
std::vector<T> Array(const std::string& body, const json& place, std::size_t count) {
  const auto at = place.at("at").get<std::size_t>();
  EXPECT_EQ(at % 8, 0U);
  EXPECT_LE(at + count * sizeof(T), body.size());
  std::vector<T> values(count);
  memcpy(values.data(), body.data() + at, count * sizeof(T));
  return values;
}

SeriesColumns SomeSeries() {
  return {.run = "a",
          .tag = "loss",
          .points = 7,
          .generation = 3,
          .first_steps = {10, 20},
          .last_steps = {19, 29},
          .times = {1.5, 2.5},
          .mins = {0.25, 0.5},
          .maxs = {4, 8},
          .lasts = {1, 2},
          .nans = {0, 0}};
}

TEST(SeriesFormatTest, NumbersThatAre32BitsTakeAsMany) {
  const std::string body = EncodeSeries(std::vector{SomeSeries()});
  const json series = TextOf(body)["series"][0];
  EXPECT_EQ(series["run"], "a");
  EXPECT_EQ(series["points"], 7);
  EXPECT_EQ(series["columns"], 2);
  EXPECT_EQ(series["first_step"]["type"], "u32");
  EXPECT_EQ(series["first_step"]["base"], "10");
  EXPECT_EQ(Array<std::uint32_t>(body, series["first_step"], 2),
            (std::vector<std::uint32_t>{0, 10}));
  EXPECT_EQ(series["min"]["type"], "f32");
  EXPECT_EQ(Array<float>(body, series["min"], 2), (std::vector<float>{0.25F, 0.5F}));
  EXPECT_EQ(Array<float>(body, series["max"], 2), (std::vector<float>{4, 8}));
  EXPECT_FALSE(series.contains("nan"));
  EXPECT_FALSE(series.contains("smooth"));
}

TEST(SeriesFormatTest, NoNumberIsRounded) {
  SeriesColumns series = SomeSeries();
  series.lasts = {0.1, 16'777'217};  // Neither is a 32-bit number.
  series.first_steps = {std::numeric_limits<std::int64_t>::min(), 0};
  series.last_steps = {-1, std::numeric_limits<std::int64_t>::max()};
  const std::string body = EncodeSeries(std::vector{series});
  const json text = TextOf(body)["series"][0];
  EXPECT_EQ(text["last"]["type"], "f64");
  EXPECT_EQ(Array<double>(body, text["last"], 2), series.lasts);
  EXPECT_EQ(text["first_step"]["type"], "i64");
  EXPECT_EQ(Array<std::int64_t>(body, text["first_step"], 2), series.first_steps);
  EXPECT_EQ(Array<std::int64_t>(body, text["last_step"], 2), series.last_steps);
}

TEST(SeriesFormatTest, StepsBeyondADoubleStayWhole) {
  SeriesColumns series = SomeSeries();
  series.first_steps = {9'007'199'254'740'993, 9'007'199'254'740'995};
  series.last_steps = series.first_steps;
  const json text = TextOf(EncodeSeries(std::vector{series}))["series"][0];
  EXPECT_EQ(text["first_step"]["base"], "9007199254740993");
  EXPECT_FALSE(text.contains("last_step")) << "they are the first ones";
}

TEST(SeriesFormatTest, WhatIsTheSameIsThereOnce) {
  SeriesColumns series = SomeSeries();
  series.mins = series.maxs = series.lasts = {kNaN, 2};
  series.nans = {3, 0};
  SeriesColumns other = series;
  other.run = "b";
  const std::string body = EncodeSeries(std::vector{series, other});
  const json text = TextOf(body)["series"];
  EXPECT_FALSE(text[0].contains("min"));
  EXPECT_FALSE(text[0].contains("max"));
  EXPECT_TRUE(std::isnan(Array<float>(body, text[0]["last"], 2)[0]));
  EXPECT_EQ(Array<std::uint32_t>(body, text[0]["nan"], 2), series.nans);
  for (const char* name : {"first_step", "last_step", "time", "last", "nan"}) {
    EXPECT_EQ(text[0][name]["at"], text[1][name]["at"]) << name;
  }
}

TEST(SeriesFormatTest, ASeriesWithoutPointsHasNoArrays) {
  const json text = TextOf(EncodeSeries(std::vector<SeriesColumns>{{.run = "a", .tag = "x"}}));
  EXPECT_EQ(text["series"][0]["columns"], 0);
  EXPECT_FALSE(text["series"][0].contains("last"));
  EXPECT_EQ(TextOf(EncodeSeries({}))["series"].size(), 0U);
}

TEST(SeriesFormatTest, AnyNameIsText) {
  SeriesColumns series = SomeSeries();
  series.tag = "bad\xFF\"</script>";
  EXPECT_EQ(TextOf(EncodeSeries(std::vector{series}))["series"][0]["tag"],
            "bad\xEF\xBF\xBD\"</script>");
}

}  // namespace
}  // namespace web
