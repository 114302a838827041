#include "tools/yard/top/usage_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace yard::top {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

msg::UsageReplyT Usage(std::int64_t at_us, std::uint64_t cpu_us, std::uint32_t attempt = 1) {
  msg::UsageReplyT usage;
  usage.measured_us = at_us;
  auto task = std::make_unique<msg::TaskUsageT>();
  task->task = "j-abcde/worker-0";
  task->attempt = attempt;
  task->cpu_us = cpu_us;
  usage.tasks.push_back(std::move(task));
  return usage;
}

TEST(UsageRatesTest, AreKnownFromTheSecondMeasurementOn) {
  UsageRates rates;
  EXPECT_THAT(rates.Take(Usage(1'000'000, 500)).cores, IsEmpty());
  EXPECT_THAT(rates.Take(Usage(2'000'000, 1'500'500)).cores,
              ElementsAre(Pair("j-abcde/worker-0", 1.5)));
  // Repeating the same measurement changes nothing.
  EXPECT_THAT(rates.Take(Usage(2'000'000, 1'500'500)).cores,
              ElementsAre(Pair("j-abcde/worker-0", 1.5)));
}

TEST(UsageRatesTest, ANewAttemptBeginsAnew) {
  UsageRates rates;
  rates.Take(Usage(1'000'000, 5'000'000));
  EXPECT_THAT(rates.Take(Usage(2'000'000, 10, 2)).cores, IsEmpty());
}

TEST(UsageRatesTest, AreNeverNegative) {
  UsageRates rates;
  rates.Take(Usage(2'000'000, 5'000'000));
  EXPECT_THAT(rates.Take(Usage(1'000'000, 6'000'000)).cores, IsEmpty());
  EXPECT_THAT(rates.Take(Usage(3'000'000, 1)).cores, ElementsAre(Pair("j-abcde/worker-0", 0.0)));
}

TEST(UsageRatesTest, DisksHaveRatesWhereTheyAreKnown) {
  UsageRates rates;
  auto usage = Usage(1'000'000, 0);
  usage.tasks[0]->read_bytes = 100;
  usage.tasks[0]->written_bytes = 1000;
  rates.Take(usage);
  usage.measured_us = 3'000'000;
  usage.tasks[0]->io_known = true;
  EXPECT_THAT(rates.Take(usage).disks, IsEmpty());
  usage.measured_us = 5'000'000;
  usage.tasks[0]->read_bytes = 300;
  usage.tasks[0]->written_bytes = 0;  // Decreased: the process that wrote is gone.
  const auto& disks = rates.Take(usage).disks;
  ASSERT_EQ(disks.count("j-abcde/worker-0"), 1u);
  EXPECT_EQ(disks.at("j-abcde/worker-0").read, 100);
  EXPECT_EQ(disks.at("j-abcde/worker-0").written, 0);
}

}  // namespace
}  // namespace yard::top
