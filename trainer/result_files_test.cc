#include "trainer/result_files.h"

#include <string>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/record.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

RunIdentity TheRun() { return {"t-abcde", "e1", "host", 1'700'000'000'000'000, "events.x"}; }

ResultRow Row(std::int64_t number, const std::string& metrics) {
  ResultRow row;
  row.row = number;
  row.wall_time_us = 1'700'000'001'500'000;
  row.utc_offset_s = 3600;
  row.training_iteration = number;
  row.step = 10 * number;
  row.time_this_iter_us = 1'500'000;
  row.time_total_us = 3'000'001;
  row.metrics = metrics;
  return row;
}

TEST(ResultFilesTest, WritesRaysResultLine) {
  ResultFiles files(TheRun());
  EXPECT_EQ(files.Render(Row(1, R"({"loss":0.10,"n":{"a":NaN}})"))[kResultJson],
            "{\"loss\":0.10,\"n\":{\"a\":NaN},\"done\":false,\"training_iteration\":1,"
            "\"time_this_iter_s\":1.500000,\"time_total_s\":3.000001,\"timestamp\":1700000001,"
            "\"date\":\"2023-11-14_23-13-21\",\"hostname\":\"host\",\"trial_id\":\"t-abcde\","
            "\"experiment_id\":\"e1\"}\n");
}

TEST(ResultFilesTest, AReportedFieldWins) {
  ResultFiles files(TheRun());
  const FileTexts texts = files.Render(Row(1, R"({"training_iteration":40,"done":true})"));
  EXPECT_THAT(texts[kResultJson], testing::HasSubstr("\"training_iteration\":40,\"done\":true,"));
  EXPECT_THAT(texts[kResultJson], testing::Not(testing::HasSubstr("\"done\":false")));
  EXPECT_THAT(texts[kProgressCsv], testing::HasSubstr("\n40,True,"));
}

TEST(ResultFilesTest, TheFirstRowGivesTheColumnsOfTheTable) {
  ResultFiles files(TheRun());
  EXPECT_EQ(files.Render(Row(1, R"({"b":{"c":1},"s":"x,\"y\"","i":-Infinity})"))[kProgressCsv],
            "b/c,s,i,done,training_iteration,time_this_iter_s,time_total_s,timestamp,date,hostname,"
            "trial_id,experiment_id\n"
            "1,\"x,\"\"y\"\"\",-inf,False,1,1.500000,3.000001,1700000001,2023-11-14_23-13-21,host,"
            "t-abcde,e1\n");
  EXPECT_EQ(files.Render(Row(2, R"({"s":null,"new":5,"b":{"c":2}})"))[kProgressCsv],
            "2,,,False,2,1.500000,3.000001,1700000001,2023-11-14_23-13-21,host,t-abcde,e1\n");
}

TEST(ResultFilesTest, TheEventFileHasTheNumbersUnderTheirOwnNames) {
  ResultFiles files(TheRun());
  const std::string bytes =
      files.Render(Row(2, R"({"a":{"b":0.5},"ok":true,"s":"x","step":20,"bad":NaN})"))[kEventFile];
  const eventlog::ParsedRecord record = eventlog::ParseRecord(bytes);
  ASSERT_EQ(record.state, eventlog::ParsedRecord::State::kRecord);
  EXPECT_EQ(record.size, bytes.size());
  eventlog::Event event;
  ASSERT_TRUE(eventlog::DecodeEvent(record.payload, &event).ok());
  EXPECT_EQ(event.step, 20);
  EXPECT_EQ(event.wall_time, 1'700'000'001.5);
  std::vector<std::string> tags;
  for (const auto& value : event.values) tags.emplace_back(value.tag);
  EXPECT_THAT(tags, testing::ElementsAre("a/b", "ok", "bad"));
  EXPECT_EQ(event.values[0].scalar, 0.5);
}

TEST(ResultFilesTest, AReportWithoutNumbersHasNoRecord) {
  ResultFiles files(TheRun());
  EXPECT_EQ(files.Render(Row(1, R"({"s":"x","step":3})"))[kEventFile], "");
}

TEST(RenderParamsTest, SortsAndIndents) {
  EXPECT_EQ(*RenderParams(R"({"lr":1e-3,"a":[1,{"z":null,"b":"x"}],"e":{},"l":[]})"),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x\",\n      \"z\": null\n    }\n  ],\n"
            "  \"e\": {},\n  \"l\": [],\n  \"lr\": 1e-3\n}\n");
  EXPECT_FALSE(RenderParams("[]").ok());
}

}  // namespace
}  // namespace trainer
