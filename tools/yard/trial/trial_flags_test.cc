#include "tools/yard/trial/trial_flags.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

absl::StatusOr<msg::TrialOptionsT> Parse(std::vector<std::string> words) {
  CLI::App app;
  OptionSet options(&app);
  TrialFlags flags;
  flags.Declare(options);
  std::reverse(words.begin(), words.end());
  app.parse(std::move(words));
  return flags.Options("/work");
}

std::string Error(std::vector<std::string> words) {
  const auto options = Parse(std::move(words));
  EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(options.status().message());
}

TEST(TrialFlagsTest, WithoutFlagsNothingIsAskedFor) {
  const msg::TrialOptionsT options = Parse({}).value();
  EXPECT_EQ(options.priority, 0);
  EXPECT_EQ(options.keep_checkpoints, 3);
  EXPECT_EQ(options.stop, "");
  EXPECT_EQ(options.plateau, "");
  EXPECT_EQ(options.time_budget_ms, 0u);
  EXPECT_EQ(options.max_run_time_ms, 0u);
  EXPECT_EQ(options.heartbeat_ms, 0u);
  EXPECT_FALSE(options.fail_fast);
  EXPECT_EQ(options.checkpoint_bytes, 0u);
  EXPECT_FALSE(options.durable);
}

TEST(TrialFlagsTest, APoolIsNamedForProgramsOnly) {
  EXPECT_EQ(Parse({}).value().pool, "");
  EXPECT_EQ(Parse({"--at", "gpus", "--sync", "code"}).value().pool, "gpus");
  EXPECT_THAT(Error({"--at", "gpus", "--function", "f"}), HasSubstr("next: give a program"));
  EXPECT_THAT(Error({"--sync", "code"}), HasSubstr("next: say which with --at POOL"));
}

