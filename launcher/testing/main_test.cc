#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

// Tests how a process ends whose tests have started others (main_test_program.cc).

namespace launcher::testing {
namespace {

constexpr absl::Duration kLong = absl::Seconds(60);

class MainTest : public ::testing::Test {
 protected:
  // Runs one of the program's tests.
  void Start(const std::string& test) {
    const auto program = runtime::FindBinary("launcher/testing/main_test_program");
    ASSERT_TRUE(program.ok()) << program.status();
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    output_ = runtime::UniqueFd(ends[0]);
    const runtime::UniqueFd write_end(ends[1]);
    auto process = runtime::Subprocess::Start(
        {.argv = {*program, "--gtest_filter=ProgramTest." + test},
         .program = *program,
         .environment = {"PATH=/usr/bin:/bin", "MAIN_TEST_PATH=" + path_},
         .fds = {{write_end.get(), 1}, {write_end.get(), 2}}});
    ASSERT_TRUE(process.ok()) << process.status();
    process_.emplace(*std::move(process));
  }
  // Reads the program's output up to these words, or to its end.
  bool ReadUntil(const std::string& words) {
    char chunk[4096];
    pollfd ready = {output_.get(), POLLIN, 0};
    while (!absl::StrContains(said_, words)) {
      if (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(kLong))) <= 0) return false;
      const ssize_t got = read(output_.get(), chunk, sizeof chunk);
      if (got <= 0) return false;
      said_.append(chunk, static_cast<std::size_t>(got));
    }
    return true;
  }
  int ExitCode() {
    const auto status = process_->Wait(kLong);
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() && status->signal == 0 ? status->code : -1;
  }

  const std::string path_ =
      absl::StrCat(::testing::TempDir(), "/",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name(), ".", getpid());
  std::optional<runtime::Subprocess> process_;
  runtime::UniqueFd output_;
  std::string said_;
};

TEST_F(MainTest, PoolsEndAsTheyAreAskedToAlsoWhenATestHasFailed) {
  Start("FailsWithAPool");
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_EQ(runtime::ReadFile(path_, 4096).value_or("nothing"), "ended\nended\n");
}

TEST_F(MainTest, SaysForWhomItsEndWaits) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  Start("LeavesATask");
  ASSERT_TRUE(ReadUntil(", which nobody has joined\n")) << said_;
  EXPECT_TRUE(absl::StrContains(said_, "waiting for the end of worker-0 (process ")) << said_;
  EXPECT_FALSE(process_->Wait(absl::ZeroDuration()).ok());
  const runtime::UniqueFd release(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(ExitCode(), 0);
}

}  // namespace
}  // namespace launcher::testing
