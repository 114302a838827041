#include "tools/yard/configuration/user_unit.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class UserUnitTest : public ::testing::Test {
 protected:
  UserUnitTest() {
    char name[] = "/tmp/unit-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~UserUnitTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

TEST_F(UserUnitTest, TheUnitStartsTheYardOfThisShell) {
  const auto unit = MakeUserUnit("/opt/y/bin/yard", "/home/u/a b%$.yaml",
                                 {"HOME=/home/u", "YARD_STATE=/s", "SECRET=x"});
  ASSERT_TRUE(unit.ok()) << unit.status();
  EXPECT_EQ(unit->path, "/home/u/.config/systemd/user/trainyard.service");
  EXPECT_EQ(unit->link, "/home/u/.config/systemd/user/default.target.wants/trainyard.service");
  EXPECT_THAT(unit->text,
              HasSubstr("\nExecStart=\"/opt/y/bin/yard\" up \"/home/u/a b%%$$.yaml\"\n"));
  EXPECT_THAT(unit->text, HasSubstr("\nExecStop=\"/opt/y/bin/yard\" down"));
  EXPECT_THAT(unit->text, HasSubstr("\nEnvironment=\"YARD_STATE=/s\"\n"));
  EXPECT_THAT(unit->text, Not(HasSubstr("SECRET")));
}

TEST_F(UserUnitTest, ALineBreakMakesNoSecondLineOfAUnit) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(MakeUserUnit("/yard", "/a\nExecStart=evil", {"HOME=/h"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      MakeUserUnit("/yard", "/a", {"HOME=/h", "YARD_STATE=/a\n[Unit]"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeUserUnit("/yard", "/a", {}).status()));
}

TEST_F(UserUnitTest, ItIsEnabledWithoutSystemd) {
  const auto unit = MakeUserUnit("/yard", "/a.yaml", {"XDG_CONFIG_HOME=" + directory_});
  ASSERT_TRUE(unit.ok());
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(InstallUserUnit(*unit).ok());
    EXPECT_EQ(*runtime::ReadFile(unit->path, 1 << 16), unit->text);
    EXPECT_EQ(*runtime::ReadFile(unit->link, 1 << 16), unit->text);  // The link points to it.
    EXPECT_TRUE(std::filesystem::is_symlink(unit->link));
  }
}

TEST_F(UserUnitTest, SystemdStartsAYardOnlyOnce) {
  const auto unit = MakeUserUnit("/yard", "/a.yaml", {"XDG_CONFIG_HOME=" + directory_});
  ASSERT_TRUE(unit.ok());
  const std::string wants = directory_ + "/systemd/user/default.target.wants";
  std::filesystem::create_directories(wants);
  std::filesystem::create_symlink("/none/trainyard.target", wants + "/trainyard.target");
  const absl::Status done = InstallUserUnit(*unit);
  EXPECT_TRUE(absl::IsFailedPrecondition(done)) << done;
  EXPECT_FALSE(std::filesystem::exists(unit->path));
}

}  // namespace
}  // namespace yard
