#include "datamanager/catalog/trash_keeper.h"

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"

namespace datamanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TrashKeeperTest : public testing::Test {
 protected:
  TrashKeeperTest()
      : root_(testing::TempDir() + "/" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {}

  TrashKeeper Keeper(absl::Duration age) const {
    return TrashKeeper({.logdir = root_, .age = age, .clock = &clock_});
  }
  void Remove(const std::string& run, const std::string& name) const {
    ASSERT_TRUE(runtime::MakeDirectories(root_ + "/" + run).ok());
    ASSERT_TRUE(runtime::MoveToTrash(root_, root_ + "/" + run, name, clock_.Now()).ok());
  }
  std::vector<std::string> NamesBefore(absl::Time before) const {
    std::vector<std::string> names;
    const auto entries = Keeper(absl::Hours(1)).List(before);
    EXPECT_TRUE(entries.ok()) << entries.status();
    for (const auto& entry : entries.value_or(std::vector<runtime::TrashEntry>())) {
      names.push_back(entry.name);
    }
    return names;
  }
  std::string Readme() const {
    return runtime::ReadFile(root_ + "/.trash/README", 10'000).value_or("");
  }

  const std::string root_;
  runtime::FakeClock clock_;
};

TEST_F(TrashKeeperTest, WhatHasStayedLongEnoughIsDeletedAndNothingElse) {
  const TrashKeeper keeper = Keeper(absl::Hours(48));
  Remove("old", "t-old");
  clock_.Advance(absl::Hours(40));
  Remove("new", "t-new");
  clock_.Advance(absl::Hours(8));
  ASSERT_TRUE(keeper.Tidy([] { return false; }).ok());
  EXPECT_THAT(NamesBefore(absl::InfiniteFuture()), ElementsAre("t-new"));
  EXPECT_THAT(Readme(), HasSubstr("is deleted 48h after it was moved here"));
  EXPECT_EQ(keeper.DeletedAt(*keeper.Find("t-new")), clock_.Now() + absl::Hours(40));
}

TEST_F(TrashKeeperTest, NothingIsDeletedWithoutAnAge) {
  Remove("old", "t-old");
  clock_.Advance(absl::Hours(24 * 365));
  ASSERT_TRUE(Keeper(absl::InfiniteDuration()).Tidy([] { return false; }).ok());
  EXPECT_THAT(NamesBefore(absl::InfiniteFuture()), ElementsAre("t-old"));
  EXPECT_THAT(Readme(), HasSubstr("stays until somebody deletes it"));
}

TEST_F(TrashKeeperTest, ItMakesNoTrashOfItsOwn) {
  ASSERT_TRUE(runtime::MakeDirectories(root_).ok());
  ASSERT_TRUE(Keeper(absl::Hours(1)).Tidy([] { return false; }).ok());
  EXPECT_FALSE(std::filesystem::exists(root_ + "/.trash"));
}

TEST_F(TrashKeeperTest, WhatStopsDeletesNothingMore) {
  Remove("old", "t-old");
  clock_.Advance(absl::Hours(48));
  ASSERT_TRUE(Keeper(absl::Hours(1)).Tidy([] { return true; }).ok());
  EXPECT_THAT(NamesBefore(absl::InfiniteFuture()), ElementsAre("t-old"));
}

TEST_F(TrashKeeperTest, AnEntryIsFoundByItsNameAndByTheRunThatItWas) {
  const TrashKeeper keeper = Keeper(absl::Hours(1));
  Remove("group/first", "t-a");
  clock_.Advance(absl::Seconds(1));
  Remove("group/first", "t-b");
  EXPECT_EQ(keeper.Find("t-a")->name, "t-a");
  EXPECT_EQ(keeper.Find("group/first")->name, "t-b") << "the last one";
  const auto unknown = keeper.Find("group/frist");
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("did you mean group/first?"));
  EXPECT_THAT(NamesBefore(clock_.Now()), ElementsAre("t-a"));
}

}  // namespace
}  // namespace datamanager
