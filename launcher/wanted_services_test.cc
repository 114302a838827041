#include "launcher/wanted_services.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class WantedServicesTest : public ::testing::Test {
 protected:
  WantedServicesTest() {
    char name[] = "/tmp/ywsXXXXXX";
    directory_ = mkdtemp(name);
  }
  ~WantedServicesTest() override { std::filesystem::remove_all(directory_); }

  std::optional<WantedServices> Read(const std::string& content) const {
    const std::string path = directory_ + "/wanted";
    std::ofstream(path) << content;
    return ReadWantedServices(path);
  }

  std::string directory_;
};

TEST_F(WantedServicesTest, WithoutAFileNothingIsWanted) {
  EXPECT_FALSE(ReadWantedServices(directory_ + "/wanted").has_value());
}

TEST_F(WantedServicesTest, ARunDirectoryIsEnough) {
  const auto wanted = Read(R"({"logdir": "/runs"})");
  ASSERT_TRUE(wanted.has_value());
  EXPECT_EQ(wanted->logdir, "/runs");
  EXPECT_EQ(wanted->trainer, "");
  EXPECT_EQ(wanted->slots, 0u);
  EXPECT_TRUE(wanted->flags.empty());
}

TEST_F(WantedServicesTest, AFileThatNamesNoRunDirectoryWantsNothing) {
  for (const char* const content :
       {"", "{", "[]", "3", "{}", R"({"logdir": 3})", R"({"logdir": ""})"}) {
    EXPECT_FALSE(Read(content).has_value()) << content;
  }
}

TEST_F(WantedServicesTest, EachServiceHasItsFlags) {
  const auto wanted = Read(R"({"logdir": "/runs", "trainer": "/my/trainer", "slots": 4,
                               "datamanager": ["a=1"],
                               "flags": {"datamanager": ["b=2"], "web": ["c=3"]}})");
  ASSERT_TRUE(wanted.has_value());
  EXPECT_EQ(wanted->trainer, "/my/trainer");
  EXPECT_EQ(wanted->slots, 4u);
  EXPECT_THAT(wanted->flags, ElementsAre(Pair("datamanager", ElementsAre("a=1", "b=2")),
                                         Pair("web", ElementsAre("c=3"))));
}

TEST_F(WantedServicesTest, ValuesOfOtherTypesAreAbsent) {
  const auto wanted = Read(R"({"logdir": "/runs", "trainer": 1, "slots": -4, "datamanager": "a",
                               "flags": {"web": ["c=3", 4], "trainer": "d"}})");
  ASSERT_TRUE(wanted.has_value());
  EXPECT_EQ(wanted->trainer, "");
  EXPECT_EQ(wanted->slots, 0u);
  EXPECT_THAT(wanted->flags, ElementsAre(Pair("web", ElementsAre("c=3"))));
}

}  // namespace
}  // namespace launcher
