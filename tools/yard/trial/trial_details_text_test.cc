#include "tools/yard/trial/trial_details_text.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

msg::TrialDetailsReplyT Details() {
  msg::TrialDetailsReplyT details;
  details.options = std::make_unique<msg::TrialOptionsT>();
  details.options->labels = {"lr=0.1", "night"};
  details.options->stop = R"({"training_iteration":10,"eval/acc":0.5})";
  details.options->time_budget_ms = 90'000;
  details.options->required_metrics = {"loss"};
  details.options->heartbeat_ms = 500;
  details.options->max_run_time_ms = 600'000;
  for (const auto& [type, count] : {std::pair("chief", 1u), std::pair("worker", 3u)}) {
    details.options->tasks.push_back(std::make_unique<msg::TrialTasksT>());
    details.options->tasks.back()->type = type;
    details.options->tasks.back()->count = count;
  }
  details.options->resources.push_back(std::make_unique<msg::ResourceRequestT>());
  details.options->resources.back()->name = "gpu";
  details.options->resources.back()->amount = 1;
  details.options->process_limits.push_back(std::make_unique<msg::ProcessLimitT>());
  details.options->process_limits.back()->name = "nofile";
  details.options->process_limits.back()->soft = 5;
  details.options->process_limits.back()->hard = 6;
  details.options->control_limits = std::make_unique<msg::ControlLimitsT>();
  details.options->control_limits->memory_bytes = std::uint64_t{4} << 30;
  details.options->control_limits->milli_cpus = 500;
  details.options->checkpoint_bytes = 2'000'000;
  details.options->durable = true;
  details.config = R"({"lr":NaN})";
  details.seed = 7;
  details.max_restarts = 2;
  auto metric = std::make_unique<msg::MetricStatisticsT>();
  metric->name = "a\x1b[31m";
  metric->count = 12;
  metric->last = std::numeric_limits<double>::quiet_NaN();
  metric->min = -1.5;
  metric->max = std::numeric_limits<double>::infinity();
  metric->mean = 3;
  metric->last_5_mean = 4;
  metric->last_10_mean = 5;
  details.statistics.push_back(std::move(metric));
  auto checkpoint = std::make_unique<msg::CheckpointT>();
  checkpoint->directory = "/runs/a/checkpoint_000004";
  checkpoint->training_iteration = 4;
  checkpoint->bytes = 1'500'000;
  checkpoint->has_score = true;
  checkpoint->score = 0.25;
  details.checkpoints.push_back(std::move(checkpoint));
  return details;
}

TEST(DetailsTextTest, SaysOnWhichSideItStops) {
  msg::TrialDetailsReplyT details = Details();
  details.options->stop = R"({"loss":["<0.02",">1000.0"],"acc":0.9})";
  EXPECT_THAT(DetailsText(details),
              HasSubstr("stops at   acc >= 0.9, loss < 0.02, loss > 1000.0\n"));
}

TEST(DetailsTextTest, SaysWhatWasAskedForAndWhatTheMetricsWere) {
  const std::string text = DetailsText(Details());
  EXPECT_THAT(text,
              HasSubstr("tasks      chief 1, worker 3\nresources  gpu=1\nlimits     nofile=5:6\n"
                        "memory     4GiB\ncpus       0.5\nlabels "));
  EXPECT_THAT(text, HasSubstr("labels     lr=0.1, night\n"));
  EXPECT_THAT(text, HasSubstr("stops at   eval/acc >= 0.5, training_iteration >= 10\n"));
  EXPECT_THAT(text, HasSubstr("budget     90s\n"));
  EXPECT_THAT(text, HasSubstr("needs      loss\n"));
  EXPECT_THAT(text, HasSubstr("heartbeat  500ms\n"));
  EXPECT_THAT(text, HasSubstr("run time   600s\n"));
  EXPECT_THAT(text, HasSubstr("checkpoint /runs/a/checkpoint_000004  1.5 MB  score 0.25\n"));
  EXPECT_THAT(text, HasSubstr("together   1.5 MB of 2.0 MB\n"));
  EXPECT_THAT(text, HasSubstr("durable    every report is synced to the disk\n"));
  EXPECT_THAT(text, HasSubstr("LAST 10"));
  EXPECT_THAT(text, HasSubstr("   12   nan  -1.5  inf     3       4        5"));
  EXPECT_EQ(text.find('\x1b'), text.npos) << "a name cannot drive the terminal";
}

