#include "datamanager/catalog/memory_budget.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace datamanager {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(MemoryBudgetTest, IsAQuarter) {
  EXPECT_EQ(MemoryBudget(1024 * kMiB), 256 * kMiB);
  EXPECT_EQ(MemoryBudget(std::nullopt), kUnknownMemoryBudget);
}

TEST(MemoryBudgetTest, IsToBeHadHere) {
  EXPECT_GT(DefaultMemoryBudget(), 0U);
  EXPECT_LT(DefaultMemoryBudget(), std::uint64_t{1} << 60);
}

}  // namespace
}  // namespace datamanager
