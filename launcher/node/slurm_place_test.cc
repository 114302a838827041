#include "launcher/node/slurm_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/time/time.h"

namespace launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Variables = std::map<std::string, std::string>;

Variables OfAStep() {
  return {{"SLURM_JOB_ID", "17"},
          {"SLURM_NODEID", "1"},
          {"SLURMD_NODENAME", "node2"},
          {"SLURM_CPUS_ON_NODE", "8"},
          {"SLURM_MEM_PER_NODE", "2000"},
          {"CUDA_VISIBLE_DEVICES", "0,1"},
          {"TMPDIR", "/scratch"},
          {"YARD_NODE_RUN", "17.0.6f1c-2a3b4c5d"},
          {"YARD_NODE_GRACE", "58"},
          {"YARD_NODE_KEY_0", absl::Base64Escape("another's")},
          {"YARD_NODE_KEY_1", absl::Base64Escape("secret\n")}};
}

Variable In(const Variables& variables) {
  return [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

absl::StatusOr<SlurmPlace> Read(const Variables& variables) {
  return ReadSlurmPlace(In(variables), 1000);
}

TEST(SlurmPlaceTest, AStepSaysWhatTheNodeHas) {
  const auto place = Read(OfAStep());
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->name, "job 17 on node2");
  EXPECT_EQ(place->run, "17.0.6f1c-2a3b4c5d");
  EXPECT_EQ(place->grace, absl::Seconds(58));
  EXPECT_EQ(place->address, "node2");
  EXPECT_EQ(place->cpus, 8u);
  EXPECT_EQ(place->memory_bytes, std::uint64_t{2000} << 20);
  EXPECT_THAT(place->gpus, ElementsAre("0", "1"));
  EXPECT_THAT(place->folders,
              ElementsAre("/scratch/yard-1000-17.0-1-2a3b4c5d", "/tmp/yard-1000-17.0-1-2a3b4c5d"));
}

TEST(SlurmPlaceTest, MemoryMayBeSaidForEachProcessor) {
  Variables variables = OfAStep();
  variables.erase("SLURM_MEM_PER_NODE");
  variables["SLURM_MEM_PER_CPU"] = "100";
  EXPECT_EQ(Read(variables)->memory_bytes, std::uint64_t{800} << 20);
}

TEST(SlurmPlaceTest, WhatSlurmDoesNotSayIsNotKnown) {
  Variables variables = OfAStep();
  for (const char* const name : {"SLURM_MEM_PER_NODE", "SLURM_CPUS_ON_NODE", "CUDA_VISIBLE_DEVICES",
                                 "TMPDIR", "SLURMD_NODENAME", "YARD_NODE_GRACE"}) {
    variables.erase(name);
  }
  const auto place = Read(variables);
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->cpus, 0u);
  EXPECT_EQ(place->memory_bytes, 0u);
  EXPECT_FALSE(place->says_gpus);
  EXPECT_EQ(place->name, "job 17");
  EXPECT_EQ(place->grace, absl::Seconds(28));
  EXPECT_THAT(place->folders, ElementsAre("/tmp/yard-1000-17.0-1-2a3b4c5d"));
}

TEST(SlurmPlaceTest, AnotherRunOfTheJobHasAFolderOfItsOwn) {
  Variables variables = OfAStep();
  variables["SLURM_RESTART_COUNT"] = "2";
  EXPECT_EQ(Read(variables)->folders.back(), "/tmp/yard-1000-17.2-1-2a3b4c5d");
}

TEST(SlurmPlaceTest, ARunCannotLeadTheFolderElsewhere) {
  Variables variables = OfAStep();
  variables["YARD_NODE_RUN"] = "../..";
  EXPECT_EQ(Read(variables)->folders.back(), "/tmp/yard-1000-17.0-1-");
  variables["YARD_NODE_RUN"] = "../x/y";
  EXPECT_EQ(Read(variables)->folders.back(), "/tmp/yard-1000-17.0-1-xy");
}

TEST(SlurmPlaceTest, EachNodeHasAKeyOfItsOwn) {
  Variables variables = OfAStep();
  EXPECT_EQ(ReadSlurmKey(In(variables)).value_or(""), "secret\n");
  variables["SLURM_NODEID"] = "0";
  EXPECT_EQ(ReadSlurmKey(In(variables)).value_or(""), "another's");
  for (const char* const node : {"2", "", "x/../y"}) {
    variables["SLURM_NODEID"] = node;
    EXPECT_TRUE(absl::IsInvalidArgument(ReadSlurmKey(In(variables)).status())) << node;
  }
  variables["SLURM_NODEID"] = "1";
  for (const std::string& key : {std::string("*"), std::string(), std::string(100'000, 'a')}) {
    variables["YARD_NODE_KEY_1"] = key;
    EXPECT_TRUE(absl::IsInvalidArgument(ReadSlurmKey(In(variables)).status())) << key.substr(0, 10);
  }
}

TEST(SlurmPlaceTest, AVariableThatIsMissingOrWrongIsNamed) {
  for (const char* const name : {"SLURM_JOB_ID", "SLURM_NODEID", "YARD_NODE_RUN"}) {
    Variables variables = OfAStep();
    variables.erase(name);
    const auto place = Read(variables);
    EXPECT_TRUE(absl::IsInvalidArgument(place.status())) << name;
    EXPECT_THAT(std::string(place.status().message()), HasSubstr(name));
  }
  for (const auto& [name, value] :
       Variables{{"SLURM_JOB_ID", "x/../y"}, {"SLURM_NODEID", "-1"}, {"YARD_NODE_GRACE", "soon"}}) {
    Variables variables = OfAStep();
    variables[name] = value;
    EXPECT_TRUE(absl::IsInvalidArgument(Read(variables).status())) << name;
  }
}

TEST(SlurmPlaceTest, TheGpusAreThoseThatSlurmNames) {
  const std::vector<std::string> of_host = {"GPU-a", "GPU-b", "GPU-c"};
  SlurmPlace place{.says_gpus = true, .gpus = {"2", "0"}};
  EXPECT_THAT(GpusOf(place, of_host), ElementsAre("GPU-c", "GPU-a"));
  place.gpus = {"GPU-b", "GPU-x", "7"};
  EXPECT_THAT(GpusOf(place, of_host), ElementsAre("GPU-b"));
  place.gpus = {};
  EXPECT_THAT(GpusOf(place, of_host), IsEmpty());
  EXPECT_THAT(GpusOf({.says_gpus = true, .gpus = {"0", "1"}}, {}), ElementsAre("0", "1"));
  EXPECT_EQ(GpusOf(SlurmPlace{}, of_host), of_host);
}

}  // namespace
}  // namespace launcher
