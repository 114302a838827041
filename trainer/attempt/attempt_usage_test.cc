#include "trainer/attempt/attempt_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class AttemptUsageTest : public ::testing::Test {
 protected:
  // Returns one task of a measurement.
  static msg::TaskUsageT Task(const std::string& name, std::uint64_t cpu_us,
                              std::uint64_t memory = 0) {
    msg::TaskUsageT task;
    task.task = name;
    task.attempt = 1;
    task.cpu_us = cpu_us;
    task.rss_bytes = memory;
    return task;
  }
  std::map<std::string, double> Take(std::int64_t at_s, std::vector<msg::TaskUsageT> tasks) {
    usage_.measured_us = at_s * 1'000'000;
    std::vector<const msg::TaskUsageT*> pointers;
    for (const auto& task : tasks) pointers.push_back(&task);
    std::map<std::string, double> values;
    for (const SystemValue& value : mine_.Take(usage_, pointers)) values[value.name] = value.value;
    return values;
  }

  msg::UsageReplyT usage_;
  AttemptUsage mine_;
};

TEST_F(AttemptUsageTest, RatesAreMeansSinceTheMeasurementBefore) {
  auto task = Task("j-a/worker-0", 1'000'000, 500);
  task.io_known = true;
  task.read_bytes = 1000;
  task.written_bytes = 7;
  EXPECT_THAT(Take(100, {task}), ElementsAre(Pair("sys/memory_bytes", 500)));
  task.cpu_us += 7'500'000;
  task.read_bytes += 50;
  task.rss_bytes = 600;
  EXPECT_THAT(Take(105, {task}),
              ElementsAre(Pair("sys/cpu_percent", 150), Pair("sys/disk_read_bytes_per_s", 10),
                          Pair("sys/disk_written_bytes_per_s", 0), Pair("sys/memory_bytes", 600)));
}

TEST_F(AttemptUsageTest, TasksAreAddedUp) {
  Take(0, {Task("j-a/worker-0", 0), Task("j-a/worker-1", 5'000'000)});
  EXPECT_THAT(Take(10, {Task("j-a/worker-0", 10'000'000, 1), Task("j-a/worker-1", 15'000'000, 2)}),
              ElementsAre(Pair("sys/cpu_percent", 200), Pair("sys/memory_bytes", 3)));
}

TEST_F(AttemptUsageTest, AnAttemptIsNotComparedWithTheOneBeforeIt) {
  Take(0, {Task("j-a/worker-0", 90'000'000)});
  auto task = Task("j-a/worker-0", 1'000'000, 8);
  task.attempt = 2;
  EXPECT_THAT(Take(10, {task}), ElementsAre(Pair("sys/memory_bytes", 8)));
}

TEST_F(AttemptUsageTest, NothingRunsBack) {
  Take(10, {Task("j-a/worker-0", 90'000'000)});
  EXPECT_THAT(Take(20, {Task("j-a/worker-0", 1'000'000)}),
              ElementsAre(Pair("sys/cpu_percent", 0), Pair("sys/memory_bytes", 0)));
  // The wall clock was set back.
  EXPECT_THAT(Take(15, {Task("j-a/worker-0", 2'000'000)}),
              ElementsAre(Pair("sys/memory_bytes", 0)));
}

TEST_F(AttemptUsageTest, WithoutTasksThereIsNothing) { EXPECT_THAT(Take(1, {}), IsEmpty()); }

TEST_F(AttemptUsageTest, GpusAreCountedAsTheTasksHaveThem) {
  for (std::uint32_t index = 0; index < 4; ++index) {
    auto gpu = std::make_unique<msg::GpuUsageT>();
    gpu->index = index;
    gpu->utilisation = 10 * index;
    gpu->memory_bytes = 100 * index;
    gpu->memory_total_bytes = 1000;
    gpu->temperature = 50 + index;
    gpu->power = NAN;
    usage_.gpus.push_back(std::move(gpu));
  }
  usage_.gpus[1]->utilisation = usage_.gpus[1]->temperature = NAN;  // The GPU is lost.
  usage_.gpus[1]->memory_total_bytes = 0;
  auto first = Task("j-a/worker-0", 0), second = Task("j-a/worker-1", 0);
  first.gpus = {3};
  second.gpus = {3, 1, 2, 9};
  EXPECT_THAT(Take(1, {first, second}),
              UnorderedElementsAre(
                  Pair("sys/memory_bytes", 0), Pair("sys/gpu0/utilization_percent", 30),
                  Pair("sys/gpu0/memory_bytes", 300), Pair("sys/gpu0/temperature_celsius", 53),
                  Pair("sys/gpu2/utilization_percent", 20), Pair("sys/gpu2/memory_bytes", 200),
                  Pair("sys/gpu2/temperature_celsius", 52)));
}

}  // namespace
}  // namespace trainer
