#include "tools/yard/pool/host_scripts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "tools/yard/at/captured.h"
#include "tools/yard/pool/bundle.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

class HostScriptsTest : public testing::TestWithParam<std::string> {
 protected:
  ~HostScriptsTest() override { std::filesystem::remove_all(home_); }

  // Returns the script's output; `payload` follows the script in stdin.
  std::string Run(const std::string& script, const std::string& payload = "",
                  const std::string& temporary = "") const {
    EXPECT_EQ(script.find('\n'), script.npos);
    const runtime::UniqueFd input(memfd_create("script", MFD_CLOEXEC));
    EXPECT_TRUE(runtime::WriteAll(input.get(), absl::StrCat(script, "\n", payload)).ok());
    EXPECT_EQ(lseek(input.get(), 0, SEEK_SET), 0);
    const auto said = Capture({GetParam(), "-c", kReadScript},
                              {.environment = {"PATH=/usr/bin:/bin", "HOME=" + home_,
                                               "TMPDIR=" + (temporary.empty() ? home_ : temporary)},
                               .keeps_stderr = true,
                               .input = input.get()});
    EXPECT_TRUE(said.ok()) << said.status();
    EXPECT_EQ(said->errors, "");
    return said->text;
  }

  static std::string TemporaryFolder() {
    char name[] = "/tmp/yhXXXXXX";
    return mkdtemp(name);
  }
  const std::string home_ = TemporaryFolder();
  const Bundle bundle_ = {.files = {{.name = "yard-node", .content = std::string(5000, 'n')},
                                    {.name = "yard-shim", .content = "shim"},
                                    {.name = "ld.so", .content = "loader"},
                                    {.name = "lib/libc.so.6", .content = std::string(4096, 'c')}},
                          .digest = std::string(64, 'd')};
};

TEST_P(HostScriptsTest, MakesADirectoryAndCopiesOnce) {
  const auto first = ReadPrepared(Run(PrepareScript("k1", bundle_)));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->directory, home_ + "/yard-k1");
  EXPECT_FALSE(first->has_bundle);
  EXPECT_EQ(first->pid, 0);
  EXPECT_EQ(AnswerIn(Run(CopyScript(first->directory, bundle_), PayloadOf(bundle_))), kCopied);
  const auto second = ReadPrepared(Run(PrepareScript("k1", bundle_)));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->has_bundle);
  EXPECT_EQ(second->directory, first->directory);
  const std::string there = first->directory + "/b-" + std::string(16, 'd');
  for (const Bundle::File& file : bundle_.files) {
    const std::string content =
        runtime::ReadFile(absl::StrCat(there, "/", file.name), 1 << 20).value_or("");
    EXPECT_EQ(content.substr(0, file.content.size()), file.content) << file.name;
    EXPECT_EQ(content.find_first_not_of('\0', file.content.size()), content.npos) << file.name;
  }
  EXPECT_EQ(AnswerIn(Run(RemoveScript("k1"))), kRemoved);
  EXPECT_TRUE(std::filesystem::is_empty(home_));
}

TEST_P(HostScriptsTest, ACopyThatBreaksOffIsNoBundle) {
  const auto prepared = ReadPrepared(Run(PrepareScript("k1", bundle_)));
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const std::string payload = PayloadOf(bundle_);
  const auto answer = AnswerIn(
      Run(CopyScript(prepared->directory, bundle_), payload.substr(0, payload.size() - 1)));
  EXPECT_THAT(answer.value_or(""), HasSubstr("failed "));
  EXPECT_FALSE(ReadPrepared(Run(PrepareScript("k1", bundle_)))->has_bundle);
  EXPECT_TRUE(std::filesystem::is_empty(prepared->directory));
}

TEST_P(HostScriptsTest, AFileThatWasCleanedAwayMakesTheBundleIncomplete) {
  const auto prepared = ReadPrepared(Run(PrepareScript("k1", bundle_)));
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  (void)Run(CopyScript(prepared->directory, bundle_), PayloadOf(bundle_));
  std::filesystem::remove(
      absl::StrCat(prepared->directory, "/b-", std::string(16, 'd'), "/lib/libc.so.6"));
  EXPECT_FALSE(ReadPrepared(Run(PrepareScript("k1", bundle_)))->has_bundle);
}

