// Trials whose reports are read from the output of a program without a report channel, with kills
// of the trainer.

#include <fcntl.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "trainer/report/result_row.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OutputTrialsTest : public TrialsFixture {
 protected:
  OutputTrialsTest() { Start(); }

  void Look(absl::Duration passed = absl::Milliseconds(100)) {
    clock_.Advance(passed);
    for (int i = 0; i < 20; ++i) On([] {});
  }
  static msg::RunTrialRequestT Request(const std::string& output) {
    msg::RunTrialRequestT request = TrialsFixture::Request("first");
    request.options->output_reports = output;
    return request;
  }
  // Prints as the program does. All attempts write to one file, as under the launcher.
  void Print(const std::string& text) {
    const std::string path = directory_ + "/runs/first/worker-0.1.stdout";
    const runtime::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
    ASSERT_TRUE(runtime::WriteAll(file.get(), text).ok());
  }
  std::vector<std::string> Rows(const std::string& id) {
    std::vector<std::string> rows;
    for (const ResultRow& row : TrialsFixture::Rows(id)) {
      rows.push_back(absl::StrCat(row.attempt, ":", row.training_iteration, " ", row.metrics));
    }
    return rows;
  }
  void EndJob(const std::string& job, int code) {
    On([&] { jobs_.End(job, code); });
    Look(absl::ZeroDuration());
  }
};

TEST_F(OutputTrialsTest, LinesAreReportsAndTheLastOneCountsBeforeTheEnd) {
  const std::string id = Run(Request("values"));
  EXPECT_EQ(jobs_.jobs["j-1"].spec.report_channel, nullptr);
  Print("loading\nepoch=1 loss=0.5\n");
  Look();
  EXPECT_THAT(Rows(id), ElementsAre(R"(1:1 {"epoch":1,"loss":0.5})"));
  Print("epoch=2 loss=0.25");
  EndJob("j-1", 0);
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_THAT(Rows(id), SizeIs(2));
  EXPECT_THAT(runtime::ReadFile(directory_ + "/runs/first/progress.csv", 1 << 20).value_or(""),
              HasSubstr("2,0.25,"));
}

TEST_F(OutputTrialsTest, AKilledTrainerLosesAndDoublesNothing) {
  const std::string id = Run(Request("json"));
  Print("{\"a\":1}\n{\"a\":2}\n{\"a\"");
  Look();
  Kill();
  Print(":3}\n{\"a\":4}\n");
  Start();
  Look();
  Kill();
  Print("{\"a\":5}\n");
  Start();
  EndJob("j-1", 0);
  EXPECT_THAT(Rows(id), ElementsAre(R"(1:1 {"a":1})", R"(1:2 {"a":2})", R"(1:3 {"a":3})",
                                    R"(1:4 {"a":4})", R"(1:5 {"a":5})"));
  EXPECT_EQ(Get(id).state, TrialState::Done);
}

TEST_F(OutputTrialsTest, ANewAttemptBeginsBehindTheOutputOfTheOneBefore) {
  msg::RunTrialRequestT request = Request("tag:M");
  request.max_restarts = 1;
  const std::string id = Run(request);
  Print("M a=1\nM a=2");
  EndJob("j-1", 1);
  ASSERT_EQ(Get(id).job, "j-2");
  // The same holds for a trainer that knows the new attempt only from the store.
  Restart();
  Look();
  Print("M a=3\n");
  EndJob("j-2", 0);
  EXPECT_THAT(Rows(id), ElementsAre(R"(1:1 {"a":1})", R"(1:2 {"a":2})", R"(2:1 {"a":3})"));
}

// Like a program that prints its loss often and its accuracy seldom.
TEST_F(OutputTrialsTest, LinesWithoutItsCriterionAreReports) {
  msg::RunTrialRequestT request = Request("values");
  request.options->stop = R"({"acc":0.9})";
  const std::string id = Run(request);
  Print("loss=0.1\nacc=0.5\n");
  Look();
  EXPECT_THAT(Rows(id), ElementsAre(R"(1:1 {"loss":0.1})", R"(1:2 {"acc":0.5})"));
}

TEST_F(OutputTrialsTest, ACriterionEndsItBySignal) {
  msg::RunTrialRequestT request = Request("values");
  request.options->stop = R"({"acc":0.9})";
  request.options->required_metrics = {"acc"};
  const std::string id = Run(request);
  // Lines without the required metric are not meant as reports.
  Print("lr=0.1\nacc=0.5\n");
  Look();
  EXPECT_THAT(Rows(id), ElementsAre(R"(1:1 {"acc":0.5})"));
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty());
  Print("acc=0.95\n");
  Look();
  EXPECT_THAT(jobs_.jobs["j-1"].stops, SizeIs(1));
  EndJob("j-1", 143);
  EXPECT_EQ(Get(id).state, TrialState::Done);
  EXPECT_THAT(Get(id).reason, HasSubstr("acc"));
}

TEST_F(OutputTrialsTest, AStopIsASignalAtOnce) {
  const std::string id = Run(Request("values"));
  Print("a=1\n");
  Look();
  On([&] { EXPECT_TRUE(trials_->Stop(id, absl::ZeroDuration(), "").ok()); });
  EXPECT_THAT(jobs_.jobs["j-1"].stops, SizeIs(1));
  EndJob("j-1", 143);
  EXPECT_EQ(Get(id).state, TrialState::Stopped);
}

TEST_F(OutputTrialsTest, AnyOutputIsASignOfLife) {
  msg::RunTrialRequestT request = Request("json");
  request.options->heartbeat_ms = 1000;
  const std::string id = Run(request);
  for (int i = 0; i < 20; ++i) {
    if (i % 8 == 0) Print("still here\n");
    Look();
  }
  EXPECT_THAT(jobs_.jobs["j-1"].stops, IsEmpty());
  for (int i = 0; i < 15; ++i) Look();
  EXPECT_THAT(jobs_.jobs["j-1"].stops, SizeIs(1));
}

TEST_F(OutputTrialsTest, ItCannotBeTold) {
  const std::string id = Run(Request("json"));
  On([&] {
    const auto told = trials_->Tell(id, "1", "r");
    EXPECT_EQ(told.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(told.status().message()), HasSubstr("reports by its output"));
  });
}

TEST_F(OutputTrialsTest, WhatIsNoFormatIsRefused) {
  const absl::Status status = TryRun(Request("xml")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("is not auto, json, values, tag:WORD, keras"));
  msg::RunTrialRequestT tasks = Request("json");
  tasks.options->tasks.push_back(std::make_unique<msg::TrialTasksT>());
  tasks.options->tasks.back()->type = "worker";
  tasks.options->tasks.back()->count = 2;
  EXPECT_THAT(std::string(TryRun(tasks).status().message()), HasSubstr("one task"));
}

}  // namespace
}  // namespace trainer
