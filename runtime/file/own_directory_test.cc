#include "runtime/file/own_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

using ::testing::HasSubstr;

class OwnDirectoryTest : public testing::Test {
 protected:
  OwnDirectoryTest() {
    std::string name = testing::TempDir() + "/own-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  std::string root_;
};

TEST_F(OwnDirectoryTest, IsMadeWithThoseAboveItAndTakenAgain) {
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(MakeOwnDirectory(root_ + "/a/b", 0700).ok());
  struct stat about {};
  ASSERT_EQ(stat((root_ + "/a/b").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
  EXPECT_TRUE(CheckOwnDirectory(root_ + "/missing").ok());
}

TEST_F(OwnDirectoryTest, ALinkIsNotFollowed) {
  ASSERT_TRUE(MakeOwnDirectory(root_ + "/theirs").ok());
  for (const char* target : {"/theirs", "/nowhere"}) {
    const std::string link = root_ + target + ".link";
    ASSERT_EQ(symlink((root_ + target).c_str(), link.c_str()), 0);
    const absl::Status status = MakeOwnDirectory(link);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(status.message()), HasSubstr(link + " is a symbolic link"));
  }
  EXPECT_NE(access((root_ + "/nowhere").c_str(), F_OK), 0);
  // But a parent directory may be a link.
  EXPECT_TRUE(MakeOwnDirectory(root_ + "/theirs.link/mine").ok());
}

TEST_F(OwnDirectoryTest, AFileIsNone) {
  std::ofstream(root_ + "/file") << "x";
  EXPECT_EQ(MakeOwnDirectory(root_ + "/file").code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(OwnDirectoryTest, OneOfAnotherUserIsRefused) {
  // Root can give a directory away; for other users, the system's directories belong to another
  // user.
  std::string path = "/usr", owner = "0";
  if (geteuid() == 0) {
    path = root_ + "/given";
    owner = "12345";
    ASSERT_TRUE(MakeOwnDirectory(path).ok());
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  }
  const absl::Status status = MakeOwnDirectory(path);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("belongs to user " + owner + ", not to "));
}

}  // namespace
}  // namespace runtime