void Say(msg::TrialDetailsReplyT& details, std::int64_t time_us, std::string text) {
  details.log.push_back(std::make_unique<msg::TrialLogLineT>());
  details.log.back()->time_us = time_us;
  details.log.back()->text = std::move(text);
}

TEST(DetailsTextTest, HasTheLastLinesOfTheLog) {
  msg::TrialDetailsReplyT details;
  Say(details, 1'000'000, "resumed\x1b[2J\n");
  Say(details, 2'500'000, "epoch 1:\n  loss 0.5\r");
  EXPECT_EQ(DetailsText(details),
            "log        1970-01-01T00:00:01.000000Z  resumed\\x1B[2J\n"
            "log        1970-01-01T00:00:02.500000Z  epoch 1:\n"
            "log        " +
                std::string(27, ' ') + "    loss 0.5\\x0D\n");
  for (int i = 0; i < 8; ++i) Say(details, 3'000'000, "more");
  EXPECT_THAT(DetailsText(details), Not(HasSubstr("resumed")));
  EXPECT_THAT(DetailsText(details),
              StartsWith("log        (lines before these: --json)\n"
                         "log        1970-01-01T00:00:02.500000Z  epoch 1:\n"));
}

TEST(DetailsTextTest, ALongLineOfTheLogIsCut) {
  msg::TrialDetailsReplyT details;
  Say(details, 1, std::string(1 << 20, 'x'));
  Say(details, 2, std::string(100, '\n'));
  const std::string text = DetailsText(details);
  EXPECT_LT(text.size(), 2000u);
  details.log.pop_back();
  EXPECT_THAT(DetailsText(details), EndsWith("xxx…\n"));
}

TEST(DetailsTextTest, WhatWasNotAskedForHasNoLine) {
  EXPECT_EQ(DetailsText({}), "");
  msg::TrialDetailsReplyT details;
  details.options = std::make_unique<msg::TrialOptionsT>();
  EXPECT_EQ(DetailsText(details), "");
}

TEST(DetailsToJsonTest, HasEverything) {
  const json object = DetailsToJson(Details());
  EXPECT_EQ(object["options"]["stop"], json({{"training_iteration", 10}, {"eval/acc", 0.5}}));
  EXPECT_EQ(object["options"]["time_budget_s"], 90.0);
  EXPECT_EQ(object["options"]["heartbeat_s"], 0.5);
  EXPECT_EQ(object["options"]["max_run_time_s"], 600.0);
  EXPECT_EQ(object["options"]["keep_checkpoints"], -1);
  EXPECT_FALSE(object["options"].contains("plateau"));
  EXPECT_EQ(object["options"]["tasks"],
            json::parse(R"([{"type":"chief","count":1},{"type":"worker","count":3}])"));
  EXPECT_EQ(object["options"]["checkpoint_bytes"], 2'000'000);
  EXPECT_EQ(object["options"]["durable"], true);
  EXPECT_EQ(object["options"]["resources"], json({{"gpu", 1}}));
  EXPECT_EQ(object["options"]["limits"], json({{"nofile", "5:6"}}));
  EXPECT_EQ(object["options"]["memory"], "4GiB");
  EXPECT_EQ(object["options"]["cpus"], 0.5);
  EXPECT_FALSE(object["options"].contains("processes"));
  EXPECT_EQ(object["config"], json({{"lr", "NaN"}}));
  EXPECT_EQ(object["seed"], 7);
  EXPECT_EQ(object["max_restarts"], 2);
  const json& metric = object["statistics"]["a\x1b[31m"];
  EXPECT_EQ(metric["count"], 12);
  EXPECT_EQ(metric["last"], "NaN");
  EXPECT_EQ(metric["max"], "Infinity");
  EXPECT_EQ(metric["last_10_mean"], 5.0);
  EXPECT_EQ(object["checkpoints"][0]["score"], 0.25);
  EXPECT_EQ(object["events_waiting"], 0);
  EXPECT_EQ(object["log"], json::array());
  msg::TrialDetailsReplyT said;
  for (int i = 0; i < 20; ++i) Say(said, 1'000'000, "a\nb\x1b");
  EXPECT_EQ(DetailsToJson(said)["log"].size(), 20u);
  EXPECT_EQ(DetailsToJson(said)["log"][19],
            json({{"time", "1970-01-01T00:00:01.000000Z"}, {"text", "a\nb\x1b"}}));
}

}  // namespace
}  // namespace yard
