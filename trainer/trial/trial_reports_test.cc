#include "trainer/trial/trial_reports.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

constexpr char kReport[] = R"({"t":"report","m":{"loss":1},"seq":1})";
constexpr char kOk[] = R"({"t":"ok","seq":1,"events":[]})";

class TrialReportsTest : public testing::Test {
 protected:
  TrialReportsTest() {
    char name[] = "/tmp/rp-XXXXXX";
    directory_ = mkdtemp(name);
    store_ = TrialStore::Open(directory_ + "/trainer.db").value();
    trial_.run = {"t-1", "experiment", "host", 5, "events"};
    trial_.request_id = "request";
    trial_.spec.name = "first";
    trial_.spec.run_directory = directory_ + "/first";
    trial_.spec.config = "{}";
    trial_.state = msg::TrialState::Running;
    std::filesystem::create_directory(trial_.spec.run_directory);
    trial_.number = store_->Insert(trial_).value();
    Load();
  }
  ~TrialReportsTest() override {
    reports_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Loads the reports as another trainer does.
  void Load() { reports_ = TrialReports::Load(trial_, {.store = store_.get()}).value(); }
  absl::StatusOr<std::string> Take(std::int64_t number, const std::string& text,
                                   StoreBatch& batch) {
    return reports_->Take({{trial_.number, trial_.attempt}, number, text, false}, trial_,
                          {absl::FromUnixSeconds(1000 + number), absl::Seconds(number)}, batch);
  }
  // Takes a line and stores it. Returns the answer, or "ERR " and the code.
  std::string Say(std::int64_t number, const std::string& text) {
    StoreBatch batch;
    const auto answer = Take(number, text, batch);
    if (!answer.ok()) return "ERR " + absl::StatusCodeToString(answer.status().code());
    EXPECT_TRUE(store_->Write(batch).ok());
    reports_->Committed();
    return *answer;
  }
  const TrialReports::Progress& progress() const { return reports_->progress(); }

  std::string directory_;
  std::unique_ptr<TrialStore> store_;
  TrialRecord trial_;
  std::unique_ptr<TrialReports> reports_;
};

TEST_F(TrialReportsTest, ALineGetsItsAnswerAgainAndCountsOnce) {
  EXPECT_EQ(Say(1, kReport), kOk);
  EXPECT_EQ(Say(1, kReport), kOk);
  EXPECT_EQ(progress().last_row.row, 1);
  Load();
  EXPECT_EQ(progress().last_line, 1);
  EXPECT_EQ(Say(1, kReport), kOk);
  EXPECT_EQ(Say(2, kReport), kOk);
  EXPECT_EQ(progress().last_row.row, 2);
  EXPECT_EQ(progress().training_iteration, 2);
}

TEST_F(TrialReportsTest, BehindAMissingLineNothingIsTaken) {
  EXPECT_EQ(Say(2, kReport), "ERR FAILED_PRECONDITION");
  EXPECT_EQ(progress().last_line, 0);
}

TEST_F(TrialReportsTest, WhatIsAbandonedWasNeverTaken) {
  StoreBatch lost;
  EXPECT_TRUE(Take(1, kReport, lost).ok());
  reports_->Abandon();
  EXPECT_EQ(progress().last_line, 0);
  EXPECT_FALSE(reports_->has_fresh());
  EXPECT_EQ(Say(1, kReport), kOk);
  EXPECT_EQ(progress().last_row.row, 1);
}

TEST_F(TrialReportsTest, RowsAreFreshUntilTheyAreTold) {
  Say(1, kReport);
  Say(2, kReport);
  ASSERT_TRUE(reports_->has_fresh());
  EXPECT_TRUE(reports_->WriteFiles().ok());
  EXPECT_EQ(reports_->TakeFresh().size(), 2u);
  EXPECT_FALSE(reports_->has_fresh());
  EXPECT_THAT(runtime::ReadFile(directory_ + "/first/result.json", 1 << 20).value_or(""),
              HasSubstr("loss"));
}

TEST_F(TrialReportsTest, FilesThatWereLostAreMadeAgainFromTheStore) {
  Say(1, kReport);
  EXPECT_TRUE(reports_->WriteFiles().ok());
  (void)reports_->TakeFresh();
  reports_->CloseFiles();
  std::filesystem::remove_all(directory_ + "/first");
  Load();
  EXPECT_TRUE(reports_->RepairFiles().ok());
  EXPECT_THAT(runtime::ReadFile(directory_ + "/first/result.json", 1 << 20).value_or(""),
              HasSubstr("loss"));
}

TEST_F(TrialReportsTest, KnowsThatTheProgramIsDoneOrHasFailed) {
  Say(1, R"({"t":"report","m":{"loss":1},"done":true})");
  EXPECT_TRUE(progress().done);
  EXPECT_EQ(progress().failure, "");
  Say(2, R"({"t":"fail","error":"ValueError: bad"})");
  EXPECT_EQ(progress().failure, "ValueError: bad");
}

TEST_F(TrialReportsTest, ANewAttemptBeginsItsLinesAnew) {
  Say(1, kReport);
  ++trial_.attempt;
  reports_->BeginAttempt();
  EXPECT_EQ(progress().last_line, 0);
  EXPECT_EQ(progress().training_iteration, 0);
  EXPECT_EQ(Say(1, kReport), kOk);
  EXPECT_EQ(progress().last_row.row, 2) << "rows are counted over all attempts";
}

TEST_F(TrialReportsTest, AChangedConfigurationIsTakenOnce) {
  Say(1, R"({"t":"config","c":{"lr":0.5}})");
  const auto config = reports_->TakeConfiguration();
  ASSERT_TRUE(config.has_value());
  EXPECT_THAT(*config, HasSubstr("0.5"));
  EXPECT_FALSE(reports_->TakeConfiguration().has_value());
}

}  // namespace
}  // namespace trainer
