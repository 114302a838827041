#include "tools/yard/callers_process.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CallersProcessTest, IsLikeThisProcess) {
  const mode_t before = umask(0027);
  const rlimit limit = {.rlim_cur = 12, .rlim_max = 34};
  ASSERT_EQ(setrlimit(RLIMIT_MSGQUEUE, &limit), 0);
  ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 19), 0);
  const std::string process = CallersProcess();
  umask(before);
  EXPECT_THAT(process, StartsWith("YARD_CALLER=umask=0027;nice=19;cpus=0"));
  EXPECT_THAT(process, HasSubstr(";msgqueue=12:34"));
}

}  // namespace
}  // namespace yard
