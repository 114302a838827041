#include "runtime/process/exit_code.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

TEST(ExitCodeTest, SaysWhatKindOfFailureItWas) {
  EXPECT_EQ(ExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCode(absl::InternalError("x")), 1);
  EXPECT_EQ(ExitCode(absl::NotFoundError("x")), 1);
  EXPECT_EQ(ExitCode(absl::InvalidArgumentError("x")), 2);
  EXPECT_EQ(ExitCode(absl::UnavailableError("x")), 4);
  EXPECT_EQ(ExitCode(absl::DeadlineExceededError("x")), 5);
  EXPECT_EQ(ExitCode(absl::AlreadyExistsError("x")), 6);
}

TEST(ExitCodeTest, ReportsOneLineAndOnlyForAFailure) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ReportAndExitCode("trainer", absl::OkStatus()), 0);
  EXPECT_EQ(ReportAndExitCode("trainer", absl::AlreadyExistsError("process 7 runs")), 6);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "trainer: process 7 runs\n");
}

}  // namespace
}  // namespace runtime
