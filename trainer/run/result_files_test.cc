#include "trainer/run/result_files.h"

#include <string>
#include <utility>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/record.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

RunIdentity TheRun() { return {"t-abcde", "e1", "host", 1'700'000'000'000'000, "events.x", "run"}; }

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
  row.iterations_since_restore = number;
  row.time_since_restore_us = 2'000'000;
  return row;
}

// Returns the texts that a run appends for its next row.
FileTexts Next(ResultFiles& files, const ResultRow& row) {
  std::vector<std::string> added;
  const FileTexts texts = files.RenderNext(row, RowMetrics(row), added);
  EXPECT_EQ(texts, files.Render(row, row.row));
  return texts;
}

// Returns the columns that the row adds.
std::vector<std::string> Added(ResultFiles& files, const ResultRow& row) {
  std::vector<std::string> added;
  files.RenderNext(row, RowMetrics(row), added);
  return added;
}

constexpr char kCounters[] =
    "\"experiment_tag\":\"run\",\"time_since_restore\":2.000000,\"timesteps_since_restore\":0,"
    "\"iterations_since_restore\":1,\"timesteps_total\":null,\"episodes_total\":null";

TEST(ResultFilesTest, WritesRaysResultLine) {
  ResultFiles files(TheRun());
  EXPECT_EQ(Next(files, Row(1, R"({"loss":0.10,"n":{"a":NaN}})"))[kResultJson],
            "{\"loss\":0.10,\"n\":{\"a\":NaN},\"done\":false,\"training_iteration\":1,"
            "\"time_this_iter_s\":1.500000,\"time_total_s\":3.000001,\"timestamp\":1700000001,"
            "\"date\":\"2023-11-14_23-13-21\",\"hostname\":\"host\",\"trial_id\":\"t-abcde\","
            "\"experiment_id\":\"e1\"," +
                std::string(kCounters) + "}\n");
}

TEST(ResultFilesTest, FillsInWhatAReportSaidOfItsTimesteps) {
  ResultFiles files(TheRun());
  ResultRow row = Row(1, R"({"timesteps_this_iter":5,"episodes_total":9})");
  row.timesteps_since_restore = 5;
  row.timesteps_total = 105;
  row.episodes_total = 3;
  row.pid = 77;
  const std::string line = Next(files, row)[kResultJson];
  EXPECT_THAT(line, testing::HasSubstr("\"timesteps_since_restore\":5,"));
  EXPECT_THAT(line, testing::HasSubstr("\"timesteps_total\":105,\"pid\":77}"));
  EXPECT_THAT(line, testing::HasSubstr("\"episodes_total\":9,")) << "a reported total wins";
}

TEST(ResultFilesTest, TheNegativeOfAMeanLoss) {
  for (const auto& [loss, negative] :
       std::vector<std::pair<std::string, std::string>>{{"0.10", "-0.10"},
                                                        {"-2e3", "2e3"},
                                                        {"0", "0"},
                                                        {"0.0", "-0.0"},
                                                        {"NaN", "NaN"},
                                                        {"-Infinity", "Infinity"}}) {
    ResultFiles files(TheRun());
    const FileTexts texts = Next(files, Row(1, "{\"mean_loss\":" + loss + "}"));
    EXPECT_THAT(texts[kResultJson], testing::HasSubstr("\"neg_mean_loss\":" + negative + "}"));
  }
  for (const char* metrics : {R"({"mean_loss":true})", R"({"mean_loss":"x"})", "{}"}) {
    ResultFiles files(TheRun());
    EXPECT_THAT(Next(files, Row(1, metrics))[kResultJson],
                testing::Not(testing::HasSubstr("neg_mean_loss")));
  }
}

TEST(ResultFilesTest, ARowOfAnOlderVersionIsWrittenAsItWas) {
  ResultFiles files(TheRun());
  ResultRow row = Row(1, R"({"mean_loss":1})");
  row.iterations_since_restore = 0;
  EXPECT_THAT(Next(files, row)[kResultJson], testing::EndsWith("\"experiment_id\":\"e1\"}\n"));
}

TEST(ResultFilesTest, TheStepIsAColumnAndTheEventFileHasWholeNumbers) {
  ResultFiles files(TheRun());
  ResultRow row = Row(1, R"({"loss":1e308})");
  row.monotonic_us = 7;
  FileTexts texts = Next(files, row);
  EXPECT_THAT(texts[kResultJson], testing::StartsWith(R"({"loss":1e308,"step":10,"done":false,)"));
  EXPECT_THAT(texts[kProgressCsv], testing::StartsWith("loss,step,done,"));
  EXPECT_THAT(texts[kProgressCsv], testing::HasSubstr("\n1e308,10,False,"));
  eventlog::Event event;
  const std::string record = texts[kEventFile];
  ASSERT_TRUE(eventlog::DecodeEvent(eventlog::ParseRecord(record).payload, &event).ok());
  EXPECT_EQ(event.values.at(0).scalar, 1e308);
  // A reported step wins, as written.
  row = Row(2, R"({"loss":1,"step":2.5})");
  row.monotonic_us = 8;
  EXPECT_THAT(Next(files, row)[kResultJson], testing::StartsWith(R"({"loss":1,"step":2.5,"done")"));
}

TEST(ResultFilesTest, ATableOfAnEarlierVersionGetsTheStepAsItsNewestColumn) {
  ResultFiles files(TheRun());
  Next(files, Row(1, R"({"loss":1})"));
  ResultRow row = Row(2, R"({"loss":2})");
  row.monotonic_us = 7;
  EXPECT_THAT(Added(files, row), testing::ElementsAre("step"));
}

TEST(ResultFilesTest, AReportedFieldWins) {
  ResultFiles files(TheRun());
  const FileTexts texts = Next(files, Row(1, R"({"training_iteration":40,"done":true})"));
  EXPECT_THAT(texts[kResultJson], testing::HasSubstr("\"training_iteration\":40,\"done\":true,"));
  EXPECT_THAT(texts[kResultJson], testing::Not(testing::HasSubstr("\"done\":false")));
  EXPECT_THAT(texts[kProgressCsv], testing::HasSubstr("\n40,True,"));
}

TEST(ResultFilesTest, TheFirstRowGivesTheFirstColumnsOfTheTable) {
  ResultFiles files(TheRun());
  EXPECT_EQ(Next(files, Row(1, R"({"b":{"c":1},"s":"x,\"y\"","i":-Infinity})"))[kProgressCsv],
            "b/c,s,i,done,training_iteration,time_this_iter_s,time_total_s,timestamp,date,hostname,"
            "trial_id,experiment_id,experiment_tag,time_since_restore,timesteps_since_restore,"
            "iterations_since_restore,timesteps_total,episodes_total\n"
            "1,\"x,\"\"y\"\"\",-inf,False,1,1.500000,3.000001,1700000001,2023-11-14_23-13-21,host,"
            "t-abcde,e1,run,2.000000,0,1,,\n");
  EXPECT_EQ(Next(files, Row(2, R"({"s":null,"b":{"c":2}})"))[kProgressCsv],
            "2,,,False,2,1.500000,3.000001,1700000001,2023-11-14_23-13-21,host,t-abcde,e1,run,"
            "2.000000,0,2,,\n");
}

TEST(ResultFilesTest, WhatComesLaterIsAColumnBehindTheOthers) {
  ResultFiles files(TheRun());
  Added(files, Row(1, R"({"a":1})"));
  const std::string first_header = files.CsvHeader(1);
  EXPECT_THAT(Added(files, Row(2, R"({"a":2})")), testing::IsEmpty());
  EXPECT_THAT(Added(files, Row(3, R"({"new":{"x":5},"y":"z"})")),
              testing::ElementsAre("new/x", "y"));
  EXPECT_EQ(files.AddedAt(3), 2u);
  EXPECT_EQ(files.AddedAt(2), 0u);
  EXPECT_EQ(files.LastWidening(), 3);
  EXPECT_EQ(files.CsvHeader(2), first_header);
  const std::string wide = first_header.substr(0, first_header.size() - 1) + ",new/x,y\n";
  EXPECT_EQ(files.CsvHeader(3), wide);
  const std::string text = files.Render(Row(1, R"({"a":1})"), 3)[kProgressCsv];
  EXPECT_THAT(text, testing::StartsWith(wide));
  EXPECT_THAT(text, testing::EndsWith(",,,,\n")) << "nothing of the totals, nor of the new ones";
  EXPECT_THAT(files.Render(Row(3, R"({"new":{"x":5},"y":"z"})"), 3)[kProgressCsv],
              testing::EndsWith(",5,z\n"));
  files.ForgetWideningsAfter(2);
  EXPECT_EQ(files.CsvHeader(3), first_header);
  EXPECT_THAT(Added(files, Row(3, R"({"y":1})")), testing::ElementsAre("y"));
}

TEST(ResultFilesTest, TheNumberOfWideningsIsBounded) {
  ResultFiles files(TheRun());
  Added(files, Row(1, "{}"));
  const auto metrics = [](std::int64_t row) { return "{\"m" + std::to_string(row) + "\":1}"; };
  for (std::int64_t row = 2; row <= 33; ++row) {
    EXPECT_EQ(Added(files, Row(row, metrics(row))).size(), 1u) << row;
  }
  EXPECT_THAT(Added(files, Row(34, metrics(34))), testing::IsEmpty());
  EXPECT_THAT(files.Render(Row(34, metrics(34)), 34)[kResultJson], testing::HasSubstr("\"m34\":1"));
}

TEST(ResultFilesTest, TheNumberOfColumnsIsBounded) {
  ResultFiles files(TheRun());
  Added(files, Row(1, "{}"));
  for (std::int64_t row = 2; row <= 3; ++row) {
    std::string metrics = "{\"x\":0";
    for (int i = 0; i < 15'000; ++i) {
      metrics += ",\"m" + std::to_string(row) + "-" + std::to_string(i) + "\":1";
    }
    EXPECT_EQ(Added(files, Row(row, metrics + "}")).empty(), row == 3);
  }
}

TEST(ResultFilesTest, TheEventFileHasTheNumbersUnderTheirOwnNames) {
  ResultFiles files(TheRun());
  const std::string bytes =
      Next(files, Row(2, R"({"a":{"b":0.5},"ok":true,"s":"x","step":20,"bad":NaN})"))[kEventFile];
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
  EXPECT_EQ(Next(files, Row(1, R"({"s":"x","step":3})"))[kEventFile], "");
}

TEST(RenderParamsTest, SortsAndIndents) {
  EXPECT_EQ(*RenderParams(R"({"lr":1e-3,"a":[1,{"z":null,"b":"x"}],"e":{},"l":[]})"),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x\",\n      \"z\": null\n    }\n  ],\n"
            "  \"e\": {},\n  \"l\": [],\n  \"lr\": 1e-3\n}\n");
  EXPECT_FALSE(RenderParams("[]").ok());
}

}  // namespace
}  // namespace trainer
