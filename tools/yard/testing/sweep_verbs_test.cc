// Tests the verbs that accept a sweep, against a yard with one.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "bus/schema/envelope_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/yard/cli/context.h"
#include "tools/yard/cli/verb_exit_code.h"
#include "tools/yard/testing/fake_yard.h"

namespace yard {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kFile[] =
    "method: random\nrun_cap: 2\nmetric: {name: loss}\nparameters: {lr: {min: 0.0, max: 1.0}}\n"
    "trial: {output: json, memory: 1GiB}\nfailures: {retry: 2}\nbudget: {time: 1h}\n";

msg::SweepDetailsReplyT Sweep(msg::SweepState state) {
  msg::SweepDetailsReplyT details;
  details.sweep = std::make_unique<msg::SweepT>();
  details.sweep->id = "s-abcde";
  details.sweep->name = "digits";
  details.sweep->state = state;
  details.sweep->metric = "loss";
  details.sweep->trials = 2;
  details.sweep->done = 1;
  details.sweep->failed = 1;
  for (int i = 0; i < 2; ++i) {
    auto trial = std::make_unique<msg::SweepTrialT>();
    trial->number = static_cast<std::uint64_t>(i);
    trial->trial = i == 0 ? "t-first" : "t-other";
    trial->name = "digits-000" + std::to_string(i);
    trial->stage = i == 0 ? msg::SweepStage::Done : msg::SweepStage::Failed;
    trial->config = "{\"lr\":0.5}";
    trial->has_value = i == 0;
    trial->value = 0.25;
    trial->ended_us = i + 1;
    details.trials.push_back(std::move(trial));
  }
  details.sweep->best = std::make_unique<msg::SweepTrialT>(*details.trials[0]);
  return details;
}

class SweepVerbsTest : public testing::Test {
 protected:
  SweepVerbsTest() {
    char name[] = "/tmp/sv-XXXXXX";
    directory_ = mkdtemp(name);
    yard_.context().working_directory = directory_;
    std::ofstream(directory_ + "/s.yaml") << kFile;
  }
  ~SweepVerbsTest() override { std::filesystem::remove_all(directory_); }

  void Start(msg::SweepState state = msg::SweepState::Running) {
    yard_.AddSweep(Sweep(state));
    yard_.AddTrial("t-other", "digits-0001", msg::TrialState::Failed);
    yard_.FailTrial("t-other", "exit code 1", {"Traceback", "ValueError: no"});
    yard_.Start();
  }

