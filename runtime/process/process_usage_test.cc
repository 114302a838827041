#include "runtime/process/process_usage.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <atomic>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace runtime {
namespace {

TEST(ProcessUsageTest, CountsWhatIsOpenedAndStarted) {
  // With a process's first thread, a sanitizer starts a thread of its own, which stays.
  Thread("first", [] {}).Join();
  const ProcessUsage before = UsageOfThisProcess();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(before.open_files_limit, limit.rlim_cur);
  EXPECT_GE(before.threads, 1u);

  std::vector<UniqueFd> files;
  for (int i = 0; i < 5; ++i) files.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::atomic<bool> end = false;
  Thread thread("waits", [&] { end.wait(false); });
  const ProcessUsage after = UsageOfThisProcess();
  EXPECT_EQ(after.open_files, before.open_files + 5);
  EXPECT_EQ(after.threads, before.threads + 1);
  end = true;
  end.notify_all();
  thread.Join();
}

TEST(ProcessUsageTest, MemoryAndTimeGrow) {
  const ProcessUsage before = UsageOfThisProcess();
  constexpr std::size_t kBytes = 64 << 20;
  std::string touched(kBytes, 'x');
  while (UsageOfThisProcess().cpu < before.cpu + absl::Milliseconds(20)) touched[0] += 1;
  EXPECT_GE(UsageOfThisProcess().resident_bytes, before.resident_bytes + kBytes / 2);
}

}  // namespace
}  // namespace runtime
