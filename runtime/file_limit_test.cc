#include "runtime/file_limit.h"

#include <sys/resource.h>

#include "gtest/gtest.h"

namespace runtime {
namespace {

TEST(FileLimitTest, TheSoftLimitBecomesTheHardOne) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_GT(limit.rlim_max, 256u);
  limit.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const FileLimit before = RaiseFileLimit();
  EXPECT_EQ(before.soft, 256u);
  EXPECT_EQ(before.hard, limit.rlim_max);
  rlimit raised{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, limit.rlim_max);
}

}  // namespace
}  // namespace runtime