  std::string directory_;
  FakeYard yard_;
};

TEST_F(SweepVerbsTest, ASweepIsAskedForAsItsFileAndFlagsHaveIt) {
  Start();
  const auto result =
      yard_.Run({"sweep", "s.yaml", "--detach", "--name", "mine", "--seed", "7", "--parallel", "3",
                 "--memory", "2GiB", "--label", "x", "--", "./train", "${args}"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out, "s-abcde\n");
  const msg::RunSweepRequestT asked = yard_.last_sweep();
  EXPECT_EQ(asked.name, "mine");
  EXPECT_EQ(asked.time_budget_ms, 3'600'000u);
  EXPECT_FALSE(asked.python_args);
  EXPECT_EQ(asked.source, kFile);
  EXPECT_EQ(json::parse(asked.plan)["seed"], 7);
  EXPECT_EQ(json::parse(asked.plan)["parallel"], 3);
  EXPECT_THAT(asked.trial->argv, ElementsAre("./train", "${args}"));
  EXPECT_EQ(asked.trial->max_restarts, 2u);
  EXPECT_EQ(asked.trial->config, "");
  EXPECT_EQ(asked.trial->working_directory, directory_);
  EXPECT_EQ(asked.trial->options->output_reports, "json");
  EXPECT_EQ(asked.trial->options->control_limits->memory_bytes, std::uint64_t{2} << 30);
  EXPECT_THAT(asked.trial->options->labels, ElementsAre("x"));
  EXPECT_NE(asked.trial->options->caller, nullptr);
  EXPECT_NE(asked.trial->options->provenance, "");
}

TEST_F(SweepVerbsTest, AWarmStartTakesWhatOtherSweepsHaveFound) {
  Start();
  const auto plan_with = [&](const std::string& warm) {
    return yard_.Run(
        {"sweep", "s.yaml", "--detach", "--set", "warm_start=" + warm, "--", "./train", "{lr}"});
  };
  const auto result = plan_with(
      "{sweeps: [digits], results: [{config: {lr: 0.25}, value: 3}, {config: {}, value: 1}]}");
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(json::parse(yard_.last_sweep().plan)["warm_start"],
            json::parse(R"({"results":[{"config":{"lr":0.25},"value":3.0},)"
                        R"({"config":{"lr":0.5},"value":0.25}]})"));
  EXPECT_THAT(plan_with("{sweeps: [nope]}").err, HasSubstr("nope"));
  const auto other = yard_.Run({"sweep", "s.yaml", "--detach", "--set", "metric.goal=maximize",
                                "--set", "warm_start={sweeps: digits}", "--", "./train", "{lr}"});
  EXPECT_THAT(other.err, HasSubstr("sweep digits is to minimize loss, and this one to maximize"));
}

TEST_F(SweepVerbsTest, ItShowsEachTrialThatEndsAndTheBest) {
  Start();
  const auto result = yard_.Run({"sweep", "s.yaml", "--", "./train", "{lr}"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out,
            "digits-0000  done  loss 0.25 at 0  lr=0.5  (best so far)\n"
            "digits-0001  failed  lr=0.5\nbest loss 0.25 of digits-0000  lr=0.5\n");
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("s-abcde digits started"), HasSubstr("  | ValueError: no"),
                    HasSubstr("yard logs t-other"), HasSubstr("yard show digits")));
}

TEST_F(SweepVerbsTest, WithoutATrialThatSucceededItHasFailed) {
  auto sweep = Sweep(msg::SweepState::Running);
  sweep.sweep->done = 0;
  yard_.AddSweep(std::move(sweep));
  yard_.Start();
  EXPECT_EQ(yard_.Run({"sweep", "s.yaml", "--", "./t", "{lr}"}).code, kFailed);
  EXPECT_EQ(yard_.Run({"wait", "digits"}).code, kFailed);
}

TEST_F(SweepVerbsTest, AReplayFollowsTheScheduleOfTheBestTrial) {
  Start();
  const auto result =
      yard_.Run({"sweep", "s.yaml", "--replay", "digits", "--detach", "--", "./train", "{lr}"});
  EXPECT_EQ(result.code, kDone) << result.err;
  const json plan = json::parse(yard_.last_sweep().plan);
  EXPECT_EQ(plan["method"], "replay");
  EXPECT_EQ(plan["schedule"], json::parse(R"([{"from":0,"config":{"lr":0.5}}])"));
  const auto checked =
      yard_.Run({"sweep", "s.yaml", "--replay", "digits", "--check", "--", "./train", "{lr}"});
  EXPECT_THAT(checked.out, AllOf(HasSubstr("method     replay"), HasSubstr("./train 0.5")));
  EXPECT_THAT(yard_.Run({"sweep", "s.yaml", "--replay", "nope"}).err, HasSubstr("nope"));
  EXPECT_THAT(yard_.Run({"sweep", "s.yaml", "--replay", "digits", "--change", "digits"}).err,
              HasSubstr("--replay begins another sweep"));
}

TEST_F(SweepVerbsTest, CheckNeedsNoYard) {
  const auto result = yard_.Run({"sweep", "s.yaml", "--check", "--", "./train", "{lr}"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("minimize loss"), HasSubstr("first configurations")));
  const auto wrong = yard_.Run({"sweep", "s.yaml", "--check", "--set", "metod=tpe"});
  EXPECT_EQ(wrong.code, kUsage);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("s.yaml:1:1: command: there is neither program"),
                               HasSubstr("--set: metod: there is no key metod")));
  EXPECT_EQ(yard_.Run({"sweep"}).code, kUsage);
}

