// Tests `yard top` for files and scripts; tests/top_test tests its full screen.

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/schema/envelope_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/yard/cli/context.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/testing/fake_yard.h"
#include "tools/yard/top/fact_reader.h"
#include "tools/yard/top/facts.h"
#include "tools/yard/top/model.h"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TopTest : public ::testing::Test {
 protected:
  TopTest() {
    yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
    yard_.AddReport("t-abcde", "{\"loss\": 1.0}");
    yard_.AddReport("t-abcde", "{\"loss\": 0.5}");
    yard_.AddTrial("t-ended", "before", msg::TrialState::Done);
    yard_.AddJob("j-fghij", "train", msg::TaskState::Running);
  }
  FakeYard yard_;
};

TEST_F(TopTest, OneFrameHasServicesThingsAndTheMetric) {
  yard_.Start();
  const auto result = yard_.Run({"top", "--once"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("trainer up, 3 restarts"), HasSubstr("t-abcde first"),
                                HasSubstr("j-fghij train"), HasSubstr(" loss █▁  0.5 to 1\n"),
                                Not(HasSubstr("t-ended")), Not(HasSubstr("\x1b"))));
}

TEST_F(TopTest, WhatTasksUse) {
  msg::JobT job;
  job.id = "j-tasks";
  job.state = msg::TaskState::Running;
  job.tasks.push_back(std::make_unique<msg::TaskT>());
  job.tasks[0]->id = "j-tasks/worker-0";
  yard_.AddJob(std::move(job));
  msg::UsageReplyT usage;
  usage.measured_us = 1;
  usage.cores = 4;
  usage.tasks.push_back(std::make_unique<msg::TaskUsageT>());
  usage.tasks[0]->task = "j-tasks/worker-0";
  usage.tasks[0]->rss_bytes = 50'000'000;
  usage.tasks[0]->source = "proc";
  usage.tasks[0]->io_known = true;
  usage.tasks[0]->read_bytes = 11;
  usage.tasks[0]->written_bytes = 12;
  usage.tasks[0]->gpus = {0};
  for (const bool says_much : {true, false}) {
    auto gpu = std::make_unique<msg::GpuUsageT>();
    gpu->index = says_much ? 0 : 1;
    gpu->uuid = "GPU-1";
    gpu->utilisation = says_much ? 42 : NAN;
    gpu->memory_bytes = 5;
    gpu->memory_total_bytes = says_much ? 10 : 0;
    gpu->temperature = gpu->power = NAN;
    usage.gpus.push_back(std::move(gpu));
  }
  yard_.SetUsage(std::move(usage));
  yard_.Start();
  EXPECT_THAT(yard_.Run({"top", "--once"}).out,
              AllOf(HasSubstr("1 task "), HasSubstr("50.0 MB"), HasSubstr("gpu 42% of 100%")));
  const auto result = yard_.Run({"top", "--json"});
  EXPECT_EQ(result.code, kDone) << result.err;
  const json frame = json::parse(result.out);
  EXPECT_EQ(frame["usage"]["tasks"][0]["rss_bytes"], 50'000'000);
  EXPECT_EQ(frame["usage"]["cores"], 4);
  EXPECT_EQ(frame["usage"]["tasks"][0]["read_bytes"], 11);
  EXPECT_EQ(frame["usage"]["tasks"][0]["written_bytes"], 12);
  EXPECT_EQ(frame["usage"]["tasks"][0]["gpus"], json::array({0}));
  EXPECT_EQ(frame["usage"]["gpus"][0], json({{"gpu", 0},
                                             {"uuid", "GPU-1"},
                                             {"model", ""},
                                             {"utilization_percent", 42.0},
                                             {"memory_bytes", 5},
                                             {"memory_total_bytes", 10},
                                             {"temperature_celsius", nullptr},
                                             {"power_watts", nullptr}}));
  EXPECT_EQ(frame["usage"]["gpus"][1]["utilization_percent"], nullptr);
  EXPECT_EQ(frame["usage"]["gpus"][1]["memory_bytes"], nullptr);
  EXPECT_EQ(frame["usage"]["why_no_gpus"], nullptr);
  EXPECT_EQ(frame["services"].size(), 5u);
  EXPECT_EQ(frame["trials"][0]["id"], "t-abcde");
  EXPECT_EQ(frame["jobs"].size(), 2u);
}

