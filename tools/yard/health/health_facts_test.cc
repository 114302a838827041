#include "tools/yard/health/health_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HealthFactsTest : public ::testing::Test {
 protected:
  HealthFactsTest() {
    char name[] = "/tmp/yhfXXXXXX";
    directory_ = mkdtemp(name);
    locations_ = {.runtime_directory = directory_,
                  .state_directory = directory_ + "/state",
                  .registry_address = "ipc://" + directory_ + "/registry"};
  }
  ~HealthFactsTest() override { std::filesystem::remove_all(directory_); }

  // Creates a socket file with a listener, for as long as the descriptor is open.
  static runtime::UniqueFd Listen(const std::string& path, int type = SOCK_STREAM) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path.c_str(), path.size());
    runtime::UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), 8), 0);
    return fd;
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
  }

  std::string directory_;
  runtime::Locations locations_;
};

TEST_F(HealthFactsTest, ALinkToADirectoryIsALink) {
  std::filesystem::create_directory_symlink(directory_, directory_ + "/link");
  const auto link = LookAtDirectory("x", directory_ + "/link", "V");
  EXPECT_TRUE(S_ISLNK(link.mode));
  const auto itself = LookAtDirectory("x", directory_, "V");
  EXPECT_TRUE(S_ISDIR(itself.mode));
  EXPECT_EQ(itself.mode & 0777, 0700U);
  EXPECT_EQ(itself.owner, itself.user);
  EXPECT_EQ(LookAtDirectory("x", directory_ + "/gone", "V").error, ENOENT);
}

TEST_F(HealthFactsTest, OneFileSystemIsMeasuredOnce) {
  const auto spaces = LookAtSpace(
      {{"state", directory_ + "/not/there/yet"}, {"runs", directory_}, {"proc", "/proc"}});
  ASSERT_THAT(spaces, SizeIs(2));
  EXPECT_THAT(spaces[0].used_by, ElementsAre("state", "runs"));
  EXPECT_EQ(spaces[0].path, directory_);
  EXPECT_GT(spaces[0].total_bytes, 0U);
  EXPECT_LE(spaces[0].free_bytes, spaces[0].total_bytes);
}

TEST_F(HealthFactsTest, TellsWhatAKilledServiceLeavesBehind) {
  Write("trainer.lock", "999999999\n");  // Above the largest pid.
  Write("trainer.ready", "999999999\n");
  Write("launcher.lock", std::to_string(getpid()));  // Alive, but it does not hold the lock.
  Listen(directory_ + "/trainer");
  const auto served = Listen(directory_ + "/registry");
  const LeftoverFacts facts = LookForLeftovers(locations_);
  EXPECT_THAT(facts.locks, ElementsAre(directory_ + "/trainer.lock"));
  EXPECT_THAT(facts.ready_files, ElementsAre(directory_ + "/trainer.ready"));
  EXPECT_THAT(facts.sockets, ElementsAre(directory_ + "/trainer"));
}

TEST_F(HealthFactsTest, WhatARunningServiceHasIsNotLeftOver) {
  const auto lock = runtime::LockFile(locations_.LockPath("trainer"));
  ASSERT_TRUE(lock.ok());
  Write("trainer.ready", "1\n");
  const auto served = Listen(directory_ + "/trainer");
  const LeftoverFacts facts = LookForLeftovers(locations_);
  EXPECT_THAT(facts.locks, IsEmpty());
  EXPECT_THAT(facts.ready_files, IsEmpty());
  EXPECT_THAT(facts.sockets, IsEmpty());
}

TEST_F(HealthFactsTest, AServiceThatServesWithoutItsLockWasNotKilled) {
  Write("trainer.ready", "1\n");
  const auto served = Listen(directory_ + "/trainer");
  EXPECT_THAT(LookForLeftovers(locations_).ready_files, IsEmpty());
}

