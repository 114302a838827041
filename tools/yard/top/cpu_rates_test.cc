#include "tools/yard/top/cpu_rates.h"

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

TEST(CpuRatesTest, AreKnownFromTheSecondMeasurementOn) {
  CpuRates rates;
  EXPECT_THAT(rates.Take(Usage(1'000'000, 500)), IsEmpty());
  EXPECT_THAT(rates.Take(Usage(2'000'000, 1'500'500)), ElementsAre(Pair("j-abcde/worker-0", 1.5)));
  // The same one again says nothing new.
  EXPECT_THAT(rates.Take(Usage(2'000'000, 1'500'500)), ElementsAre(Pair("j-abcde/worker-0", 1.5)));
}

TEST(CpuRatesTest, ANewAttemptBeginsAnew) {
  CpuRates rates;
  rates.Take(Usage(1'000'000, 5'000'000));
  EXPECT_THAT(rates.Take(Usage(2'000'000, 10, 2)), IsEmpty());
}

TEST(CpuRatesTest, AreNeverNegative) {
  CpuRates rates;
  rates.Take(Usage(2'000'000, 5'000'000));
  EXPECT_THAT(rates.Take(Usage(1'000'000, 6'000'000)), IsEmpty());
  EXPECT_THAT(rates.Take(Usage(3'000'000, 1)), ElementsAre(Pair("j-abcde/worker-0", 0.0)));
}

}  // namespace
}  // namespace yard::top
