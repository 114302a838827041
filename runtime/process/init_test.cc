#include "runtime/process/init.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/exit_code.h"

ABSL_DECLARE_FLAG(std::string, log_level);
ABSL_DECLARE_FLAG(int, log_file_mb);
ABSL_DECLARE_FLAG(int, log_files);

namespace runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string ContentOf(const std::string& path) {
  return ReadFile(path, 64 << 20).value_or("(no file)");
}

void CheckPrivate(const std::string& path, int mode) {
  EXPECT_EQ(static_cast<int>(std::filesystem::status(path).permissions()), mode) << path;
}

// A single test, because a process can set up logging only once.
TEST(InitLoggingTest, LogsToStderrAndToFilesOfBoundedSize) {
  char name[] = "/tmp/init-XXXXXX";
  const std::string directory = mkdtemp(name);
  Locations locations;
  locations.state_directory = directory + "/state";
  const std::string log = locations.LogDirectory() + "/trainer.log";
  const std::string output = locations.LogDirectory() + "/trainer.out";

  for (const auto& [flag, value, word] :
       std::vector<std::tuple<absl::Flag<int>*, int, std::string>>{
           {&FLAGS_log_file_mb, 0, "--log_file_mb"}, {&FLAGS_log_files, -1, "--log_files"}}) {
    const int before = absl::GetFlag(*flag);
    absl::SetFlag(flag, value);
    const absl::Status refused = InitLogging("trainer", locations);
    EXPECT_TRUE(absl::IsInvalidArgument(refused));
    EXPECT_THAT(std::string(refused.message()), HasSubstr(word));
    absl::SetFlag(flag, before);
  }
  absl::SetFlag(&FLAGS_log_file_mb, 1);
  absl::SetFlag(&FLAGS_log_files, 1);
  absl::SetFlag(&FLAGS_log_level, "loud");
  EXPECT_TRUE(absl::IsInvalidArgument(InitLogging("trainer", locations)));
  absl::SetFlag(&FLAGS_log_level, "info");
  // Redirects stderr like the launcher; restores the test's stderr at the end.
  const UniqueFd terminal(dup(STDERR_FILENO));
  {
    const UniqueFd out(open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
    ASSERT_GE(dup2(out.get(), STDERR_FILENO), 0) << "refused flags have made the directory";
  }
  ASSERT_TRUE(InitLogging("trainer", locations).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(InitLogging("trainer", locations)));

  LOG(INFO) << "an information";
  LOG(WARNING) << "a warning";
  VLOG(1) << "a detail";
  EXPECT_EQ(ReportAndExitCode("trainer", absl::UnavailableError("no registry")), 4);
  const auto logged = AllOf(HasSubstr("an information"), HasSubstr("a warning"),
                            HasSubstr("trainer: no registry"), testing::Not(HasSubstr("a detail")));
  EXPECT_THAT(ContentOf(log), logged);
  EXPECT_THAT(ContentOf(output), logged);
  CheckPrivate(log, 0600);
  CheckPrivate(locations.LogDirectory(), 0700);

  // Change the level at run time.
  EXPECT_EQ(LogLevel(), "info");
  EXPECT_EQ(SetLogLevel("error").value_or(""), "info");
  LOG(WARNING) << "a silent warning";
  EXPECT_EQ(SetLogLevel("debug").value_or(""), "error");
  VLOG(1) << "a loud detail";
  EXPECT_TRUE(absl::IsInvalidArgument(SetLogLevel("trace").status()));
  EXPECT_EQ(LogLevel(), "debug");
  EXPECT_EQ(SetLogLevel("info").value_or(""), "debug");
  VLOG(1) << "a silent detail";
  EXPECT_THAT(ContentOf(log),
              AllOf(HasSubstr("a loud detail"), testing::Not(HasSubstr("a silent"))));

  // Log 5 MiB: the last lines must be in two files, each line once and in order.
  const std::string filler(1000, 'x');
  constexpr int kLines = 5000;
  for (int i = 0; i < kLines; ++i) LOG(INFO) << "line " << i << "; " << filler;
  dup2(terminal.get(), STDERR_FILENO);
  for (const std::string& path : {log, output}) {
    const std::string newest = ContentOf(path), older = ContentOf(path + ".1");
    EXPECT_LE(newest.size(), (1u << 20) + 2000);
    EXPECT_LE(older.size(), (1u << 20) + 2000);
    EXPECT_FALSE(std::filesystem::exists(path + ".2"));
    std::vector<int> numbers;
    for (const auto& line : absl::StrSplit(older + newest, '\n', absl::SkipEmpty())) {
      const std::string text(line);
      const std::size_t at = text.find("] line ");
      ASSERT_NE(at, std::string::npos) << path << ": " << text.substr(0, 80);
      numbers.push_back(atoi(text.c_str() + at + 7));
    }
    EXPECT_GT(numbers.size(), 950u) << path;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(numbers[i], kLines - static_cast<int>(numbers.size() - i)) << path;
    }
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace runtime
