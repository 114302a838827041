#include "launcher/process/process_table.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace launcher {
namespace {

std::string NameInProc(int fd) { return OpenFileName(absl::StrCat("/proc/self/fd/", fd)); }

TEST(ProcessTableTest, WhoStartsLaterHasNoFewerTicks) {
  for (int i = 0; i < 20; ++i) {
    const auto before = StartTicksNow();
    auto process = runtime::Subprocess::Start(
        {.argv = {"/bin/sleep", "1000"}, .program = "/bin/sleep", .working_directory = "/"});
    ASSERT_TRUE(process.ok()) << process.status();
    const auto row = ReadProcess(process->pid());
    const auto after = StartTicksNow();
    ASSERT_TRUE(process->Signal(9).ok());
    ASSERT_TRUE(process->Wait().ok());
    ASSERT_TRUE(row.has_value());
    EXPECT_LE(before, row->start_ticks);
    EXPECT_LE(row->start_ticks, after);
  }
}

TEST(ProcessTableTest, ADescriptorHasTheNameThatOthersSee) {
  int pipe_ends[2], socket_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends), 0);
  const runtime::UniqueFd fds[] = {runtime::UniqueFd(pipe_ends[0]), runtime::UniqueFd(pipe_ends[1]),
                                   runtime::UniqueFd(socket_ends[0]),
                                   runtime::UniqueFd(socket_ends[1]),
                                   runtime::UniqueFd(eventfd(0, 0))};
  for (const auto& fd : fds) {
    EXPECT_NE(OpenFileName(fd.get()), "");
    EXPECT_EQ(OpenFileName(fd.get()), NameInProc(fd.get()));
  }
  EXPECT_EQ(OpenFileName(fds[0].get()), OpenFileName(fds[1].get()));
  EXPECT_NE(OpenFileName(fds[2].get()), OpenFileName(fds[3].get()));
  EXPECT_EQ(OpenFileName(-1), "");
}

// A reader of the pipe (the test itself or its child) has the other end, and does not count.
TEST(ProcessTableTest, HoldsAPipeWhoMayWriteToIt) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const runtime::UniqueFd fds[] = {runtime::UniqueFd(ends[0]), runtime::UniqueFd(ends[1])};
  std::vector<runtime::Subprocess> sleepers;
  for (const auto& fd : fds) {
    auto process = runtime::Subprocess::Start(
        {.argv = {"/bin/sleep", "1000"}, .program = "/bin/sleep", .fds = {{fd.get(), 5}}});
    ASSERT_TRUE(process.ok()) << process.status();
    sleepers.push_back(*std::move(process));
  }
  const std::vector<pid_t> writer = {sleepers[1].pid()};
  EXPECT_EQ(HoldersOf(ReadProcesses(), {OpenFileName(ends[0])}), writer);
  for (auto& sleeper : sleepers) {
    EXPECT_TRUE(sleeper.Signal(9).ok());
    EXPECT_TRUE(sleeper.Wait().ok());
  }
}

}  // namespace
}  // namespace launcher
