#include "runtime/file/locations.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class LocationsTest : public testing::Test {
 protected:
  LocationsTest() {
    for (const char* name :
         {"XDG_RUNTIME_DIR", "TMPDIR", "YARD_REGISTRY", "YARD_STATE", "XDG_STATE_HOME",
          "BUILD_WORKING_DIRECTORY", "BUILD_WORKSPACE_DIRECTORY"}) {
      unsetenv(name);
    }
    setenv("HOME", "/home/me", 1);
    char name[] = "/tmp/locations-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~LocationsTest() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

TEST_F(LocationsTest, HaveDefaults) {
  const auto locations = *Locations::FromEnvironment();
  const std::string runtime = "/tmp/yard-" + std::to_string(getuid());
  EXPECT_EQ(locations.runtime_directory, runtime);
  EXPECT_EQ(locations.registry_address, "ipc://" + runtime + "/registry");
  EXPECT_EQ(locations.state_directory, "/home/me/.local/state/trainyard");
  EXPECT_EQ(locations.LogDirectory(), "/home/me/.local/state/trainyard/log");
  EXPECT_EQ(locations.LockPath("launcher"), runtime + "/launcher.lock");
  EXPECT_EQ(locations.ServiceAddress("launcher"), "ipc://" + runtime + "/launcher");
}

TEST_F(LocationsTest, FollowTheStandardVariables) {
  setenv("TMPDIR", "/var/tmp", 1);
  EXPECT_EQ(Locations::FromEnvironment()->runtime_directory,
            "/var/tmp/yard-" + std::to_string(getuid()));
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  setenv("XDG_STATE_HOME", "/home/me/state", 1);
  const auto locations = *Locations::FromEnvironment();
  EXPECT_EQ(locations.runtime_directory, "/run/user/7/yard");
  EXPECT_EQ(locations.state_directory, "/home/me/state/trainyard");
}

TEST_F(LocationsTest, IgnoreStandardVariablesThatAreRelativeOrEmpty) {
  setenv("XDG_RUNTIME_DIR", "run", 1);
  setenv("TMPDIR", "", 1);
  setenv("XDG_STATE_HOME", "state", 1);
  setenv("YARD_STATE", "", 1);
  setenv("YARD_REGISTRY", "", 1);
  const auto locations = *Locations::FromEnvironment();
  EXPECT_EQ(locations.runtime_directory, "/tmp/yard-" + std::to_string(getuid()));
  EXPECT_EQ(locations.state_directory, "/home/me/.local/state/trainyard");
}

TEST_F(LocationsTest, OurOwnVariablesWin) {
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  setenv("YARD_REGISTRY", "ipc:///srv/yard/reg.sock", 1);
  setenv("YARD_STATE", "/srv/state/", 1);
  unsetenv("HOME");
  const auto locations = *Locations::FromEnvironment();
  EXPECT_EQ(locations.runtime_directory, "/srv/yard");
  EXPECT_EQ(locations.registry_address, "ipc:///srv/yard/reg.sock");
  EXPECT_EQ(locations.ServiceAddress("registry"), "ipc:///srv/yard/reg.sock");
  EXPECT_EQ(locations.ServiceAddress("trainer"), "ipc:///srv/yard/trainer");
  EXPECT_EQ(locations.state_directory, "/srv/state");
}

TEST_F(LocationsTest, OurOwnVariablesMayBeRelative) {
  ASSERT_EQ(chdir(directory_.c_str()), 0);
  setenv("YARD_REGISTRY", "ipc://run/registry", 1);
  setenv("YARD_STATE", "./state", 1);
  const auto locations = *Locations::FromEnvironment();
  EXPECT_EQ(locations.runtime_directory, directory_ + "/run");
  EXPECT_EQ(locations.registry_address, "ipc://" + directory_ + "/run/registry");
  EXPECT_EQ(locations.state_directory, directory_ + "/state");
}

TEST_F(LocationsTest, NameTheVariableThatCannotBeUsed) {
  const auto refusal = [](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    const absl::Status status = Locations::FromEnvironment().status();
    unsetenv(name);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal("YARD_REGISTRY", "tcp://host:1"), HasSubstr("YARD_REGISTRY"));
  EXPECT_THAT(refusal("YARD_REGISTRY", "ipc://"), HasSubstr("YARD_REGISTRY"));
  EXPECT_THAT(refusal("YARD_REGISTRY", "ipc:///x/"), HasSubstr("YARD_REGISTRY"));
  EXPECT_THAT(refusal("YARD_REGISTRY", "ipc:///" + std::string(107, 'x')),
              HasSubstr("YARD_REGISTRY"));
  EXPECT_THAT(refusal("XDG_RUNTIME_DIR", "/" + std::string(100, 'x')),
              HasSubstr("XDG_RUNTIME_DIR"));
  EXPECT_THAT(refusal("TMPDIR", "/" + std::string(100, 'x')), HasSubstr("TMPDIR"));
  EXPECT_THAT(refusal("HOME", ""), HasSubstr("YARD_STATE"));
}

TEST_F(LocationsTest, ASocketPathMayHave107Bytes) {
  const std::string longest = "/" + std::string(91, 'x') + "/" + std::string(14, 'y');
  ASSERT_EQ(longest.size(), 107u);
  setenv("YARD_REGISTRY", ("ipc://" + longest).c_str(), 1);
  EXPECT_TRUE(Locations::FromEnvironment().ok());
}

TEST_F(LocationsTest, ARunUnderBazelGoesToTheCallersDirectoryOnce) {
  const std::string runfiles = directory_ + "/locations_test.runfiles/yard";
  ASSERT_TRUE(std::filesystem::create_directories(runfiles));
  ASSERT_EQ(chdir(runfiles.c_str()), 0);
  setenv("BUILD_WORKING_DIRECTORY", directory_.c_str(), 1);
  setenv("BUILD_WORKSPACE_DIRECTORY", "/somewhere", 1);
  ASSERT_TRUE(EnterCallersDirectory().ok());
  EXPECT_EQ(std::filesystem::current_path().string(), directory_);
  EXPECT_EQ(getenv("BUILD_WORKING_DIRECTORY"), nullptr);
  EXPECT_EQ(getenv("BUILD_WORKSPACE_DIRECTORY"), nullptr);
  ASSERT_EQ(chdir("/"), 0);
  ASSERT_TRUE(EnterCallersDirectory().ok());
  EXPECT_EQ(std::filesystem::current_path().string(), "/");
  setenv("BUILD_WORKING_DIRECTORY", "/no/such/folder", 1);
  ASSERT_EQ(chdir(runfiles.c_str()), 0);
  EXPECT_TRUE(absl::IsNotFound(EnterCallersDirectory()));
}

TEST_F(LocationsTest, VariablesOfBazelThatAreLeftOverMeanNothing) {
  ASSERT_EQ(chdir("/"), 0);
  setenv("BUILD_WORKING_DIRECTORY", directory_.c_str(), 1);
  ASSERT_TRUE(EnterCallersDirectory().ok());
  EXPECT_EQ(std::filesystem::current_path().string(), "/");
  EXPECT_STREQ(getenv("BUILD_WORKING_DIRECTORY"), directory_.c_str());
}

TEST_F(LocationsTest, PathsAreMadeAbsolute) {
  ASSERT_EQ(chdir(directory_.c_str()), 0);
  EXPECT_EQ(AbsolutePath("runs"), directory_ + "/runs");
  EXPECT_EQ(AbsolutePath("./a/../runs/"), directory_ + "/runs");
  EXPECT_EQ(AbsolutePath("/x//y/"), "/x/y");
  EXPECT_EQ(AbsolutePath("/"), "/");
  EXPECT_EQ(AbsolutePath("."), directory_);
}

TEST_F(LocationsTest, FindABinaryBesideThisOne) {
  const auto found = FindBinary("anywhere/locations_test");
  ASSERT_TRUE(found.ok()) << found.status();
  char self[PATH_MAX] = "";
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  EXPECT_EQ(*found, self);
}

TEST_F(LocationsTest, FindFilesInTheRunfiles) {
  const auto found = FindDataFile("runtime/file/README.md");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, EndsWith("/yard/runtime/file/README.md"));
}

TEST_F(LocationsTest, AFolderIsNotABinary) {
  const char* const before = getenv("RUNFILES_DIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("RUNFILES_DIR", directory_.c_str(), 1);
  std::filesystem::create_directories(directory_ + "/yard/registry/registry");
  const auto folder = FindBinary("registry/registry");
  EXPECT_TRUE(absl::IsNotFound(folder.status()));
  EXPECT_THAT(std::string(folder.status().message()),
              HasSubstr(directory_ + "/yard/registry/registry"));
  std::filesystem::remove(directory_ + "/yard/registry/registry");
  std::ofstream(directory_ + "/yard/registry/registry") << "x";
  EXPECT_EQ(*FindBinary("registry/registry"), directory_ + "/yard/registry/registry");
  setenv("RUNFILES_DIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace runtime
