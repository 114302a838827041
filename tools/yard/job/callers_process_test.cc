#include "tools/yard/job/callers_process.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace yard {
namespace {

TEST(CallersProcessTest, IsLikeThisProcess) {
  const mode_t before = umask(0027);
  const rlimit limit = {.rlim_cur = 12, .rlim_max = 34};
  ASSERT_EQ(setrlimit(RLIMIT_MSGQUEUE, &limit), 0);
  ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 19), 0);
  const msg::CallersProcessT process = CallersProcess();
  umask(before);
  EXPECT_EQ(process.umask, 0027U);
  EXPECT_EQ(process.nice, 19);
  EXPECT_EQ(process.cpus.substr(0, 1), "0");
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> limits;
  for (const auto& known : process.limits) limits[known->name] = {known->soft, known->hard};
  EXPECT_EQ(limits["msgqueue"], std::pair(std::uint64_t{12}, std::uint64_t{34}));
}

}  // namespace
}  // namespace yard
