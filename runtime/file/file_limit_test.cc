#include "runtime/file/file_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

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

TEST(FileLimitTest, TheTableOfOpenFilesNeedNotGrowSoon) {
  RaiseFileLimit();
  std::ifstream status("/proc/self/status");
  std::string word;
  rlim_t size = 0;
  while (status >> word) {
    if (word == "FDSize:") status >> size;
  }
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_GE(size, std::min<rlim_t>(limit.rlim_cur, kFileTable));
}

}  // namespace
}  // namespace runtime
