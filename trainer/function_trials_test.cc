// Trials of functions, as the service creates and launches them. (function_process_test.cc tests
// the process of such a trial.)

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/function/functions.h"
#include "trainer/function/named_values.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const RegisteredFunction kTrain("train", [](const NamedValues&) {});
const RegisteredFunction kOther("other", [](const NamedValues&) {});

class FunctionTrialsTest : public TrialsFixture {
 protected:
  FunctionTrialsTest() {
    options_.executable = "/old/trainer";
    Start();
  }

  static msg::RunTrialRequestT Request(const std::string& function) {
    msg::RunTrialRequestT request;
    request.working_directory = "/";
    request.options = std::make_unique<msg::TrialOptionsT>();
    request.options->function = function;
    return request;
  }
};

TEST_F(FunctionTrialsTest, AFunctionIsLaunchedAsTheTrainerItself) {
  msg::RunTrialRequestT request = Request("train");
  request.options->heartbeat_ms = 2000;
  const auto trial = TryRun(request);
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_THAT(trial->argv, IsEmpty());
  EXPECT_THAT(jobs_.jobs["j-1"].spec.argv,
              ElementsAre("/old/trainer", "--run_function=train", "--heartbeat=500ms"));
  EXPECT_EQ(jobs_.jobs["j-1"].spec.report_channel->socket, "/relay");
}

TEST_F(FunctionTrialsTest, TheNextAttemptIsOfTheTrainerThatIsThereThen) {
  msg::RunTrialRequestT request = Request("train");
  request.max_restarts = 1;
  ASSERT_TRUE(TryRun(request).ok());
  EXPECT_THAT(jobs_.jobs["j-1"].spec.argv, ElementsAre("/old/trainer", "--run_function=train"));
  options_.executable = "/new/trainer";
  Restart();
  On([&] { jobs_.KillShim("j-1"); });
  EXPECT_THAT(jobs_.jobs["j-2"].spec.argv, ElementsAre("/new/trainer", "--run_function=train"));
}

TEST_F(FunctionTrialsTest, WhatCannotRunIsRefusedByName) {
  const auto refused = [&](const msg::RunTrialRequestT& request, const std::string& words) {
    const absl::Status status = TryRun(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  };
  refused(Request("unknown"), "no function unknown is registered; there is other, train");
  msg::RunTrialRequestT both = Request("train");
  both.argv = {"prog"};
  refused(both, "argv and function train are both given");
  msg::RunTrialRequestT tasks = Request("train");
  tasks.options->tasks.push_back(std::make_unique<msg::TrialTasksT>());
  refused(tasks, "function train and tasks are both given");
  EXPECT_TRUE(jobs_.jobs.empty());
}

}  // namespace
}  // namespace trainer
