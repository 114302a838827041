#include "tools/yard/at/at.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AtTest, HostsAreThoseThatSshHasAliasesFor) {
  const std::string home = std::string(getenv("TEST_TMPDIR")) + "/home";
  EXPECT_THAT(HostsOfSsh(home), IsEmpty());
  std::filesystem::create_directories(home + "/.ssh");
  ASSERT_TRUE(runtime::WriteFileAtomically(home + "/.ssh/config",
                                           "# mine\nHost gpu1 gpu2\n  User ann\nhost=gpu3\n"
                                           "Host *.lab !x ?\n\tHostName h\nMatch all\n",
                                           0600)
                  .ok());
  EXPECT_THAT(HostsOfSsh(home), ElementsAre("gpu1", "gpu2", "gpu3"));
}

TEST(AtTest, HelpAndCompletionNeedNoMachine) {
  EXPECT_TRUE(IsAnsweredHere({"--help"}));
  EXPECT_TRUE(IsAnsweredHere({"completion", "bash"}));
  EXPECT_FALSE(IsAnsweredHere({"ps", "--help"}));
  EXPECT_FALSE(IsAnsweredHere({}));
}

}  // namespace
}  // namespace yard
