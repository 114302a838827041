#include "tools/yard/slurm/shared_bundle.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using testing::UnorderedElementsAre;

class SharedBundleTest : public testing::Test {
 protected:
  SharedBundleTest() { std::filesystem::remove_all(directory_); }

  // Makes a directory with a file, last touched two days ago.
  std::string Old(const std::string& name) {
    const std::string path = directory_ + "/" + name;
    std::filesystem::create_directories(path + "/lib");
    std::ofstream(path + "/yard-node") << "x";
    const timespec then = absl::ToTimespec(absl::Now() - absl::Hours(48));
    const timespec times[] = {then, then};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    return path;
  }
  std::vector<std::string> Remove(const std::set<std::string>& kept = {}) {
    return RemoveOldBundles(directory_, kept, absl::Hours(24), absl::Now());
  }

  const std::string directory_ = testing::TempDir() + "/shared_bundle_test";
};

TEST_F(SharedBundleTest, ProgramsThatNobodyUsesGoAfterADay) {
  const std::string old = Old("b-0123456789abcdef"), part = Old("b-00112233aabbccdd.abcde.new");
  const std::string kept = Old("b-aaaaaaaaaaaaaaaa"), touched = Old("b-bbbbbbbbbbbbbbbb");
  TouchSharedBundle(touched);
  EXPECT_THAT(Remove({kept}), UnorderedElementsAre(old, part));
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(kept + "/yard-node"));
  EXPECT_TRUE(std::filesystem::exists(touched + "/yard-node"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 2);
}

TEST_F(SharedBundleTest, WhatIsNoBundleStays) {
  const std::string elsewhere = Old("data");
  for (const char* const name : {"b-0123", "b-0123456789abcdeg", "c-0123456789abcdef", "b-", "b"}) {
    Old(name);
  }
  std::filesystem::create_symlink(elsewhere, directory_ + "/b-0123456789abcdef");
  EXPECT_THAT(Remove(), testing::IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(elsewhere + "/yard-node"));
  EXPECT_THAT(RemoveOldBundles(directory_ + "/nowhere", {}, absl::Hours(24), absl::Now()),
              testing::IsEmpty());
}

TEST_F(SharedBundleTest, ProgramsThatAreCopiedAgainAreInUse) {
  const Bundle bundle{.files = {{"yard-node", "x"}, {"lib/a.so", "a"}},
                      .digest = "0123456789abcdef0123"};
  const auto path = ShareBundle(bundle, directory_);
  ASSERT_TRUE(path.ok()) << path.status();
  const timespec then = absl::ToTimespec(absl::Now() - absl::Hours(48));
  const timespec times[] = {then, then};
  EXPECT_EQ(utimensat(AT_FDCWD, path->c_str(), times, 0), 0);
  EXPECT_TRUE(ShareBundle(bundle, directory_).ok());
  EXPECT_THAT(Remove(), testing::IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(*path + "/lib/a.so"));
}

}  // namespace
}  // namespace yard