TEST_P(HostScriptsTest, ADirectoryThatOthersMayEnterIsNotTaken) {
  const std::string temporary = home_ + "/t";
  std::filesystem::create_directories(temporary + "/yard-k2open");
  std::filesystem::permissions(temporary + "/yard-k2open", std::filesystem::perms::all);
  const auto prepared = ReadPrepared(Run(PrepareScript("k2open", bundle_), "", temporary));
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->directory, "/tmp/yard-k2open");
  EXPECT_EQ(AnswerIn(Run(RemoveScript("k2open"), "", temporary)), kRemoved);
  EXPECT_FALSE(std::filesystem::exists("/tmp/yard-k2open"));
  EXPECT_TRUE(std::filesystem::exists(temporary + "/yard-k2open"));
}

TEST_P(HostScriptsTest, ALinkIsNotTaken) {
  const std::string temporary = home_ + "/t";
  std::filesystem::create_directories(home_ + "/mine");
  std::filesystem::permissions(home_ + "/mine", std::filesystem::perms::owner_all);
  std::filesystem::create_directories(temporary);
  std::filesystem::create_directory_symlink(home_ + "/mine", temporary + "/yard-k3link");
  const auto prepared = ReadPrepared(Run(PrepareScript("k3link", bundle_), "", temporary));
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->directory, "/tmp/yard-k3link");
  EXPECT_EQ(AnswerIn(Run(RemoveScript("k3link"), "", temporary)), kRemoved);
}

TEST_P(HostScriptsTest, PathsThatAreLongOrStrangeAreLeftOut) {
  for (const std::string& name : {std::string(40, 'x'), std::string("a b"), std::string("$(id)")}) {
    const std::string temporary = absl::StrCat(home_, "/", name);
    std::filesystem::create_directory(temporary);
    const auto prepared = ReadPrepared(Run(PrepareScript("k4long", bundle_), "", temporary));
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    EXPECT_EQ(prepared->directory, "/tmp/yard-k4long");
    EXPECT_EQ(AnswerIn(Run(RemoveScript("k4long"), "", temporary)), kRemoved);
  }
}

TEST_P(HostScriptsTest, WithoutForwardedSocketsNoNodeIsStarted) {
  const auto prepared = ReadPrepared(Run(PrepareScript("k1", bundle_)));
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_THAT(AnswerIn(Run(HoldScript(prepared->directory, bundle_.digest))).value_or(""),
              HasSubstr("AllowStreamLocalForwarding"));
}

// The parameter is the login shell. The scripts themselves run in sh.
INSTANTIATE_TEST_SUITE_P(Shells, HostScriptsTest, testing::Values("sh", "bash"),
                         [](const auto& info) { return info.param; });

TEST(HostScriptsAnswersTest, OnlyTheLinesOfTheScriptCount) {
  EXPECT_EQ(AnswerIn("welcome\nyard-pool: up 5\nyard-pool: ended\n"), "up 5");
  EXPECT_EQ(AnswerIn("welcome yard-pool: up\nyard-pool: cut"), std::nullopt);
  EXPECT_EQ(AnswerIn("yard-pool: a\x1b[2J\n"), "a\\x1B[2J");
  EXPECT_FALSE(ReadPrepared("").ok());
  EXPECT_FALSE(ReadPrepared("yard-pool: there Linux x86_64 relative yes 0\n").ok());
  EXPECT_FALSE(ReadPrepared("yard-pool: there Linux x86_64 /a;b yes 0\n").ok());
  EXPECT_FALSE(ReadPrepared("yard-pool: there Linux x86_64 /a yes many\n").ok());
  EXPECT_THAT(std::string(ReadPrepared("yard-pool: none /tmp is full\n").status().message()),
              HasSubstr("/tmp is full"));
}

TEST(HostScriptsAnswersTest, KeysOfTwoNodesDiffer) {
  EXPECT_EQ(KeyOfNode("/state", "a"), KeyOfNode("/state", "a"));
  EXPECT_NE(KeyOfNode("/state", "a"), KeyOfNode("/state", "b"));
  EXPECT_NE(KeyOfNode("/state", "a"), KeyOfNode("/other", "a"));
  EXPECT_EQ(KeyOfNode("/state", "a").find_first_not_of("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace yard
