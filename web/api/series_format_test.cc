#include "web/api/series_format.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "bus/wire/packed_numbers.h"
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

using Numbers = std::vector<double>;
using Steps = std::vector<std::int64_t>;
using Counts = std::vector<std::uint32_t>;

SeriesColumns SomeSeries() {
  SeriesColumns series = {.run = "a", .tag = "loss", .points = 7, .generation = 3};
  series.columns = std::make_unique<msg::PackedColumnsT>();
  msg::PackedColumnsT& columns = *series.columns;
  columns.columns = 2;
  columns.first_steps = bus::PackSteps(Steps{10, 20});
  columns.last_steps = bus::PackSteps(Steps{19, 29});
  columns.wall_times = bus::PackNumbers(Numbers{1.5, 2.5});
  columns.mins = bus::PackNumbers(Numbers{0.25, 0.5});
  columns.maxs = bus::PackNumbers(Numbers{4, 8});
  columns.lasts = bus::PackNumbers(Numbers{1, 2});
  return series;
}

template <typename... Series>
std::string Encode(const Series&... series) {
  SeriesEncoder encoder;
  EXPECT_TRUE((encoder.Add(series) && ...));
  return encoder.Finish();
}

TEST(SeriesFormatTest, NumbersThatAre32BitsTakeAsMany) {
  const std::string body = Encode(SomeSeries());
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
  const Numbers lasts = {0.1, 16'777'217};  // Neither is a 32-bit number.
  const Steps first_steps = {std::numeric_limits<std::int64_t>::min(), 0};
  const Steps last_steps = {-1, std::numeric_limits<std::int64_t>::max()};
  series.columns->lasts = bus::PackNumbers(lasts);
  series.columns->first_steps = bus::PackSteps(first_steps);
  series.columns->last_steps = bus::PackSteps(last_steps);
  const std::string body = Encode(series);
  const json text = TextOf(body)["series"][0];
  EXPECT_EQ(text["last"]["type"], "f64");
  EXPECT_EQ(Array<double>(body, text["last"], 2), lasts);
  EXPECT_EQ(text["first_step"]["type"], "i64");
  EXPECT_EQ(Array<std::int64_t>(body, text["first_step"], 2), first_steps);
  EXPECT_EQ(Array<std::int64_t>(body, text["last_step"], 2), last_steps);
}

TEST(SeriesFormatTest, StepsBeyondADoubleStayWhole) {
  SeriesColumns series = SomeSeries();
  series.columns->first_steps = bus::PackSteps(Steps{9'007'199'254'740'993, 9'007'199'254'740'995});
  series.columns->last_steps.reset();
  const json text = TextOf(Encode(series))["series"][0];
  EXPECT_EQ(text["first_step"]["base"], "9007199254740993");
  EXPECT_FALSE(text.contains("last_step")) << "they are the first ones";
}

TEST(SeriesFormatTest, WhatIsTheSameIsThereOnce) {
  const auto make = [](const char* run) {
    SeriesColumns series = SomeSeries();
    series.run = run;
    series.columns->mins.reset();
    series.columns->maxs.reset();
    series.columns->lasts = bus::PackNumbers(Numbers{kNaN, 2});
    series.columns->not_finite = bus::PackCounts(Counts{3, 0});
    return series;
  };
  const std::string body = Encode(make("a"), make("b"));
  const json text = TextOf(body)["series"];
  EXPECT_FALSE(text[0].contains("min"));
  EXPECT_FALSE(text[0].contains("max"));
  EXPECT_TRUE(std::isnan(Array<float>(body, text[0]["last"], 2)[0]));
  EXPECT_EQ(Array<std::uint32_t>(body, text[0]["nan"], 2), (Counts{3, 0}));
  for (const char* name : {"first_step", "last_step", "time", "last", "nan"}) {
    EXPECT_EQ(text[0][name]["at"], text[1][name]["at"]) << name;
  }
}

TEST(SeriesFormatTest, ASeriesWithoutPointsHasNoArrays) {
  SeriesColumns series = SomeSeries();
  msg::PackedColumnsT& columns = *series.columns;
  columns.columns = 0;
  for (auto* list : {&columns.first_steps, &columns.last_steps, &columns.wall_times, &columns.mins,
                     &columns.maxs, &columns.lasts}) {
    (*list)->data.clear();
  }
  const json text = TextOf(Encode(series));
  EXPECT_EQ(text["series"][0]["columns"], 0);
  EXPECT_FALSE(text["series"][0].contains("last"));
  EXPECT_EQ(TextOf(SeriesEncoder().Finish())["series"].size(), 0U);
}

TEST(SeriesFormatTest, ColumnsThatAreNotWholeAreRefused) {
  SeriesColumns none = SomeSeries();
  none.columns.reset();
  SeriesColumns short_list = SomeSeries();
  short_list.columns->maxs->data.resize(7);
  SeriesColumns without_steps = SomeSeries();
  without_steps.columns->first_steps.reset();
  SeriesColumns later_type = SomeSeries();
  later_type.columns->mins->type = static_cast<msg::NumberType>(100);
  SeriesEncoder encoder;
  for (const auto* series : {&none, &short_list, &without_steps, &later_type}) {
    EXPECT_FALSE(encoder.Add(*series));
  }
  EXPECT_EQ(TextOf(encoder.Finish())["series"].size(), 0U);
}

TEST(SeriesFormatTest, AnyNameIsText) {
  SeriesColumns series = SomeSeries();
  series.tag = "bad\xFF\"</script>";
  EXPECT_EQ(TextOf(Encode(series))["series"][0]["tag"], "bad\xEF\xBF\xBD\"</script>");
}

}  // namespace
}  // namespace web
