// The tests that main_test runs to check how a process ends if its tests have started other
// processes.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "launcher/testing/call/function.h"
#include "launcher/testing/multi_process_pool_runner.h"
#include "launcher/testing/multi_process_runner.h"
#include "launcher/testing/spec/cluster_spec.h"

namespace launcher::testing {
namespace {

// From the environment, since functions that run in children cannot use this program's argv.
std::string Path() { return getenv("MAIN_TEST_PATH"); }

void SayThatItHasEnded() {
  const int fd = open(Path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  EXPECT_EQ(write(fd, "ended\n", 6), 6);
  close(fd);
}

void SayAtExit() { ASSERT_EQ(atexit(SayThatItHasEnded), 0); }
const Function kSayAtExit("SayAtExit", SayAtExit);

TEST(ProgramTest, FailsWithAPool) {
  static auto* const pool =  // (Never deleted.)
      new MultiProcessPoolRunner(CreateClusterSpec(false, 2).value());
  ASSERT_TRUE(pool->Run(kSayAtExit).ok());
  FAIL() << "as it is to";
}

// Blocks until the other end of a fifo is opened.
void AwaitRelease() {
  const int fd = open(Path().c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_GE(fd, 0);
  close(fd);
}
const Function kAwaitRelease("AwaitRelease", AwaitRelease);

TEST(ProgramTest, LeavesATask) {
  MultiProcessRunner runner(kAwaitRelease, CreateClusterSpec().value());
  ASSERT_TRUE(runner.Start().ok());
}

}  // namespace
}  // namespace launcher::testing
