#include "tools/yard/services/service_start.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/state/service_presence.h"
#include "tools/yard/state/wanted.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

class ServiceStartTest : public ::testing::Test {
 protected:
  ServiceStartTest() {
    char name[] = "/tmp/yard-XXXXXX";
    directory_ = mkdtemp(name);
    context_.locations = {.runtime_directory = directory_,
                          .state_directory = directory_ + "/state",
                          .registry_address = "ipc://" + directory_ + "/registry"};
    context_.err = &err_;
  }
  ~ServiceStartTest() override { std::filesystem::remove_all(directory_); }
  const runtime::Locations& locations() const { return context_.locations; }

  static runtime::UniqueFd Listen(const std::string& path) {
    runtime::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), 8), 0);
    return fd;
  }

  std::string directory_;
  std::ostringstream err_;
  Context context_;
};

TEST_F(ServiceStartTest, AYardThatIsNotWantedIsNotStarted) {
  const absl::Status ensured = EnsureYard(context_);
  EXPECT_TRUE(absl::IsUnavailable(ensured));
  EXPECT_THAT(std::string(ensured.message()), HasSubstr("yard up"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ServiceStartTest, NothingIsStartedInsideATask) {
  ASSERT_TRUE(WriteWanted(locations(), {.logdir = "/a", .trainer = ""}).ok());
  for (const char* mark : {"YARD_SOCKET=/tasks/j-1.worker-0.1", "YARD_TRIAL_ID=t-1"}) {
    context_.environment = {"PATH=/bin", mark};
    for (const absl::Status& refused :
         {EnsureYard(context_), StartService(context_, "registry", {.logdir = "/a"}).status()}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
      EXPECT_THAT(std::string(refused.message()), HasSubstr("a shell outside"));
    }
  }
  EXPECT_EQ(err_.str(), "");
  // Running services can be used.
  const auto lock = runtime::LockFile(locations().LockPath("launcher"));
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(EnsureYard(context_).ok());
}

TEST_F(ServiceStartTest, NothingIsStartedWhileALauncherHoldsItsLock) {
  ASSERT_TRUE(WriteWanted(locations(), {.logdir = "/a", .trainer = ""}).ok());
  const auto lock = runtime::LockFile(locations().LockPath("launcher"));
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(EnsureYard(context_).ok());
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ServiceStartTest, AServiceIsReadyWhenItsFileHasThePidOfTheHolder) {
  const auto lock = runtime::LockFile(locations().LockPath("trainer"));
  ASSERT_TRUE(lock.ok());
  const auto write = [&](const std::string& pid) {
    return runtime::WriteFileAtomically(directory_ + "/trainer.ready", pid + "\n", 0600).ok();
  };
  const auto ready = [&](absl::Duration timeout) {
    int calls = 0;
    Awaited awaited{.services = {"trainer"}};
    const absl::Status status =
        WaitUntilReady(context_, awaited, timeout, [&](const std::string&) { ++calls; });
    EXPECT_EQ(calls, status.ok() ? 1 : 0);
    return status;
  };
  EXPECT_TRUE(absl::IsDeadlineExceeded(ready(absl::ZeroDuration()))) << "no file";
  ASSERT_TRUE(write("1"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(ready(absl::ZeroDuration()))) << "of one that has gone";
  ASSERT_TRUE(write(std::to_string(getpid())));
  EXPECT_TRUE(absl::IsDeadlineExceeded(ready(absl::ZeroDuration()))) << "its socket is gone";
  EXPECT_TRUE(HasLostItsSocket(locations(), "trainer"));
  EXPECT_THAT(WhyItIsSilent(context_, "trainer"), HasSubstr("has lost its socket"));
  const auto socket = Listen(directory_ + "/trainer");
  EXPECT_TRUE(ready(absl::ZeroDuration()).ok());
  EXPECT_FALSE(HasLostItsSocket(locations(), "trainer"));
  EXPECT_EQ(WhyItIsSilent(context_, "trainer"), "");
}

TEST_F(ServiceStartTest, ServicesOfThisStateWithSocketsElsewhereAreNamed) {
  const std::string other = directory_ + "/other/yard";
  ASSERT_TRUE(runtime::MakePrivateDirectory(locations().state_directory).ok());
  ASSERT_TRUE(runtime::MakePrivateDirectory(other).ok());
  const auto lock = runtime::LockFile(other + "/trainer.lock");
  const auto state_lock = runtime::LockFile(locations().state_directory + "/trainer.lock");
  ASSERT_TRUE(lock.ok() && state_lock.ok());
  EXPECT_EQ(HolderOf(locations(), "trainer"), 0);
  EXPECT_EQ(RuntimeDirectoryElsewhere(locations()), other);
  ASSERT_TRUE(WriteWanted(locations(), {.logdir = "/a", .trainer = ""}).ok());
  const absl::Status ensured = EnsureYard(context_);
  EXPECT_TRUE(absl::IsFailedPrecondition(ensured)) << ensured;
  EXPECT_THAT(std::string(ensured.message()),
              HasSubstr("; next: export XDG_RUNTIME_DIR=" + directory_ + "/other"));
}

TEST_F(ServiceStartTest, WhatIsNotReadyIsNamedWithItsLastLines) {
  ASSERT_TRUE(runtime::MakePrivateDirectory(locations().state_directory).ok());
  ASSERT_TRUE(runtime::MakePrivateDirectory(locations().LogDirectory()).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(locations().LogDirectory() + "/trainer.out",
                                           "one\nbad \x1b[31m thing\n", 0600)
                  .ok());
  Awaited awaited{.services = {"trainer"}, .output_begins = {{"trainer", 0}}};
  const absl::Status status =
      WaitUntilReady(context_, awaited, absl::ZeroDuration(), [](const std::string&) {});
  EXPECT_THAT(std::string(status.message()), HasSubstr("trainer not ready"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad \\x1B[31m thing"));
}

}  // namespace
}  // namespace yard
