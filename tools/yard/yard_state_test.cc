#include "tools/yard/yard_state.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file.h"
#include "runtime/locations.h"
#include "tools/yard/context.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class YardStateTest : public ::testing::Test {
 protected:
  YardStateTest() {
    char name[] = "/tmp/yard-XXXXXX";
    directory_ = mkdtemp(name);
    context_.locations = {.runtime_directory = directory_,
                          .state_directory = directory_ + "/state",
                          .registry_address = "ipc://" + directory_ + "/registry"};
    context_.err = &err_;
  }
  ~YardStateTest() override { std::filesystem::remove_all(directory_); }
  const runtime::Locations& locations() const { return context_.locations; }

  std::string directory_;
  std::ostringstream err_;
  Context context_;
};

TEST_F(YardStateTest, WantedIsReadAsItWasWritten) {
  ASSERT_TRUE(WriteWanted(locations(), {.logdir = "/a b/\"c\"",
                                        .trainer = "/t",
                                        .resources = {"gpu=0,1", "slots=4"},
                                        .datamanager = {"cache_mb=7"},
                                        .flags = {{"trainer", {"log_level=debug", "x=1"}}},
                                        .slots = 3,
                                        .visible_gpus = "2,3"})
                  .ok());
  const auto wanted = ReadWanted(locations());
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  ASSERT_TRUE(wanted->has_value());
  EXPECT_EQ((*wanted)->logdir, "/a b/\"c\"");
  EXPECT_EQ((*wanted)->trainer, "/t");
  EXPECT_THAT((*wanted)->resources, ElementsAre("gpu=0,1", "slots=4"));
  EXPECT_THAT((*wanted)->datamanager, ElementsAre("cache_mb=7"));
  EXPECT_THAT((*wanted)->flags,
              ElementsAre(testing::Pair("trainer", ElementsAre("log_level=debug", "x=1"))));
  EXPECT_EQ((*wanted)->slots, 3);
  EXPECT_EQ((*wanted)->visible_gpus, "2,3");
}

TEST_F(YardStateTest, TheGpusOfAYardAreThoseOfWhoHasStartedIt) {
  EXPECT_EQ(VisibleGpus(context_), std::nullopt);
  context_.environment = {"PATH=/p", "CUDA_VISIBLE_DEVICES=2,3"};
  EXPECT_EQ(VisibleGpus(context_), "2,3");
  context_.environment = {"CUDA_VISIBLE_DEVICES="};
  EXPECT_EQ(VisibleGpus(context_), "") << "none of them";
}

TEST_F(YardStateTest, RemovingWantedTwiceIsFine) {
  ASSERT_TRUE(WriteWanted(locations(), {.logdir = "/a", .trainer = ""}).ok());
  EXPECT_TRUE(RemoveWanted(locations()).ok());
  EXPECT_TRUE(RemoveWanted(locations()).ok());
  EXPECT_FALSE(ReadWanted(locations())->has_value());
}

TEST_F(YardStateTest, AWantedFileThatCannotBeReadIsNamed) {
  ASSERT_TRUE(runtime::MakePrivateDirectory(locations().state_directory).ok());
  for (const char* content : {"", "{", "[]", "{\"logdir\": 3}"}) {
    ASSERT_TRUE(
        runtime::WriteFileAtomically(locations().state_directory + "/wanted", content, 0600).ok());
    const auto wanted = ReadWanted(locations());
    EXPECT_FALSE(wanted.ok()) << content;
    EXPECT_THAT(std::string(wanted.status().message()), HasSubstr("/wanted"));
  }
}

TEST_F(YardStateTest, TheHolderOfALockIsKnown) {
  EXPECT_EQ(HolderOf(locations(), "trainer"), 0);
  {
    const auto lock = runtime::LockFile(locations().LockPath("trainer"));
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(HolderOf(locations(), "trainer"), getpid());
  }
  EXPECT_EQ(HolderOf(locations(), "trainer"), 0);
}

TEST_F(YardStateTest, AYardThatIsNotWantedIsNotStarted) {
  const absl::Status ensured = EnsureYard(context_);
  EXPECT_TRUE(absl::IsUnavailable(ensured));
  EXPECT_THAT(std::string(ensured.message()), HasSubstr("yard up"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(YardStateTest, NothingIsStartedInsideATask) {
  ASSERT_TRUE(WriteWanted(locations(), {.logdir = "/a", .trainer = ""}).ok());
  for (const char* mark : {"YARD_SOCKET=/tasks/j-1.worker-0.1", "YARD_TRIAL_ID=t-1"}) {
    context_.environment = {"PATH=/bin", mark};
    for (const absl::Status& refused :
         {EnsureYard(context_), StartService(context_, "registry", {.logdir = "/a"})}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
      EXPECT_THAT(std::string(refused.message()), HasSubstr("a shell outside"));
    }
  }
  EXPECT_EQ(err_.str(), "");
  // What runs can be used.
  const auto lock = runtime::LockFile(locations().LockPath("launcher"));
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(EnsureYard(context_).ok());
}

TEST_F(YardStateTest, NothingIsStartedWhileALauncherHoldsItsLock) {
  ASSERT_TRUE(WriteWanted(locations(), {.logdir = "/a", .trainer = ""}).ok());
  const auto lock = runtime::LockFile(locations().LockPath("launcher"));
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(EnsureYard(context_).ok());
  EXPECT_EQ(err_.str(), "");
}

TEST_F(YardStateTest, AServiceIsReadyWhenItsFileHasThePidOfTheHolder) {
  const auto lock = runtime::LockFile(locations().LockPath("trainer"));
  ASSERT_TRUE(lock.ok());
  const auto write = [&](const std::string& pid) {
    return runtime::WriteFileAtomically(directory_ + "/trainer.ready", pid + "\n", 0600).ok();
  };
  const auto ready = [&](absl::Duration timeout) {
    int calls = 0;
    const absl::Status status =
        WaitUntilReady(context_, {"trainer"}, timeout, [&](const std::string&) { ++calls; });
    EXPECT_EQ(calls, status.ok() ? 1 : 0);
    return status;
  };
  EXPECT_TRUE(absl::IsDeadlineExceeded(ready(absl::ZeroDuration()))) << "no file";
  ASSERT_TRUE(write("1"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(ready(absl::ZeroDuration()))) << "of one that has gone";
  ASSERT_TRUE(write(std::to_string(getpid())));
  EXPECT_TRUE(ready(absl::ZeroDuration()).ok());
}

TEST_F(YardStateTest, WhatIsNotReadyIsNamedWithItsLastLines) {
  ASSERT_TRUE(runtime::MakePrivateDirectory(locations().state_directory).ok());
  ASSERT_TRUE(runtime::MakePrivateDirectory(locations().LogDirectory()).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(locations().LogDirectory() + "/trainer.out",
                                           "one\nbad \x1b[31m thing\n", 0600)
                  .ok());
  const absl::Status status =
      WaitUntilReady(context_, {"trainer"}, absl::ZeroDuration(), [](const std::string&) {});
  EXPECT_THAT(std::string(status.message()), HasSubstr("trainer not ready"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad \\x1B[31m thing"));
}

}  // namespace
}  // namespace yard
