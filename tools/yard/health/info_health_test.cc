#include "tools/yard/health/info_health.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(InfoHealthTest, FactsLeadToFindings) {
  struct Case {
    InfoFacts facts;
    Level level;
    std::string found, fix;  // Substrings.
  };
  const std::vector<Case> cases = {
      {{.path = "/t/i", .error = ENOENT}, Level::kOk, "none: /t/i is not there", ""},
      {{.path = "/t/i", .live = 2, .others = 3}, Level::kOk, "2 of tools that run, 3 of other", ""},
      {{.path = "/t/i", .error = EACCES},
       Level::kWarn,
       "/t/i: Permission denied",
       "export TMPDIR="},
      {{.path = "/t/i", .owner = 7, .writable = false},
       Level::kWarn,
       "/t/i belongs to user 7 and lets us write nothing",
       "export TMPDIR="},
      {{.path = "/t/i", .dead = {"/t/i/pid-1.info"}},
       Level::kWarn,
       "1 file left by a TensorBoard that was killed, such as /t/i/pid-1.info",
       "rm /t/i/pid-1.info"},
      {{.path = "/t/i", .unusable = {"/t/i/a b", "/t/i/c"}, .reason = "is not JSON"},
       Level::kWarn,
       "2 files of ours without use, such as /t/i/a b, which is not JSON",
       "rm '/t/i/a b' /t/i/c"},
      {{.path = "/t/i", .cut = true},
       Level::kWarn,
       "more than 10000 entries",
       "remove what is old"},
  };
  for (const Case& one : cases) {
    const Findings findings = CheckInfos(one.facts);
    ASSERT_EQ(findings.size(), 1u) << one.found;
    EXPECT_EQ(findings[0].level, one.level) << findings[0].found;
    EXPECT_THAT(findings[0].found, HasSubstr(one.found));
    EXPECT_THAT(findings[0].fix, HasSubstr(one.fix));
    EXPECT_EQ(one.level == Level::kOk, findings[0].fix.empty());
  }
}

class LookAtInfosTest : public ::testing::Test {
 protected:
  LookAtInfosTest() {
    std::string pattern = ::testing::TempDir() + "/infosXXXXXX";
    top_ = mkdtemp(pattern.data());
    path_ = top_ + "/.tensorboard-info";
  }
  ~LookAtInfosTest() override { std::filesystem::remove_all(top_); }

  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(path_);
    std::ofstream(path_ + "/" + name) << text;
  }
  InfoFacts Look() {
    return LookAtInfos({"PATH=/bin", "TMPDIR=" + top_}, [](pid_t pid) { return pid == 11; });
  }

  std::string top_, path_;
};

TEST_F(LookAtInfosTest, TellsTheLivingFromTheDead) {
  EXPECT_EQ(Look().error, ENOENT);
  Write("pid-11.info", R"({"pid": 11, "port": 6006, "path_prefix": "/tb"})");
  Write("pid-12.info", R"({"pid": 12, "port": 6006})");
  Write("pid-13.info", R"({"pid": 13, "port": 6006})");
  Write("other.txt", "not looked at");
  const InfoFacts facts = Look();
  EXPECT_EQ(facts.error, 0);
  EXPECT_EQ(facts.path, path_);
  EXPECT_EQ(facts.owner, geteuid());
  EXPECT_TRUE(facts.writable);
  EXPECT_EQ(facts.live, 1u);
  ASSERT_EQ(facts.tools.size(), 1u);
  EXPECT_EQ(facts.tools[0].pid, 11);
  EXPECT_EQ(facts.tools[0].port, 6006);
  EXPECT_EQ(facts.tools[0].path_prefix, "/tb");
  EXPECT_EQ(facts.others, 0u);
  EXPECT_THAT(facts.dead, ElementsAre(path_ + "/pid-12.info", path_ + "/pid-13.info"));
  EXPECT_TRUE(facts.unusable.empty()) << facts.unusable[0];
}

TEST_F(LookAtInfosTest, APortThatIsNoneIsNone) {
  for (const char* port : {"-1", "65536", "18446744073709551615", "\"6006\"", "null", "6006.0"}) {
    Write("pid-11.info", std::string(R"({"pid": 11, "path_prefix": 1, "port": )") + port + "}");
    const InfoFacts facts = Look();
    ASSERT_EQ(facts.tools.size(), 1u) << port;
    EXPECT_EQ(facts.tools[0].port, 0) << port;
    EXPECT_EQ(facts.tools[0].path_prefix, "") << port;
  }
}

TEST_F(LookAtInfosTest, WhateverLiesThereIsLookedAtWithoutTrust) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", "is not JSON"},
      {"{\"pid\": 11", "is not JSON"},
      {"[11]", "names no process"},
      {"{}", "names no process"},
      {R"({"pid": "11"})", "names no process"},
      {R"({"pid": -1})", "names no process"},
      {R"({"pid": 0})", "names no process"},
      {R"({"pid": 4294967307})", "names no process"},
      {R"({"pid": 18446744073709551615})", "names no process"},
      {std::string(1 << 17, ' '), "is too large"},
  };
  for (const auto& [text, reason] : texts) {
    Write("pid-1.info", text);
    const InfoFacts facts = Look();
    EXPECT_THAT(facts.unusable, ElementsAre(path_ + "/pid-1.info")) << text.substr(0, 40);
    EXPECT_EQ(facts.reason, reason) << text.substr(0, 40);
    EXPECT_TRUE(facts.dead.empty());
  }
  std::filesystem::remove(path_ + "/pid-1.info");
  const std::string two = path_ + "/pid-2.info";
  std::filesystem::create_symlink("/etc/passwd", two);
  EXPECT_EQ(Look().reason, "is a symbolic link");
  std::filesystem::remove(two);
  std::filesystem::create_directory(two);
  EXPECT_EQ(Look().reason, "is no regular file");
  std::filesystem::remove(two);
  ASSERT_EQ(mkfifo(two.c_str(), 0600), 0);  // A FIFO that never gets a writer.
  EXPECT_EQ(Look().reason, "is no regular file");
}

TEST(OwnProcessRunsTest, OfThisOneAndNotOfOneThatCannotBe) {
  EXPECT_TRUE(OwnProcessRuns(getpid()));
  EXPECT_FALSE(OwnProcessRuns(1 << 22));  // Above the kernel's largest pid.
}

}  // namespace
}  // namespace yard
