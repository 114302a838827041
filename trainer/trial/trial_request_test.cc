#include "trainer/trial/trial_request.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

msg::RunTrialRequestT Request() {
  msg::RunTrialRequestT request;
  request.name = "first";
  request.argv = {"prog"};
  request.working_directory = "/";
  request.options = std::make_unique<msg::TrialOptionsT>();
  return request;
}

TEST(TrialRequestTest, FillsInWhatTheRequestLeavesOpen) {
  auto request = Request();
  request.name.clear();
  request.options->attached_pid = 17;
  request.options->note = "by hand";
  const auto spec = SpecFrom(request, "t-1", "/runs");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name, "t-1");
  EXPECT_EQ(spec->run_directory, "/runs/t-1");
  EXPECT_EQ(spec->stop_grace_ms, 10'000);
  EXPECT_EQ(spec->options.attached_pid, 0u) << "no request over the bus is of an attached process";
  EXPECT_TRUE(spec->options.annotated);
}

TEST(TrialRequestTest, ARequestMayHaveADirectoryOfItsOwn) {
  auto request = Request();
  request.logdir = "/elsewhere/";
  EXPECT_EQ(SpecFrom(request, "t-1", "/runs")->run_directory, "/elsewhere/first");
}

TEST(TrialRequestTest, WhatIsWrongIsNamed) {
  using Change = std::function<void(msg::RunTrialRequestT&)>;
  const std::vector<std::pair<Change, std::string>> wrong = {
      {[](auto& request) { request.argv.clear(); }, "argv is empty"},
      {[](auto& request) { request.argv = {std::string("a\0b", 3)}; }, "argv holds a NUL byte"},
      {[](auto& request) { request.environment = {std::string("\0", 1)}; },
       "environment holds a NUL byte"},
      {[](auto& request) { request.logdir = "runs"; }, "logdir runs is no absolute path"},
      {[](auto& request) { request.working_directory = ""; }, "working_directory"},
      {[](auto& request) { request.name = "a/b"; }, "it must not hold a slash"},
      {[](auto& request) { request.options->function = "train"; },
       "argv and function train are both given"},
      {[](auto& request) { request.options->restore = "checkpoint"; }, "restore checkpoint"},
      {[](auto& request) {
         request.options->from = "t-1";
         request.options->restore = "/checkpoint";
       },
       "from and restore are both given"},
      {[](auto& request) { request.options->keep_checkpoints = -2; }, "keep_checkpoints -2"},
      {[](auto& request) { request.options->checkpoint_metric = "min-"; }, "names no metric"},
      {[](auto& request) { request.options->on_end = std::string(20'000, 'x'); }, "on_end has"}};
  for (const auto& [change, said] : wrong) {
    auto request = Request();
    change(request);
    const auto spec = SpecFrom(request, "t-1", "/runs");
    EXPECT_TRUE(absl::IsInvalidArgument(spec.status())) << said;
    EXPECT_THAT(spec.status().message(), HasSubstr(said));
  }
}

TEST(RunNameTest, IsTheNameOfADirectory) {
  for (const std::string& name :
       {std::string("a"), std::string("a b.c-d"), std::string(200, 'x')}) {
    EXPECT_TRUE(CheckRunName(name).ok()) << name;
  }
  for (const std::string& name :
       {std::string(), std::string(201, 'x'), std::string(".a"), std::string("-a"),
        std::string("a/b"), std::string("a\nb"), std::string("a\xff")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckRunName(name))) << name;
  }
}

TEST(RunDirectoryTest, IsFreeUnlessItHoldsFilesOfARun) {
  char name[] = "/tmp/rd-XXXXXX";
  const std::string directory = mkdtemp(name);
  EXPECT_TRUE(CheckDirectoryIsFree(directory).ok());
  EXPECT_TRUE(CheckDirectoryIsFree(directory + "/none").ok());
  std::ofstream(directory + "/notes.txt") << "mine";
  EXPECT_TRUE(CheckDirectoryIsFree(directory).ok());
  for (const char* const file : {"result.json", "progress.csv", "params.json",
                                 "events.out.tfevents.1.host", "checkpoint_000001"}) {
    std::ofstream(directory + "/" + file) << "x";
    EXPECT_TRUE(absl::IsAlreadyExists(CheckDirectoryIsFree(directory))) << file;
    std::filesystem::remove(directory + "/" + file);
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace trainer
