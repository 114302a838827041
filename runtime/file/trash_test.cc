#include "runtime/file/trash.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

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
  // Makes a run with one file.
  void Make(const std::string& run, const std::string& text) const {
    ASSERT_TRUE(MakeDirectories(Path(run)).ok());
    ASSERT_TRUE(WriteFileAtomically(Path(run) + "/text", text, 0644).ok());
  }

  absl::StatusOr<std::string> Move(const std::string& run, const std::string& name,
                                   absl::Time now = kNow) const {
    return MoveToTrash(root_, Path(run), name, now);
  }
  // Returns "NAME from PATH" for each entry, in the order of the list.
  std::vector<std::string> Listed() const {
    std::vector<std::string> names;
    const auto entries = ListTrash(root_);
    EXPECT_TRUE(entries.ok()) << entries.status();
    if (!entries.ok()) return names;
    for (const TrashEntry& entry : *entries) names.push_back(entry.name + " from " + entry.from);
    return names;
  }

  const std::string root_;
};

TEST_F(TrashTest, ALinkIsNoTrash) {
  Make("r", "text");
  Make("theirs", "text");
  ASSERT_EQ(symlink(Path("theirs").c_str(), Path(".trash").c_str()), 0);
  for (const absl::Status& refused :
       {Move("r", "t-a").status(), ListTrash(root_).status(), DeleteFromTrash(root_, "text")}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(refused.message()), HasSubstr(".trash is a symbolic link"));
  }
  EXPECT_EQ(Read("r/text"), "text");
  EXPECT_EQ(Read("theirs/text"), "text");
}

TEST_F(TrashTest, KeepsWhatHasTheSameName) {
  for (const char* text : {"one", "two"}) {
    Make("r", text);
    const auto place = Move("r", "t-a");
    ASSERT_TRUE(place.ok()) << place.status();
    EXPECT_EQ(PlaceInTrash(root_, "t-a"), *place);
  }
  EXPECT_EQ(*Move("r", "t-a"), Path(".trash/t-a.2")) << "it is gone already";
  EXPECT_EQ(PlaceInTrash(root_, "t-b"), "");
  EXPECT_EQ(Read(".trash/t-a/text"), "one");
  EXPECT_EQ(Read(".trash/t-a.2/text"), "two");
}

TEST_F(TrashTest, ThereIsOneForAllDirectoriesBelowTheRootAndItIsNobodyElses) {
  Make("group/first", "text");
  Make("second", "text");
  EXPECT_EQ(*Move("group/first", "x"), Path(".trash/x"));
  EXPECT_EQ(*Move("second", "y", kNow + absl::Seconds(1)), Path(".trash/y"));
  EXPECT_EQ(Read(".trash/x/text"), "text");
  EXPECT_THAT(Listed(), ElementsAre("y from second", "x from group/first"));
  struct stat stat = {};
  ASSERT_EQ(::stat(Path(".trash").c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 0777, 0700U);
}

TEST_F(TrashTest, ADirectoryOutsideOfTheRootGoesToATrashBesideIt) {
  Make("runs/here", "text");
  Make("elsewhere/r", "text");
  EXPECT_EQ(*MoveToTrash(Path("runs"), Path("elsewhere/r"), "x", kNow), Path("elsewhere/.trash/x"));
}

TEST_F(TrashTest, WhatCannotBeMovedStaysAndTheErrorNamesBothPaths) {
  Make("r", "text");
  const auto refused = Move("r", std::string(300, 'n'));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr(Path("r") + " to "));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr(Path(".trash/nnn")));
  EXPECT_EQ(Read("r/text"), "text");
}

TEST_F(TrashTest, WhatIsRestoredIsWhereItWas) {
  Make("group/first", "text");
  ASSERT_TRUE(Move("group/first", "x").ok());
  ASSERT_EQ(rmdir(Path("group").c_str()), 0);
  ASSERT_TRUE(RestoreFromTrash(root_, "x", "group/first").ok());
  EXPECT_EQ(Read("group/first/text"), "text");
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_NE(access(Path(".trash/x.from").c_str(), F_OK), 0);
}

TEST_F(TrashTest, NothingIsReplacedByWhatIsRestored) {
  Make("r", "old");
  ASSERT_TRUE(Move("r", "x").ok());
  Make("r", "new");
  const absl::Status refused = RestoreFromTrash(root_, "x", "r");
  EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Read("r/text"), "new");
  EXPECT_TRUE(RestoreFromTrash(root_, "x", "r.2").ok());
  EXPECT_EQ(Read("r.2/text"), "old");
}

TEST_F(TrashTest, NothingIsRestoredToAPlaceOutsideOfTheRoot) {
  Make("r", "text");
  ASSERT_TRUE(Move("r", "x").ok());
  for (const char* path : {"", "/tmp/x", "../x", "a/../../x", "a//b/", ".", ".trash/x"}) {
    EXPECT_EQ(RestoreFromTrash(root_, "x", path).code(), absl::StatusCode::kInvalidArgument)
        << path;
  }
  for (const char* name : {"", "..", "../r", "x/text", ".hidden", "y"}) {
    EXPECT_EQ(RestoreFromTrash(root_, name, "z").code(), absl::StatusCode::kNotFound) << name;
  }
  EXPECT_EQ(Read(".trash/x/text"), "text");
}

TEST_F(TrashTest, WhatIsDeletedIsGoneAndNothingElseIs) {
  Make("r", "text");
  Make("q", "text");
  Make("kept", "text");
  ASSERT_EQ(symlink(Path("kept").c_str(), Path("r/link").c_str()), 0);
  ASSERT_TRUE(Move("r", "x").ok());
  ASSERT_TRUE(Move("q", "y").ok());
  EXPECT_TRUE(DeleteFromTrash(root_, "x").ok());
  EXPECT_TRUE(DeleteFromTrash(root_, "x").ok()) << "it is gone already";
  EXPECT_EQ(DeleteFromTrash(root_, "../kept").code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Listed(), ElementsAre("y from q"));
  EXPECT_EQ(Read("kept/text"), "text");
}

TEST_F(TrashTest, WhatNothingIsSaidOfHasItsOwnName) {
  Make(".trash/old", "text");
  Make(".trash/lies", "text");
  Make(".trash/garbage", "text");
  ASSERT_TRUE(WriteFileAtomically(Path(".trash/lies.from"),
                                  R"({"from": "../../etc", "moved": "never"})", 0600)
                  .ok());
  ASSERT_TRUE(WriteFileAtomically(Path(".trash/garbage.from"), "[[[", 0600).ok());
  ASSERT_EQ(chmod(Path(".trash").c_str(), 0700), 0);
  auto entries = ListTrash(root_);
  ASSERT_TRUE(entries.ok());
  for (const TrashEntry& entry : *entries) {
    EXPECT_EQ(entry.from, entry.name);
    EXPECT_GT(entry.moved, absl::Now() - absl::Hours(1)) << entry.name;
  }
  EXPECT_EQ(entries->size(), 3U);
}

}  // namespace
}  // namespace runtime
