#include "tools/yard/job/job_flags.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/yard/job/job_file.h"
#include "tools/yard/job/job_json.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

// Returns, as JSON, the job that results from the flags over a file.
absl::StatusOr<std::string> Applied(std::vector<std::string> words,
                                    const std::string& file = "{}") {
  CLI::App app;
  OptionSet options(&app);
  JobFlags flags;
  flags.Declare(options);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  auto draft = ParseJob(file, "f", "/file");
  if (!draft.ok()) return draft.status();
  if (absl::Status status = flags.Apply("/here", &*draft); !status.ok()) return status;
  return JobToJson(draft->spec, Secrets::kShown).dump();
}

std::string Error(std::vector<std::string> words, const std::string& file = "{}") {
  const auto result = Applied(std::move(words), file);
  EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
  return std::string(result.status().message());
}

TEST(JobFlagsTest, WithoutFlagsTheFileIsTheJob) {
  EXPECT_EQ(*Applied({}), "{}");
  EXPECT_EQ(*Applied({}, "gang: true\nmax_run_time: 1h"),
            R"({"max_run_time":"3600s","gang":true})");
}

TEST(JobFlagsTest, CountsMakeAClusterInAFixedOrder) {
  EXPECT_EQ(*Applied({"--task", "reader=2", "--evaluator", "--ps", "1", "--worker", "3", "--chief",
                      "--task", "writer=1"}),
            R"({"tasks":{"chief":{"count":1},"worker":{"count":3},"ps":{"count":1},)"
            R"("evaluator":{"count":1},"reader":{"count":2},"writer":{"count":1}}})");
}

TEST(JobFlagsTest, CountsOfAFileAreReplacedInPlaceAndZeroTakesAway) {
  EXPECT_EQ(*Applied({"--worker", "4", "--ps=0", "--chief"},
                     "tasks: {ps: 2, worker: {count: 1, memory: 1GiB}}"),
            R"({"tasks":{"worker":{"count":4,"memory":"1GiB"},"chief":{"count":1}}})");
  EXPECT_EQ(Error({"--worker", "0"}, "tasks: {worker: 2}"), "no tasks: every count is 0");
  EXPECT_EQ(Error({"--worker", "0"}), "no tasks: every count is 0");
}

TEST(JobFlagsTest, FlagsGoOverTheFile) {
  EXPECT_EQ(*Applied({"--name", "b", "--max_restarts", "2", "--restart", "always", "--gang=false",
                      "--daemon", "--hold_ports=false", "--cwd", "sub", "--log_directory", "/logs"},
                     "name: a\nmax_restarts: 9\ngang: true\ncwd: x"),
            R"({"name":"b","cwd":"/here/sub","restart":"always","max_restarts":2,"daemon":true,)"
            R"("hold_ports":false,"log_directory":"/logs"})");
}

TEST(JobFlagsTest, NamesOfMapsAreAdded) {
  EXPECT_EQ(*Applied({"--environment", "A=1", "--environment", "B=x=y", "--labels", "team=t"},
                     "environment: {A: 0, C: 2}"),
            R"({"labels":{"team":"t"},"environment":{"A":"1","C":"2","B":"x=y"}})");
}

TEST(JobFlagsTest, KeysOfTasksAreForEveryType) {
  EXPECT_EQ(*Applied({"--worker", "2", "--ps", "1", "--resources", "gpu=1", "--limits", "nofile=64",
                      "--limits", "core=unlimited", "--cpus", "1.5"}),
            R"({"tasks":{"worker":{"count":2,"resources":{"gpu":1},)"
            R"("limits":{"nofile":"64","core":"unlimited"},"cpus":1.5},)"
            R"("ps":{"count":1,"resources":{"gpu":1},)"
            R"("limits":{"nofile":"64","core":"unlimited"},"cpus":1.5}}})");
  EXPECT_THAT(*Applied({"--memory", "1GiB"}), HasSubstr(R"("worker":{"count":1,"memory":"1GiB")"));
}

TEST(JobFlagsTest, WhatOneTaskNeedsIsNoCluster) {
  const auto is_alone = [](const std::string& file, const std::string& key) {
    auto draft = ParseJob(file, "f", "/file");
    EXPECT_TRUE(draft.ok()) << draft.status();
    EXPECT_TRUE(SetTaskKey(key, {"1"}, "/", &*draft).ok());
    return draft->spec.task_type == "worker";
  };
  EXPECT_TRUE(is_alone("{}", "cpus"));
  EXPECT_FALSE(is_alone("tasks: {worker: 1}", "cpus"));
}

TEST(JobFlagsTest, WhatIsWrongBeginsWithTheFlag) {
  EXPECT_EQ(Error({"--worker", "many"}),
            "--worker: expected a whole number from 0 to 1000, not \"many\"");
  EXPECT_THAT(Error({"--ps", "-1"}), HasSubstr("--ps"));
  EXPECT_EQ(Error({"--task", "reader"}), "--task: expected TYPE=N, not \"reader\"");
  EXPECT_THAT(Error({"--task", "worker-0=1"}), HasSubstr("--task: a task type does not end in a"));
  EXPECT_THAT(Error({"--task", "reader="}), HasSubstr("--task: expected a whole number"));
  EXPECT_THAT(Error({"--restart", "sometimes"}),
              HasSubstr("--restart: expected never, on-failure or always, not \"sometimes\""));
  EXPECT_THAT(Error({"--gang=maybe"}), HasSubstr("--gang: expected true or false"));
  EXPECT_THAT(Error({"--max_restarts", "-1"}), HasSubstr("--max_restarts"));
}

TEST(JobFlagsTest, EveryKeyOfAJobIsAFlag) {
  const std::vector<std::vector<std::string>> kFlags = {
      {"--rpc_layer", "grpc"},
      {"--grpc_fail_fast", "true"},
      {"--max_run_time", "1h"},
      {"--stop_signal", "INT"},
      {"--stop_grace", "5s"},
      {"--restart_window", "1m"},
      {"--log_limit", "1k"},
      {"--log_rotate_size", "64k"},
      {"--log_rotate_files", "2"},
      {"--ignore_chief"},
      {"--keep_going"},
      {"--share_gpu"},
      {"--own_namespace"},
      {"--at", "gpus"},
      {"--ready_pattern", "x"},
      {"--ready_fd", "5"},
      {"--processes", "10"},
  };
  for (const auto& words : kFlags) {
    const auto result = Applied(words);
    ASSERT_TRUE(result.ok()) << words[0] << ": " << result.status();
    EXPECT_THAT(*result, HasSubstr("\"" + words[0].substr(2) + "\":"));
  }
}

}  // namespace
}  // namespace yard