TEST(TrialFlagsTest, EachFlagIsAField) {
  const msg::TrialOptionsT options = Parse({"--priority=-3",
                                            "--label",
                                            "a=1",
                                            "--label",
                                            "b",
                                            "--keep_checkpoints",
                                            "0",
                                            "--time_budget",
                                            "1h30m",
                                            "--max_run_time",
                                            "10m",
                                            "--heartbeat",
                                            "250ms",
                                            "--required_metric",
                                            "loss",
                                            "--required_metric",
                                            "eval/acc",
                                            "--checkpoint_metric",
                                            "min-loss",
                                            "--checkpoint_bytes",
                                            "2G",
                                            "--durable",
                                            "--restore",
                                            "ckpt",
                                            "--plateau",
                                            "loss",
                                            "--stop",
                                            "a/b=0.5",
                                            "--stop",
                                            R"({"training_iteration":10})",
                                            "--fail_fast"})
                                         .value();
  EXPECT_EQ(options.priority, -3);
  EXPECT_THAT(options.labels, ElementsAre("a=1", "b"));
  EXPECT_EQ(options.keep_checkpoints, 0);
  EXPECT_EQ(options.time_budget_ms, 5'400'000u);
  EXPECT_EQ(options.max_run_time_ms, 600'000u);
  EXPECT_EQ(options.heartbeat_ms, 250u);
  EXPECT_THAT(options.required_metrics, ElementsAre("loss", "eval/acc"));
  EXPECT_EQ(options.checkpoint_metric, "min-loss");
  EXPECT_EQ(options.checkpoint_bytes, std::uint64_t{2} << 30);
  EXPECT_TRUE(options.durable);
  EXPECT_EQ(options.restore, "/work/ckpt");
  EXPECT_EQ(options.plateau, R"({"metric":"loss"})");
  EXPECT_EQ(options.stop, R"({"a/b":0.5,"training_iteration":10})");
  EXPECT_TRUE(options.fail_fast);
}

TEST(TrialFlagsTest, TheGraceIsATime) {
  const auto grace = [](std::vector<std::string> words) {
    CLI::App app;
    OptionSet options(&app);
    TrialFlags flags;
    flags.Declare(options);
    app.parse(std::move(words));
    return flags.GraceMs();
  };
  EXPECT_EQ(grace({}).value(), 0u);
  EXPECT_EQ(grace({"--grace=1.5m"}).value(), 90'000u);
  EXPECT_THAT(std::string(grace({"--grace=long"}).status().message()),
              StartsWith("--grace: expected a time"));
}

TEST(TrialFlagsTest, ACountOfTasksMakesItACluster) {
  EXPECT_TRUE(Parse({})->tasks.empty());
  const msg::TrialOptionsT options =
      Parse({"--task=eval=2", "--ps=1", "--worker", "3", "--chief", "--evaluator"}).value();
  std::vector<std::string> tasks;
  for (const auto& one : options.tasks) {
    tasks.push_back(one->type + "=" + std::to_string(one->count));
  }
  EXPECT_THAT(tasks, ElementsAre("chief=1", "worker=3", "ps=1", "evaluator=1", "eval=2"));
  EXPECT_EQ(Parse({"--worker=0", "--chief"})->tasks.size(), 1u);
  EXPECT_EQ(Error({"--worker=0"}), "no tasks: every count is 0");
  EXPECT_THAT(Error({"--worker", "many"}), StartsWith("--worker: expected a whole number"));
  EXPECT_THAT(Error({"--worker", "1001"}), StartsWith("--worker: expected a whole number"));
  EXPECT_THAT(Error({"--task", "eval"}), StartsWith("--task: expected TYPE=N"));
  EXPECT_THAT(Error({"--task", "a/b=2"}), StartsWith("--task: "));
}

TEST(TrialFlagsTest, WhatEachTaskNeedsIsSaidAsOfAJob) {
  const msg::TrialOptionsT options =
      Parse({"--resources", "gpu=1", "--resources", "slots=2", "--memory", "4GiB", "--cpus", "0.5",
             "--processes", "100", "--limits", "nofile=5:6"})
          .value();
  ASSERT_EQ(options.resources.size(), 2u);
  EXPECT_EQ(options.resources[0]->name, "gpu");
  EXPECT_EQ(options.resources[0]->amount, 1u);
  EXPECT_EQ(options.resources[1]->name, "slots");
  EXPECT_EQ(options.resources[1]->amount, 2u);
  ASSERT_NE(options.control_limits, nullptr);
  EXPECT_EQ(options.control_limits->memory_bytes, std::uint64_t{4} << 30);
  EXPECT_EQ(options.control_limits->milli_cpus, 500u);
  EXPECT_EQ(options.control_limits->processes, 100u);
  ASSERT_EQ(options.process_limits.size(), 1u);
  EXPECT_EQ(options.process_limits[0]->name, "nofile");
  EXPECT_EQ(options.process_limits[0]->soft, 5u);
  EXPECT_EQ(options.process_limits[0]->hard, 6u);
  EXPECT_TRUE(options.tasks.empty()) << "it is no cluster";
  const msg::TrialOptionsT none = Parse({}).value();
  EXPECT_TRUE(none.resources.empty());
  EXPECT_TRUE(none.process_limits.empty());
  EXPECT_EQ(none.control_limits, nullptr);
}

TEST(TrialFlagsTest, AWrongNeedSaysWhatWasExpected) {
  EXPECT_THAT(Error({"--resources", "gpu"}), StartsWith("--resources: "));
  EXPECT_THAT(Error({"--resources", "gpu=0"}), StartsWith("--resources"));
  EXPECT_THAT(Error({"--resources", "gpu=0.5"}), StartsWith("--resources"));
  EXPECT_THAT(Error({"--resources", "g p=1"}), HasSubstr("the name of a resource"));
  EXPECT_THAT(Error({"--memory", "much"}), StartsWith("--memory: expected a size"));
  EXPECT_THAT(Error({"--cpus", "0"}), StartsWith("--cpus: "));
  EXPECT_THAT(Error({"--processes=-1"}), StartsWith("--processes: "));
  EXPECT_THAT(Error({"--limits", "files=5"}), HasSubstr("unknown limit \"files\""));
}

TEST(TrialFlagsTest, ATrialOfTheSameProgramHasItsTasksAndWhatTheyNeed) {
  const msg::TrialOptionsT other = Parse({"--worker=2", "--resources=gpu=1", "--memory=1MiB",
                                          "--limits=nofile=5", "--share_gpu"})
                                       .value();
  msg::TrialOptionsT plain = Parse({}).value();
  EXPECT_FALSE(plain.share_gpu);
  TakeTasksFrom(other, &plain);
  EXPECT_TRUE(plain.share_gpu);
  ASSERT_EQ(plain.tasks.size(), 1u);
  EXPECT_EQ(plain.tasks[0]->count, 2u);
  ASSERT_EQ(plain.resources.size(), 1u);
  EXPECT_EQ(plain.resources[0]->name, "gpu");
  EXPECT_EQ(plain.process_limits.size(), 1u);
  EXPECT_EQ(plain.control_limits->memory_bytes, 1u << 20);
  msg::TrialOptionsT own =
      Parse({"--worker=3", "--resources=slots=4", "--memory=2MiB", "--limits=core=6"}).value();
  TakeTasksFrom(other, &own);
  EXPECT_EQ(own.tasks[0]->count, 3u);
  ASSERT_EQ(own.resources.size(), 1u);
  EXPECT_EQ(own.resources[0]->name, "slots");
  ASSERT_EQ(own.process_limits.size(), 1u);
  EXPECT_EQ(own.process_limits[0]->name, "core");
  EXPECT_EQ(own.control_limits->memory_bytes, 2u << 20);
}

TEST(TrialFlagsTest, AStopMayBeOnEitherSide) {
  const msg::TrialOptionsT options = Parse({"--stop", "loss<0.02", "--stop", "loss>1e3", "--stop",
                                            "a=b<=0.5", "--stop", "acc>=0.9"})
                                         .value();
  EXPECT_EQ(options.stop, R"({"loss":["<0.02",">1000.0"],"a=b":"<=0.5","acc":0.9})");
}

TEST(TrialFlagsTest, AWrongValueSaysWhatWasExpected) {
  EXPECT_EQ(Error({"--priority", "high"}), "--priority: expected a whole number, not \"high\"");
  EXPECT_THAT(Error({"--priority", "99999999999"}), StartsWith("--priority: "));
  EXPECT_THAT(Error({"--keep_checkpoints=-2"}), HasSubstr("or -1 for all"));
  EXPECT_THAT(Error({"--checkpoint_bytes", "much"}),
              StartsWith("--checkpoint_bytes: expected a size like"));
  EXPECT_THAT(Error({"--checkpoint_bytes", "0"}), StartsWith("--checkpoint_bytes: "));
  EXPECT_THAT(Error({"--time_budget", "soon"}), StartsWith("--time_budget: expected a time like"));
  EXPECT_THAT(Error({"--time_budget", "0"}), HasSubstr("from 1ms"));
  EXPECT_THAT(Error({"--heartbeat", "60d"}), StartsWith("--heartbeat: "));
  for (const char* stop :
       {"loss", "=1", "<1", "<=1", "loss=low", "loss<", "loss<=x", "{", "loss="}) {
    EXPECT_THAT(Error({"--stop", stop}), StartsWith("--stop: expected METRIC=NUMBER")) << stop;
  }
  EXPECT_THAT(Error({"--plateau", "{1"}), StartsWith("--plateau: "));
  EXPECT_THAT(Error({"--from", "t-a", "--restore", "d"}), HasSubstr("one of them"));
}

}  // namespace
}  // namespace yard
