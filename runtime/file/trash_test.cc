#include "runtime/file/trash.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace runtime {
namespace {

using ::testing::HasSubstr;

class TrashTest : public testing::Test {
 protected:
  TrashTest() : root_(testing::TempDir() + "/" + NameOfTest()) {}
  static std::string NameOfTest() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  std::string Path(const std::string& name) const { return root_ + "/" + name; }
  std::string Read(const std::string& name) const {
    return ReadFile(Path(name), 1000).value_or("unreadable");
  }
  // A run with one file.
  void Make(const std::string& run, const std::string& text) const {
    ASSERT_TRUE(MakeDirectories(Path(run)).ok());
    ASSERT_TRUE(WriteFileAtomically(Path(run) + "/text", text, 0644).ok());
  }

  const std::string root_;
};

TEST_F(TrashTest, ALinkIsNoTrash) {
  Make("r", "text");
  Make("theirs", "text");
  ASSERT_EQ(symlink(Path("theirs").c_str(), Path(".trash").c_str()), 0);
  const auto place = MoveToTrash(Path("r"), "t-a");
  EXPECT_EQ(place.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(place.status().message()), HasSubstr(".trash is a symbolic link"));
  EXPECT_EQ(Read("r/text"), "text");
}

TEST_F(TrashTest, KeepsWhatHasTheSameName) {
  for (const char* text : {"one", "two"}) {
    Make("r", text);
    const auto place = MoveToTrash(Path("r"), "t-a");
    ASSERT_TRUE(place.ok()) << place.status();
    EXPECT_EQ(PlaceInTrash(Path("r"), "t-a"), *place);
  }
  EXPECT_EQ(*MoveToTrash(Path("r"), "t-a"), Path(".trash/t-a.2")) << "it is gone already";
  EXPECT_EQ(PlaceInTrash(Path("r"), "t-b"), "");
  EXPECT_EQ(Read(".trash/t-a/text"), "one");
  EXPECT_EQ(Read(".trash/t-a.2/text"), "two");
}

TEST_F(TrashTest, IsBesideTheDirectoryAndNobodyElses) {
  Make("group/first", "text");
  EXPECT_EQ(*MoveToTrash(Path("group/first"), "x"), Path("group/.trash/x"));
  EXPECT_EQ(Read("group/.trash/x/text"), "text");
  struct stat stat = {};
  ASSERT_EQ(::stat(Path("group/.trash").c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 0777, 0700U);
}

TEST_F(TrashTest, WhatCannotBeMovedStaysAndTheErrorNamesBothPaths) {
  Make("r", "text");
  const auto refused = MoveToTrash(Path("r"), std::string(300, 'n'));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr(Path("r") + " to "));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr(Path(".trash/nnn")));
  EXPECT_EQ(Read("r/text"), "text");
}

}  // namespace
}  // namespace runtime
