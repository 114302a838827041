#include "tools/yard/state/service_presence.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "tools/yard/cli/context.h"

namespace yard {
namespace {

class ServicePresenceTest : public ::testing::Test {
 protected:
  ServicePresenceTest() {
    char name[] = "/tmp/yard-XXXXXX";
    directory_ = mkdtemp(name);
    context_.locations = {.runtime_directory = directory_,
                          .state_directory = directory_ + "/state",
                          .registry_address = "ipc://" + directory_ + "/registry"};
  }
  ~ServicePresenceTest() override { std::filesystem::remove_all(directory_); }
  const runtime::Locations& locations() const { return context_.locations; }

  std::string directory_;
  Context context_;
};

TEST_F(ServicePresenceTest, TheHolderOfALockIsKnown) {
  EXPECT_EQ(HolderOf(locations(), "trainer"), 0);
  {
    const auto lock = runtime::LockFile(locations().LockPath("trainer"));
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(HolderOf(locations(), "trainer"), getpid());
  }
  EXPECT_EQ(HolderOf(locations(), "trainer"), 0);
}

TEST_F(ServicePresenceTest, ALockWhoseFileWasRemovedCountsWithThatOfTheState) {
  ASSERT_TRUE(runtime::MakePrivateDirectory(locations().state_directory).ok());
  const auto lock = runtime::LockFile(locations().LockPath("trainer"));
  const auto state_lock = runtime::LockFile(locations().state_directory + "/trainer.lock");
  ASSERT_TRUE(lock.ok() && state_lock.ok());
  std::filesystem::remove(locations().LockPath("trainer"));
  EXPECT_EQ(HolderOf(locations(), "trainer"), getpid());
  EXPECT_EQ(RuntimeDirectoryElsewhere(locations()), "");
}

}  // namespace
}  // namespace yard
