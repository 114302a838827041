#include "tools/yard/state/wanted.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "tools/yard/cli/context.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WantedTest : public ::testing::Test {
 protected:
  WantedTest() {
    char name[] = "/tmp/yard-XXXXXX";
    directory_ = mkdtemp(name);
    context_.locations = {.runtime_directory = directory_,
                          .state_directory = directory_ + "/state",
                          .registry_address = "ipc://" + directory_ + "/registry"};
  }
  ~WantedTest() override { std::filesystem::remove_all(directory_); }
  const runtime::Locations& locations() const { return context_.locations; }

  std::string directory_;
  Context context_;
};

TEST_F(WantedTest, WantedIsReadAsItWasWritten) {
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

TEST_F(WantedTest, TheGpusOfAYardAreThoseOfWhoHasStartedIt) {
  EXPECT_EQ(VisibleGpus(context_), std::nullopt);
  context_.environment = {"PATH=/p", "CUDA_VISIBLE_DEVICES=2,3"};
  EXPECT_EQ(VisibleGpus(context_), "2,3");
  context_.environment = {"CUDA_VISIBLE_DEVICES="};
  EXPECT_EQ(VisibleGpus(context_), "") << "none of them";
}

TEST_F(WantedTest, RemovingWantedTwiceIsFine) {
  ASSERT_TRUE(WriteWanted(locations(), {.logdir = "/a", .trainer = ""}).ok());
  EXPECT_TRUE(RemoveWanted(locations()).ok());
  EXPECT_TRUE(RemoveWanted(locations()).ok());
  EXPECT_FALSE(ReadWanted(locations())->has_value());
}

TEST_F(WantedTest, AWantedFileThatCannotBeReadIsNamed) {
  ASSERT_TRUE(runtime::MakePrivateDirectory(locations().state_directory).ok());
  for (const char* content : {"", "{", "[]", "{\"logdir\": 3}"}) {
    ASSERT_TRUE(
        runtime::WriteFileAtomically(locations().state_directory + "/wanted", content, 0600).ok());
    const auto wanted = ReadWanted(locations());
    EXPECT_FALSE(wanted.ok()) << content;
    EXPECT_THAT(std::string(wanted.status().message()), HasSubstr("/wanted"));
  }
}

TEST_F(WantedTest, WhatTheYardWasOutlivesIt) {
  EXPECT_FALSE(ReadLastWanted(locations()).has_value());
  EXPECT_TRUE(RetireWanted(locations(), false).ok());
  const Wanted wanted{.logdir = "/a b",
                      .trainer = "/t",
                      .resources = {"gpu=0,1"},
                      .datamanager = {"cache_mb=7"},
                      .flags = {{"registry", {"log_level=debug"}},
                                {"launcher", {"log_level=debug", "keep_jobs=7"}},
                                {"datamanager", {"log_level=debug"}},
                                {"trainer", {"log_level=debug", "keep_trials=3"}},
                                {"web", {"log_level=debug", "metrics_port=9464"}}},
                      .slots = 2,
                      .logdir_was_given = true};
  ASSERT_TRUE(WriteWanted(locations(), wanted).ok());
  ASSERT_TRUE(RetireWanted(locations(), true).ok());
  EXPECT_FALSE(ReadWanted(locations())->has_value());
  ASSERT_TRUE(ReadLastWanted(locations()).has_value());
  EXPECT_EQ(ReadLastWanted(locations())->wanted, wanted);
  EXPECT_TRUE(ReadLastWanted(locations())->kept);
  // The tasks are no longer kept.
  ASSERT_TRUE(RetireWanted(locations(), false).ok());
  EXPECT_FALSE(ReadLastWanted(locations())->kept);
  EXPECT_EQ(
      WordsOf(wanted),
      "--logdir '/a b' --trainer /t --slots 2 --resources gpu=0,1 --datamanager cache_mb=7 "
      "--service log_level=debug --service launcher.keep_jobs=7 --keep_trials 3 --metrics_port "
      "9464");
  EXPECT_EQ(WordsOf({.logdir = "/a"}), "");
}

}  // namespace
}  // namespace yard
