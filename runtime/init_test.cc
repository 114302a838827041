#include "runtime/init.h"

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/exit_code.h"
#include "runtime/file.h"
#include "runtime/locations.h"

ABSL_DECLARE_FLAG(std::string, log_level);

namespace runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// One test: logging is set up once in the life of a process.
TEST(InitLoggingTest, LogsToStderrAndToOneFileAtOnce) {
  char name[] = "/tmp/init-XXXXXX";
  const std::string directory = mkdtemp(name);
  Locations locations;
  locations.state_directory = directory + "/state";

  absl::SetFlag(&FLAGS_log_level, "loud");
  EXPECT_TRUE(absl::IsInvalidArgument(InitLogging("trainer", locations)));
  absl::SetFlag(&FLAGS_log_level, "info");
  ASSERT_TRUE(InitLogging("trainer", locations).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(InitLogging("trainer", locations)));

  testing::internal::CaptureStderr();
  LOG(INFO) << "an information";
  LOG(WARNING) << "a warning";
  EXPECT_EQ(ReportAndExitCode("trainer", absl::UnavailableError("no registry")), 4);
  const auto logged =
      AllOf(HasSubstr("an information"), HasSubstr("a warning"), HasSubstr("trainer: no registry"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), logged);

  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(locations.LogDirectory())) {
    if (!entry.is_symlink()) files.push_back(entry.path().string());
  }
  ASSERT_EQ(files.size(), 1u);
  EXPECT_THAT(files[0], HasSubstr("/trainer.log."));
  EXPECT_THAT(*ReadFile(files[0], 1 << 20), logged);
  EXPECT_THAT(*ReadFile(locations.LogDirectory() + "/trainer.INFO", 1 << 20), logged);
  EXPECT_EQ(std::filesystem::status(files[0]).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(std::filesystem::status(locations.LogDirectory()).permissions(),
            std::filesystem::perms(0700));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace runtime