TEST_F(TopTest, WithoutATerminalItSaysWhatThereIsInstead) {
  yard_.Start();
  const auto result = yard_.Run({"top"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("no terminal"), HasSubstr("yard top --once"), HasSubstr("yard ps")));
  EXPECT_EQ(result.out, "");
}

TEST_F(TopTest, AFrameThatIsNotWholeIsAnError) {
  yard_.Break("trainer", absl::UnavailableError("the trainer is away"));
  yard_.Start();
  const auto result = yard_.Run({"top", "--once"});
  EXPECT_EQ(result.code, kUnreachable);
  EXPECT_THAT(result.err, HasSubstr("the trainer is away"));
}

class FactReaderTest : public TopTest {
 protected:
  FactReaderTest() { yard_.Start(); }
  Context context_ = yard_.context();
  top::FactReader reader_{context_};
};

TEST_F(FactReaderTest, WhatEndsWhileSomebodyLooksOnStays) {
  ASSERT_EQ(reader_.Read({}).trials.size(), 1u);
  EXPECT_EQ(reader_.Carry({top::Order::Kind::kStop, "t-abcde", true}), "t-abcde stops");
  EXPECT_EQ(reader_.Carry({top::Order::Kind::kStop, "j-fghij"}), "j-fghij stops");
  for (int i = 0; i < 2; ++i) {
    const top::Facts facts = reader_.Read({});
    EXPECT_TRUE(facts.why.ok()) << facts.why;
    ASSERT_EQ(facts.trials.size(), 1u);
    EXPECT_EQ(facts.trials[0].state, msg::TrialState::Stopped);
    ASSERT_EQ(facts.jobs.size(), 1u);
    EXPECT_EQ(facts.jobs[0].state, msg::TaskState::Failed);
  }
}

TEST_F(FactReaderTest, ALookAsksForNoMoreThanIsShownHoweverManyHaveEnded) {
  for (int i = 0; i < 1000; ++i) {
    yard_.AddTrial(absl::StrCat("t-past", i), "", msg::TrialState::Done);
    yard_.AddJob(absl::StrCat("j-past", i), "", msg::TaskState::Exited);
  }
  EXPECT_EQ(reader_.Read({}).trials.size(), 1u);
  EXPECT_EQ(yard_.listed(), 2u * (1 + 10));
  // The trial ends before any read has shown it.
  yard_.AddTrial("t-quick", "", msg::TrialState::Running);
  reader_.Carry({top::Order::Kind::kStop, "t-quick", true});
  const top::Facts facts = reader_.Read({});
  ASSERT_EQ(facts.trials.size(), 2u);
  EXPECT_EQ(facts.trials[1].id, "t-quick");
  EXPECT_EQ(yard_.listed(), 4u * (1 + 10));
}

TEST_F(FactReaderTest, WhatCannotBeDoneIsSaid) {
  EXPECT_THAT(reader_.Carry({top::Order::Kind::kStop, "t-nobody", true}), HasSubstr("t-nobody"));
  EXPECT_EQ(reader_.Carry({top::Order::Kind::kRestart, "j-fghij"}), "j-fghij restarts");
}

TEST_F(FactReaderTest, ReportsOfATrialComeOnce) {
  const top::Subject subject = {.trial = "t-abcde", .reports = 2};
  EXPECT_EQ(reader_.Read(subject).reports.size(), 2u);
  yard_.AddReport("t-abcde", "{\"loss\": 0.25}");
  EXPECT_EQ(reader_.Read(subject).reports.size(), 3u);
  // Only the newest reports of a trial are requested.
  EXPECT_EQ(top::FactReader(context_).Read({.trial = "t-abcde", .reports = 1002}).reports.size(),
            1u);
}

TEST_F(FactReaderTest, OutputComesAsLines) {
  yard_.AddOutput("j-fghij", msg::LogStream::Stdout, "one\ntwo\nunfinished");
  EXPECT_THAT(reader_.Read({.output_of = "j-fghij"}).output,
              ::testing::ElementsAre("one", "two", "unfinished"));
}

}  // namespace
}  // namespace yard