TEST_F(SweepVerbsTest, OrdersNameTheSweep) {
  Start();
  EXPECT_EQ(yard_.Run({"pause", "digits", "--drain"}).code, kDone);
  EXPECT_EQ(yard_.Run({"resume", "s-ab", "--failed"}).code, kDone);
  EXPECT_EQ(yard_.Run({"sweep", "--enqueue", "digits", "{\"lr\": 0.5}"}).code, kDone);
  EXPECT_EQ(yard_.last_change().config, "{\"lr\":0.5}");
  const auto changed = yard_.Run({"sweep", "--change", "digits", "s.yaml"});
  EXPECT_EQ(changed.code, kDone) << changed.err;
  EXPECT_THAT(changed.out, HasSubstr("2 of its 2 trials fit the new space"));
  const auto stopped = yard_.Run({"stop", "digits"});
  EXPECT_EQ(stopped.code, kDone) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("s-abcde digits stopped, 2 trials"));
  EXPECT_EQ(yard_.Run({"rm", "digits"}).out, "s-abcde removed, with its 2 trials\n");
  EXPECT_THAT(yard_.asked(),
              ElementsAre("Pause whether s-abcde", "Resume whether s-abcde", "Enqueue s-abcde",
                          "Change s-abcde", "Stop s-abcde", "Remove s-abcde"));
  EXPECT_EQ(yard_.Run({"show", "digits"}).code, kNotFound);
}

TEST_F(SweepVerbsTest, ItIsShownListedDrawnAndExported) {
  Start();
  EXPECT_THAT(yard_.Run({"show", "digits"}).out, HasSubstr("best       loss 0.25 of digits-0000"));
  const json shown = json::parse(yard_.Run({"show", "s-abcde", "--json"}).out);
  EXPECT_EQ(shown["kind"], "sweep");
  EXPECT_EQ(shown["trial_list"][0]["config"]["lr"], 0.5);
  EXPECT_EQ(yard_.Run({"show", "digits", "--schedule"}).out,
            "FROM  TRIAL        CONFIGURATION\n   0  digits-0000  lr=0.5\n");
  EXPECT_EQ(json::parse(yard_.Run({"show", "digits", "--schedule", "--json"}).out)["schedule"],
            json::parse(R"([{"from":0.0,"number":0,"name":"digits-0000","config":{"lr":0.5}}])"));
  EXPECT_THAT(yard_.Run({"ps"}).out,
              AllOf(HasSubstr("s-abcde"), HasSubstr("best loss 0.25 of digits-0000"),
                    HasSubstr("2 trials: 1 done, 1 failed")));
  EXPECT_THAT(yard_.Run({"top", "--once"}).out, HasSubstr("s-abcde digits"));
  EXPECT_THAT(yard_.Run({"plot", "digits"}).out, HasSubstr("best loss over ended trials"));
  EXPECT_EQ(json::parse(yard_.Run({"plot", "digits", "--json"}).out)["points"][0]["best"], 0.25);
  EXPECT_THAT(yard_.Run({"export", "digits"}).out, HasSubstr("0,t-first,digits-0000,done,0.25,"));
  EXPECT_THAT(yard_.Run({"export", "digits", "--format", "jsonl"}).out,
              HasSubstr("\"state\":\"failed\""));
  EXPECT_THAT(yard_.Run({"watch", "digits", "--all"}).out, HasSubstr("digits-0001  failed"));
}

// The name of a sweep is a prefix of its runs' names.
TEST_F(SweepVerbsTest, ASweepThatBeginsWhileItIsLookedForIsShownAndNotItsFirstRun) {
  yard_.AddSeries({.run = "digits-0000", .tag = "loss", .values = {1.0}});
  bool has_begun = false;
  yard_.EditRun("digits-0000", [&](const msg::RunT&) {
    if (!std::exchange(has_begun, true)) yard_.AddSweep(Sweep(msg::SweepState::Running));
  });
  yard_.Start();
  EXPECT_EQ(json::parse(yard_.Run({"show", "digits", "--json"}).out)["id"], "s-abcde");
  EXPECT_TRUE(has_begun);
  EXPECT_EQ(json::parse(yard_.Run({"show", "digits-", "--json"}).out)["run"], "digits-0000");
}

TEST_F(SweepVerbsTest, WhatASweepIsNotIsSaid) {
  Start();
  EXPECT_THAT(yard_.Run({"logs", "digits"}).err, HasSubstr("digits is a sweep: its trials have"));
  EXPECT_THAT(yard_.Run({"tell", "digits", "1"}).err, HasSubstr("digits is a sweep: only a trial"));
  EXPECT_THAT(yard_.Run({"set", "digits", "--note", "x"}).err, HasSubstr("digits is a sweep"));
  EXPECT_THAT(yard_.Run({"sweep", "--enqueue", "t-other", "{}"}).err,
              HasSubstr("t-other is a trial, not a sweep"));
}

}  // namespace
}  // namespace yard
