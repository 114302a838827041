#include "tools/yard/remote/remotes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "runtime/file/file.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RemotesTest : public ::testing::Test {
 protected:
  RemotesTest() : config_(testing::TempDir() + "/config-" + Name()) {
    std::filesystem::remove_all(config_);
  }
  static std::string Name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  Remotes remotes() const { return Remotes::Of({"XDG_CONFIG_HOME=" + config_}); }
  bus::AccessFile Access() const {
    return {.address = "tcp://gpu1:7711",
            .name = "ann",
            .role = "read",
            .keys = {.own = *remotes().OwnKey(), .server_key = std::string(64, 'a')}};
  }
  static int ModeOf(const std::string& path) {
    struct stat about {};
    EXPECT_EQ(stat(path.c_str(), &about), 0) << path;
    return static_cast<int>(about.st_mode & 0777U);
  }

  const std::string config_;
};

TEST_F(RemotesTest, HasOneKeyThatOnlyItsOwnerMayRead) {
  const auto key = remotes().OwnKey();
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(remotes().OwnKey()->secret_key, key->secret_key);
  EXPECT_EQ(ModeOf(config_ + "/trainyard/remotes"), 0700);
  EXPECT_EQ(ModeOf(config_ + "/trainyard/remotes/own.key"), 0600);
  ASSERT_TRUE(runtime::WriteFileAtomically(config_ + "/trainyard/remotes/own.key", "{}",
                                           runtime::FileMode::Exactly(0600), false)
                  .ok());
  EXPECT_TRUE(absl::IsDataLoss(remotes().OwnKey().status()));
}

TEST_F(RemotesTest, AddsFindsAndRemoves) {
  EXPECT_THAT(remotes().Names(), ElementsAre());
  ASSERT_TRUE(remotes().Add("gpu1", Access()).ok());
  ASSERT_TRUE(remotes().Add("a.b-c", Access()).ok());
  EXPECT_THAT(remotes().Names(), ElementsAre("a.b-c", "gpu1"));
  const auto found = remotes().Find("gpu1");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->access.address, "tcp://gpu1:7711");
  EXPECT_EQ(ModeOf(found->path), 0600);
  EXPECT_THAT(std::string(remotes().Add("gpu1", Access()).message()),
              HasSubstr("next: yard remote rm gpu1"));
  ASSERT_TRUE(remotes().Remove("gpu1").ok());
  EXPECT_THAT(std::string(remotes().Find("gpu1").status().message()),
              HasSubstr("there is no remote gpu1; there is a.b-c"));
  EXPECT_TRUE(absl::IsNotFound(remotes().Remove("gpu1")));
}

TEST_F(RemotesTest, TakesNoNameThatIsAPath) {
  ASSERT_TRUE(remotes().Add("gpu1", Access()).ok());
  for (const char* name : {"", "../gpu1", "a/b", "-x", ".", "..", "own.key/../gpu1", "a b", "\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(remotes().Add(name, Access()))) << name;
    EXPECT_TRUE(absl::IsNotFound(remotes().Find(name).status())) << name;
    EXPECT_TRUE(absl::IsNotFound(remotes().Remove(name))) << name;
  }
  EXPECT_THAT(remotes().Names(), ElementsAre("gpu1"));
}

TEST_F(RemotesTest, OfNoHomeThereAreNone) {
  const Remotes none = Remotes::Of({});
  EXPECT_THAT(none.Names(), ElementsAre());
  EXPECT_TRUE(absl::IsNotFound(none.Find("gpu1").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(none.Add("gpu1", Access())));
}

}  // namespace
}  // namespace yard
