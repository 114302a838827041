#include "runtime/process/service_flags.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/process/exit_code.h"

ABSL_FLAG(absl::Duration, reload_interval, absl::Seconds(3), "How often.");
ABSL_FLAG(int, log_files, 4, "How many.");
ABSL_FLAG(bool, shines, false, "Whether it does.");

namespace runtime {
namespace {

void Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "service");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ParseFlags("service", "It serves.", static_cast<int>(argv.size()), argv.data());
}

TEST(ParseFlagsTest, TakesWhatIsRight) {
  Parse({"--reload_interval=5s", "--log_files", "7", "--shines", "word", "--", "--other"});
  EXPECT_EQ(absl::GetFlag(FLAGS_reload_interval), absl::Seconds(5));
  EXPECT_EQ(absl::GetFlag(FLAGS_log_files), 7);
  EXPECT_TRUE(absl::GetFlag(FLAGS_shines));
  Parse({"--noshines", "-log_files=8"});
  EXPECT_FALSE(absl::GetFlag(FLAGS_shines));
  EXPECT_EQ(absl::GetFlag(FLAGS_log_files), 8);
}

TEST(ParseFlagsTest, AWordThatIsWrongIsNamedWithWhatIsRight) {
  const struct {
    std::string word, said;
  } kCases[] = {
      {"--logfiles=5", "service: there is no flag --logfiles; did you mean --log_files."},
      {"--no", "there is no flag --no; --help lists them"},
      {"--nolog_files", "there is no flag --nolog_files"},
      {"--log_files=many", "--log_files does not take \"many\", but what is like 4"},
      {"--reload_interval=abc", "--reload_interval does not take \"abc\", but what is like 3s"},
      {"--log_files", "--log_files has no value"},
      {"--shines=perhaps", "--shines does not take \"perhaps\", but what is like true or false"},
  };
  for (const auto& [word, said] : kCases) {
    EXPECT_EXIT(Parse({word}), testing::ExitedWithCode(kExitUsage), said) << word;
  }
}

TEST(ParseFlagsTest, HelpListsTheFlagsWithTheirDefaults) {
  const auto help = [](std::vector<std::string> words) {
    dup2(STDERR_FILENO, STDOUT_FILENO);  // (A death test matches stderr only.)
    Parse(std::move(words));
  };
  EXPECT_EXIT(help({"--help"}), testing::ExitedWithCode(kExitOk),
              "service: It serves.\n\n(.*\n)*  --log_files=4\n      How many.\n");
  EXPECT_EXIT(help({"--log-files=5", "--help"}), testing::ExitedWithCode(kExitOk),
              "--shines=false");
  Parse({"--log_files=4", "--", "--help"});  // After "--", it is not a flag.
}

TEST(EndAfterCheckTest, EndsWhereTheValuesAreWrongOrOnlyACheckWasAskedFor) {
  EXPECT_EQ(EndAfterCheck("service", absl::OkStatus()), std::nullopt);
  EXPECT_EQ(EndAfterCheck("service", absl::InvalidArgumentError("no")), kExitUsage);
  Parse({"--check_flags"});
  EXPECT_EQ(EndAfterCheck("service", absl::OkStatus()), kExitOk);
  Parse({"--nocheck_flags"});
}

}  // namespace
}  // namespace runtime