TEST_F(HealthFactsTest, WhatADeadServiceSaidLastIsFound) {
  EXPECT_EQ(LookAtService(locations_, "trainer").last_line, "");
  std::filesystem::create_directories(locations_.LogDirectory());
  const std::string output = locations_.LogDirectory() + "/trainer.out";
  std::ofstream(output) << std::string(10'000, 'x') << "\nfirst\ntrainer: no disk\n\n";
  EXPECT_EQ(LookAtService(locations_, "trainer").last_line, "trainer: no disk");
  std::ofstream(output) << std::string(10'000, 'x');
  EXPECT_THAT(LookAtService(locations_, "trainer").last_line, SizeIs(300));
  std::ofstream(output) << "";
  EXPECT_EQ(LookAtService(locations_, "trainer").last_line, "");
}

// Nothing has tried to start the service since the damage.
TEST_F(HealthFactsTest, ADatabaseThatIsNoneIsFoundWithTheRemedy) {
  const std::string database = locations_.state_directory + "/launcher.db";
  std::filesystem::create_directories(locations_.state_directory);
  std::ofstream(database) << "";
  EXPECT_EQ(LookAtService(locations_, "launcher").damage, "");
  std::ofstream(database) << std::string("SQLite format 3\0 and more", 25);
  EXPECT_EQ(LookAtService(locations_, "launcher").damage, "");
  std::ofstream(database) << "x";
  const ServiceFacts facts = LookAtService(locations_, "launcher");
  EXPECT_EQ(facts.damage, database + ": file is not a database");
  EXPECT_THAT(facts.next_step, HasSubstr("mv " + database + "* "));
}

TEST_F(HealthFactsTest, ATasksSocketsAreLeftOverWhenItsShimIsGone) {
  std::filesystem::create_directory(directory_ + "/tasks");
  const std::string task = directory_ + "/tasks/j-aaaaa.worker-0.1";
  const auto task_socket = Listen(task);
  {
    const auto control = Listen(task + ".ctl", SOCK_SEQPACKET);
    const LeftoverFacts facts = LookForLeftovers(locations_);
    EXPECT_THAT(facts.task_sockets, IsEmpty());
    ASSERT_THAT(facts.shims, SizeIs(1));
    EXPECT_EQ(facts.shims[0].task, "j-aaaaa.worker-0.1");
    EXPECT_EQ(facts.shims[0].pid, getpid());
  }
  EXPECT_THAT(LookForLeftovers(locations_).shims, IsEmpty());
  EXPECT_THAT(LookForLeftovers(locations_).task_sockets, ElementsAre(task + ".ctl", task));
}

TEST_F(HealthFactsTest, AShimWithoutItsSocketIsFoundByItsProcess) {
  const std::string folder = locations_.state_directory + "/jobs/j-aaaaa";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/worker-0.1") << "echo; read -r line\n";
  int ends[2], said[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(said, O_CLOEXEC), 0);
  const runtime::UniqueFd in(ends[0]), words(said[0]);
  runtime::UniqueFd out(ends[1]), speaks(said[1]);
  auto shim = runtime::Subprocess::Start({.argv = {"yard-shim", folder + "/worker-0.1"},
                                          .program = "/bin/sh",
                                          .environment = {"PATH=/usr/bin:/bin"},
                                          .working_directory = "/",
                                          .fds = {{in.get(), 0}, {speaks.get(), 1}}});
  ASSERT_TRUE(shim.ok()) << shim.status();
  speaks.reset();
  char byte = 0;
  ASSERT_EQ(read(words.get(), &byte, 1), 1);
  const auto found = LookForLeftovers(locations_).unreachable_shims;
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].task, "j-aaaaa.worker-0.1");
  EXPECT_EQ(found[0].pid, shim->pid());
  std::filesystem::create_directory(directory_ + "/tasks");
  const auto control = Listen(directory_ + "/tasks/j-aaaaa.worker-0.1.ctl", SOCK_SEQPACKET);
  EXPECT_THAT(LookForLeftovers(locations_).unreachable_shims, IsEmpty());
  out.reset();
  EXPECT_TRUE(shim->Wait(absl::Seconds(20)).ok());
}

TEST_F(HealthFactsTest, JunkIsNeitherReadNorWaitedFor) {
  std::filesystem::create_directory(directory_ + "/trainer.lock");
  std::filesystem::create_directory(directory_ + "/launcher.ready");
  std::filesystem::create_symlink("nowhere", directory_ + "/registry");
  Write("datamanager.lock", "not a number");
  const LeftoverFacts facts = LookForLeftovers(locations_);
  EXPECT_THAT(facts.locks, IsEmpty());
  EXPECT_THAT(facts.sockets, IsEmpty());
}

TEST_F(HealthFactsTest, NothingIsLeftOfWhatNeverWas) {
  locations_.runtime_directory += "/gone";
  const LeftoverFacts facts = LookForLeftovers(locations_);
  EXPECT_THAT(facts.locks, IsEmpty());
  EXPECT_THAT(facts.ready_files, IsEmpty());
  EXPECT_THAT(facts.sockets, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(locations_.runtime_directory));
}

TEST_F(HealthFactsTest, KnowsTheHolderOfALockAndWhoServesWithoutOne) {
  {
    const auto lock = runtime::LockFile(locations_.LockPath("trainer"));
    ASSERT_TRUE(lock.ok());
    const ServiceFacts held = LookAtService(locations_, "trainer");
    EXPECT_EQ(held.holder, getpid());
    EXPECT_FALSE(held.suspended);
  }
  EXPECT_EQ(LookAtService(locations_, "trainer").holder, 0);
  EXPECT_EQ(LookAtService(locations_, "trainer").listener, 0);
  const auto served = Listen(directory_ + "/trainer");
  EXPECT_EQ(LookAtService(locations_, "trainer").listener, getpid());
}

TEST(LoadedLibrariesTest, RunWithWhatTheyWereCompiledFor) {
  const auto libraries = LoadedLibraries();
  ASSERT_THAT(libraries, SizeIs(2));
  for (const auto& library : libraries) EXPECT_EQ(library.compiled, library.running);
}

}  // namespace
}  // namespace yard
