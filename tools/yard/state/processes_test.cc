#include "tools/yard/state/processes.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/process/subprocess.h"

namespace yard {
namespace {

class ProcessesTest : public ::testing::Test {
 protected:
  ProcessesTest() {
    char name[] = "/tmp/yard-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~ProcessesTest() override { std::filesystem::remove_all(directory_); }

  static runtime::Subprocess Sleeper() {
    auto sleeper = runtime::Subprocess::Start({.argv = {"/bin/sleep", "1000"}});
    EXPECT_TRUE(sleeper.ok()) << sleeper.status();
    return *std::move(sleeper);
  }

  std::string directory_;
};

TEST_F(ProcessesTest, AServiceTellsWhereItsSocketsAreByTheLockThatItHolds) {
  const std::string state = directory_ + "/state", other = directory_ + "/other";
  ASSERT_TRUE(runtime::MakePrivateDirectory(state).ok());
  ASSERT_TRUE(runtime::MakePrivateDirectory(other).ok());
  const auto look = [&] { return PlaceOf(getpid(), "trainer", state); };
  const auto state_lock = runtime::LockFile(state + "/trainer.lock");
  const auto launcher_lock = runtime::LockFile(other + "/launcher.lock");
  ASSERT_TRUE(state_lock.ok() && launcher_lock.ok());
  EXPECT_TRUE(absl::IsNotFound(look().status()));
  const auto lock = runtime::LockFile(other + "/trainer.lock");
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(look()->directory, other);
  EXPECT_FALSE(look()->lock_is_gone);
  std::filesystem::remove_all(other);
  EXPECT_EQ(look()->directory, other);
  EXPECT_TRUE(look()->lock_is_gone);
  EXPECT_TRUE(absl::IsNotFound(PlaceOf(999'999'999, "trainer", state).status()));
}

TEST_F(ProcessesTest, OneThatWasKilledIsEndingAtOnce) {
  auto sleeper = Sleeper();
  EXPECT_FALSE(IsEnding(sleeper.pid()));
  ASSERT_TRUE(sleeper.Signal(SIGKILL).ok());
  EXPECT_TRUE(IsEnding(sleeper.pid()));
  ASSERT_TRUE(sleeper.Wait(absl::Seconds(60)).ok());
  EXPECT_TRUE(IsEnding(sleeper.pid()));
}

TEST_F(ProcessesTest, OnlyTheOneThatIsMeantIsSignalled) {
  auto sleeper = Sleeper();
  EXPECT_FALSE(OwnProcess::Hold(getpid(), [](pid_t) { return true; }).has_value());
  EXPECT_FALSE(OwnProcess::Hold(0, [](pid_t) { return true; }).has_value());
  EXPECT_FALSE(OwnProcess::Hold(sleeper.pid(), [](pid_t) { return false; }).has_value());
  const auto held = OwnProcess::Hold(sleeper.pid(), [](pid_t) { return true; });
  ASSERT_TRUE(held.has_value());
  EXPECT_FALSE(held->AwaitEnd(absl::ZeroDuration()));
  held->Signal(SIGTERM);
  EXPECT_TRUE(held->AwaitEnd(absl::Seconds(60)));
  EXPECT_EQ(sleeper.Wait(absl::Seconds(60))->signal, SIGTERM);
}

}  // namespace
}  // namespace yard
