#include "trainer/attempt/trial_resources.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Amounts = std::vector<std::pair<std::string, std::uint32_t>>;

msg::TrialOptionsT Asking(const Amounts& resources) {
  msg::TrialOptionsT options;
  for (const auto& [name, amount] : resources) {
    options.resources.push_back(std::make_unique<msg::ResourceRequestT>());
    options.resources.back()->name = name;
    options.resources.back()->amount = amount;
  }
  return options;
}

void AddLimit(msg::TrialOptionsT& options, const std::string& name, std::uint64_t soft,
              std::uint64_t hard) {
  options.process_limits.push_back(std::make_unique<msg::ProcessLimitT>());
  options.process_limits.back()->name = name;
  options.process_limits.back()->soft = soft;
  options.process_limits.back()->hard = hard;
}

Amounts Many(std::size_t count) {
  Amounts many;
  for (std::size_t i = 0; i < count; ++i) many.emplace_back("r" + std::to_string(i), 1);
  return many;
}

TEST(CheckResourcesTest, TakesWhatTheLauncherTakes) {
  EXPECT_TRUE(CheckResources({}).ok());
  EXPECT_TRUE(CheckResources(Asking({{"gpu", 1}, {"my_slots-2", 1'000'000'000}})).ok());
  EXPECT_TRUE(CheckResources(Asking(Many(64))).ok());
  msg::TrialOptionsT options;
  AddLimit(options, "nofile", 5, 5);
  AddLimit(options, "core", 0, UINT64_MAX);
  EXPECT_TRUE(CheckResources(options).ok());
}

TEST(CheckResourcesTest, RefusesWhatNoMachineHasAndSaysWhy) {
  const struct {
    Amounts resources;
    std::string why;
  } kCases[] = {
      {{{"gpu", 0}}, "resource gpu: an amount of 0"},
      {{{"gpu", 1}, {"slots", 1}, {"gpu", 2}}, "resource gpu is asked for twice"},
      {{{"", 1}}, "resource \"\": not a name"},
      {{{"gpu=1", 1}}, "resource \"gpu=1\": not a name"},
      {{{"\x1b[31m", 1}}, "not a name"},
      {{{"\xff", 1}}, "not a name"},
      {{{std::string("a\0b", 3), 1}}, "not a name"},
      {{{std::string(33, 'x'), 1}}, "not a name of at most 32"},
      {Many(65), "65 resources are asked for, more than 64"},
  };
  for (const auto& [resources, why] : kCases) {
    const absl::Status status = CheckResources(Asking(resources));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
    EXPECT_EQ(std::string(status.message()).find('\x1b'), std::string::npos);
  }
}

TEST(CheckResourcesTest, RefusesLimitsThatCannotBe) {
  msg::TrialOptionsT crossed, twice, unnamed;
  AddLimit(crossed, "nofile", 6, 5);
  EXPECT_THAT(std::string(CheckResources(crossed).message()),
              HasSubstr("process limit nofile: the soft one, 6, is above the hard one, 5"));
  AddLimit(twice, "nofile", 5, 5);
  AddLimit(twice, "nofile", 5, 5);
  EXPECT_THAT(std::string(CheckResources(twice).message()),
              HasSubstr("process limit nofile is asked for twice"));
  AddLimit(unnamed, "no file", 5, 5);
  EXPECT_EQ(CheckResources(unnamed).code(), absl::StatusCode::kInvalidArgument);
}

TEST(CheckResourcesTest, RefusesATimeThatNobodyLives) {
  msg::TrialOptionsT options;
  options.max_run_time_ms = 100ull * 365 * 86'400'000;
  EXPECT_TRUE(CheckResources(options).ok());
  ++options.max_run_time_ms;
  EXPECT_THAT(std::string(CheckResources(options).message()),
              HasSubstr("max_run_time_ms: 3153600000001 is more than a hundred years"));
}

TEST(SetResourcesTest, OneThatAsksForNothingStaysAsItIs) {
  msg::JobSpecT job;
  job.task_type = "worker";
  SetResources({}, &job);
  EXPECT_THAT(job.groups, IsEmpty());
  EXPECT_FALSE(job.share_sets);
}

TEST(SetResourcesTest, OneThatSharesAsksForNothingMore) {
  msg::TrialOptionsT options;
  options.share_gpu = true;
  msg::JobSpecT job;
  SetResources(options, &job);
  EXPECT_THAT(job.groups, IsEmpty());
  EXPECT_TRUE(job.share_sets);
}

TEST(SetResourcesTest, OneTaskThatAsksBecomesAGroupOfOne) {
  msg::TrialOptionsT options = Asking({{"gpu", 2}});
  AddLimit(options, "nofile", 5, 6);
  msg::JobSpecT job;
  job.task_type = "worker";
  SetResources(options, &job);
  ASSERT_EQ(job.groups.size(), 1u);
  const msg::TaskGroupT& group = *job.groups[0];
  EXPECT_EQ(group.type, "worker");
  EXPECT_EQ(group.count, 1u);
  ASSERT_EQ(group.resources.size(), 1u);
  EXPECT_EQ(group.resources[0]->name, "gpu");
  EXPECT_EQ(group.resources[0]->amount, 2u);
  ASSERT_EQ(group.process_limits.size(), 1u);
  EXPECT_EQ(group.process_limits[0]->name, "nofile");
  EXPECT_EQ(group.process_limits[0]->soft, 5u);
  EXPECT_EQ(group.process_limits[0]->hard, 6u);
  EXPECT_EQ(group.control_limits, nullptr);
}

TEST(SetResourcesTest, EachGroupOfAClusterAsksForItsTasks) {
  msg::TrialOptionsT options = Asking({{"gpu", 1}});
  options.control_limits = std::make_unique<msg::ControlLimitsT>();
  options.control_limits->memory_bytes = 7;
  options.control_limits->milli_cpus = 500;
  options.control_limits->processes = 9;
  msg::JobSpecT job;
  for (int i = 0; i < 2; ++i) job.groups.push_back(std::make_unique<msg::TaskGroupT>());
  SetResources(options, &job);
  ASSERT_EQ(job.groups.size(), 2u);
  for (const auto& group : job.groups) {
    ASSERT_EQ(group->resources.size(), 1u);
    EXPECT_EQ(group->resources[0]->name, "gpu");
    ASSERT_NE(group->control_limits, nullptr);
    EXPECT_EQ(group->control_limits->memory_bytes, 7u);
    EXPECT_EQ(group->control_limits->milli_cpus, 500u);
    EXPECT_EQ(group->control_limits->processes, 9u);
  }
}

msg::JobT JobOf(const std::vector<std::vector<std::int64_t>>& attempts_of_tasks) {
  msg::JobT job;
  for (const auto& starts : attempts_of_tasks) {
    job.tasks.push_back(std::make_unique<msg::TaskT>());
    for (const std::int64_t started_us : starts) {
      job.tasks.back()->attempts.push_back(std::make_unique<msg::AttemptT>());
      job.tasks.back()->attempts.back()->started_us = started_us;
    }
  }
  return job;
}

TEST(StartOfTest, IsWhenTheFirstTaskStarted) {
  EXPECT_EQ(StartOf(JobOf({})), std::nullopt);
  EXPECT_EQ(StartOf(JobOf({{}, {}})), std::nullopt) << "all wait";
  EXPECT_EQ(StartOf(JobOf({{}, {0}})), 0) << "starting";
  EXPECT_EQ(StartOf(JobOf({{7}, {5}, {}})), 5);
  EXPECT_EQ(StartOf(JobOf({{0}, {5}})), 5);
  EXPECT_EQ(StartOf(JobOf({{5}, {0}})), 5);
}

class WhyJobWaitsTest : public testing::Test {
 protected:
  WhyJobWaitsTest() {
    Add("j-one", "t-one");
    Add("j-many", "t-many");
    trials_.back().second.spec.options.tasks.push_back(std::make_unique<msg::TrialTasksT>());
  }
  void Add(const std::string& job, const std::string& trial) {
    trials_.emplace_back(job, TrialRecord());
    trials_.back().second.run.trial_id = trial;
  }
  std::string Why(const std::string& reason) const {
    msg::JobT job;
    job.reason = reason;
    return WhyJobWaits(job, [this](const std::string& id) -> const TrialRecord* {
      for (const auto& [known, trial] : trials_) {
        if (known == id) return &trial;
      }
      return nullptr;
    });
  }
  std::vector<std::pair<std::string, TrialRecord>> trials_;
};

TEST_F(WhyJobWaitsTest, NamesTrialsForTheirJobs) {
  EXPECT_EQ(Why(""), "");
  EXPECT_EQ(Why("waits for its resources"), "waits for its resources");
  EXPECT_EQ(Why("waits for gpu: 1 of 1 is used by j-one/worker-0"),
            "waits for gpu: 1 of 1 is used by t-one");
  EXPECT_EQ(Why("waits for 2 gpu: 3 of 4 are used by j-one/worker-0, j-else/worker-0, "
                "j-many/worker-0, j-many/worker-1 and 3 more"),
            "waits for 2 gpu: 3 of 4 are used by t-one, j-else/worker-0, t-many/worker-0, "
            "t-many/worker-1 and 3 more");
  EXPECT_EQ(Why("waits for gpu behind j-one"), "waits for gpu behind t-one");
}

TEST_F(WhyJobWaitsTest, AJobThatHasEndedWaitsForNothing) {
  msg::JobT job;
  job.state = msg::TaskState::Exited;
  job.reason = "stopped: asked to";
  EXPECT_EQ(WhyJobWaits(job, [](const std::string&) { return nullptr; }), "");
}

TEST_F(WhyJobWaitsTest, WhatOnlyLooksLikeAJobStays) {
  EXPECT_EQ(Why("waits for obj-one: 1 of 1 is used by j-one"),
            "waits for obj-one: 1 of 1 is used by t-one");
  EXPECT_EQ(Why("j-"), "j-");
  EXPECT_EQ(Why("j-onemore j-on j-one/"), "j-onemore j-on t-one");
}

TEST(WhyBehindTest, OnlyWhatIsAwaitedHoldsBack) {
  const AwaitedResources awaited = {{"gpu", "t-a"}, {"slots", "t-b"}};
  EXPECT_EQ(WhyBehind({}, awaited), "");
  EXPECT_EQ(WhyBehind(Asking({{"disk", 1}}), awaited), "");
  EXPECT_EQ(WhyBehind(Asking({{"gpu", 1}}), {}), "");
  EXPECT_EQ(WhyBehind(Asking({{"disk", 1}, {"slots", 2}}), awaited), "waits for slots behind t-b");
  // The GPUs of a pool are separate.
  msg::TrialOptionsT there = Asking({{"gpu", 1}});
  there.pool = "lab";
  EXPECT_EQ(WhyBehind(there, awaited), "");
  EXPECT_EQ(WhyBehind(there, {{"pool lab", "t-c"}}), "waits for pool lab behind t-c");
}

TEST(OutOfMemoryWordsTest, HasTheLimitAndWhatHappened) {
  EXPECT_EQ(OutOfMemoryWords(std::uint64_t{4} << 30, "signal 9 (Killed)"),
            "out of memory, with a limit of 4GiB for each task (--memory): signal 9 (Killed)");
}

}  // namespace
}  // namespace trainer
