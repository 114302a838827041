#include "tools/yard/at/captured.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"

namespace yard {
namespace {

TEST(CapturedTest, KeepsBothStreamsApart) {
  const auto captured = Capture({"sh", "-c", "echo out; echo err >&2; exit 3"},
                                {.environment = {"PATH=/usr/bin:/bin"}, .keeps_stderr = true});
  ASSERT_TRUE(captured.ok()) << captured.status();
  EXPECT_EQ(captured->code, 3);
  EXPECT_EQ(captured->text, "out\n");
  EXPECT_EQ(captured->errors, "err\n");
}

TEST(CapturedTest, GivesItsInput) {
  const runtime::UniqueFd input(memfd_create("input", MFD_CLOEXEC));
  ASSERT_EQ(write(input.get(), "words", 5), 5);
  ASSERT_EQ(lseek(input.get(), 0, SEEK_SET), 0);
  const auto captured =
      Capture({"cat"}, {.environment = {"PATH=/usr/bin:/bin"}, .input = input.get()});
  ASSERT_TRUE(captured.ok()) << captured.status();
  EXPECT_EQ(captured->text, "words");
}

TEST(CapturedTest, KeepsNoMoreThanTheLimit) {
  const auto captured = Capture({"sh", "-c", "printf %01000d 1"},
                                {.environment = {"PATH=/usr/bin:/bin"}, .limit = 100});
  ASSERT_TRUE(captured.ok()) << captured.status();
  EXPECT_EQ(captured->text, std::string(100, '0'));
}

TEST(CapturedTest, IsKilledAtTheLimitIfItIsToEndThere) {
  const auto captured =
      Capture({"sh", "-c", "while :; do echo more; done"}, {.environment = {"PATH=/usr/bin:/bin"},
                                                            .new_session = true,
                                                            .limit = 100,
                                                            .ends_at_limit = true,
                                                            .timeout = absl::Minutes(5)});
  ASSERT_TRUE(captured.ok()) << captured.status();
  EXPECT_TRUE(captured->is_cut);
  EXPECT_EQ(captured->text.size(), 100u);
}

TEST(CapturedTest, RunsInItsDirectory) {
  const auto captured =
      Capture({"pwd"}, {.environment = {"PATH=/usr/bin:/bin"}, .working_directory = "/usr"});
  ASSERT_TRUE(captured.ok()) << captured.status();
  EXPECT_EQ(captured->text, "/usr\n");
}

TEST(CapturedTest, IsCancelledAndNothingLives) {
  const runtime::UniqueFd cancel(eventfd(1, EFD_CLOEXEC));
  const auto captured = Capture(
      {"sleep", "1000000"},
      {.environment = {"PATH=/usr/bin:/bin"}, .cancel = cancel.get(), .timeout = absl::Minutes(5)});
  EXPECT_TRUE(absl::IsCancelled(captured.status())) << captured.status();
}

TEST(CapturedTest, IsKilledWhenItsTimeIsOver) {
  const auto captured = Capture({"sh", "-c", "exec >&- 2>&-; exec sleep 1000000"},
                                {.environment = {"PATH=/usr/bin:/bin"},
                                 .shows_stderr = false,
                                 .timeout = absl::Seconds(0.1)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(captured.status())) << captured.status();
}

}  // namespace
}  // namespace yard
