#include "tools/yard/health/shared_gpus_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SharedGpusHealthTest, OnlyAYardWithGpusAndOthersBesideItIsWarned) {
  EXPECT_THAT(CheckSharedGpus({}), IsEmpty());
  EXPECT_THAT(CheckSharedGpus({.has_gpus = true}), IsEmpty());
  EXPECT_THAT(CheckSharedGpus({.others = {"bob"}}), IsEmpty());
  const auto warned = CheckSharedGpus({.has_gpus = true, .others = {"bob", "carol"}});
  ASSERT_EQ(warned.size(), 1u);
  EXPECT_EQ(warned[0].level, Level::kWarn);
  EXPECT_THAT(warned[0].found, HasSubstr("trials of bob, carol use"));
  EXPECT_THAT(warned[0].fix, HasSubstr("/var/lib/trainyard-machine"));
}

TEST(SharedGpusHealthTest, LocksAreWellUntilTheyHaveAProblem) {
  const auto well = CheckSharedGpus({.has_gpus = true, .directory = "/locks", .others = {"bob"}});
  ASSERT_EQ(well.size(), 1u);
  EXPECT_EQ(well[0].level, Level::kOk);
  EXPECT_THAT(well[0].found, HasSubstr("/locks"));
  const auto bad =
      CheckSharedGpus({.has_gpus = true, .directory = "/locks", .problem = "cannot open /locks"});
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].level, Level::kBad);
  EXPECT_EQ(bad[0].found, "cannot open /locks");
}

TEST(SharedGpusHealthTest, AYardOfAnotherUserIsSeenByItsProcesses) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make files of other users";
  char name[] = "/tmp/procXXXXXX";
  const std::string proc = mkdtemp(name);
  int pid = 100;
  const auto add = [&](uid_t uid, const std::string& comm) {
    const std::string folder = absl::StrCat(proc, "/", pid++);
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/comm") << comm << "\n";
    ASSERT_EQ(chown(folder.c_str(), uid, uid), 0);
  };
  for (const char* service : {"registry", "launcher", "trainer"}) {
    add(0, service);
    add(54321, service);
  }
  add(54322, "launcher");
  add(54322, "registry");
  EXPECT_THAT(OthersWithAYard(proc), ElementsAre("user 54321"));
  std::filesystem::remove_all(proc);
}

}  // namespace
}  // namespace yard
