#include "trainer/table/trial_files.h"

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "trainer/store/trial_record.h"
#include "trainer/testing/table_fixture.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::HasSubstr;

class TrialFilesTest : public TableFixture {
 protected:
  std::string FileOf(const std::string& id, const std::string& name) const {
    return runtime::ReadFile(directory_ + "/" + id + "/" + name, 1 << 20).value_or("");
  }
};

TEST_F(TrialFilesTest, AFailureIsInTheStoreAndInErrorTxt) {
  const Trial& trial = Add("t-1", TrialState::Running);
  On([&] {
    files_->RecordFailure(trial.record,
                          {.reason = "exit code 1", .error_lines = {"ValueError: bad"}});
  });
  EXPECT_THAT(FileOf("t-1", "error.txt"), HasSubstr("ValueError: bad"));
  EXPECT_EQ(store_->Failures(trial.record.number, 10)->size(), 1u);
}

TEST_F(TrialFilesTest, TheOutcomeIsWrittenOnceTheStoreHasIt) {
  const Trial& trial = Add("t-1", TrialState::Done);
  On([&] {
    saves_->Mark(trial.record.number);
    files_->WriteOutcome(trial.record);
  });
  EXPECT_EQ(FileOf("t-1", "outcome.json"), "");
  EXPECT_TRUE(files_->IsLate(trial.record.number));
  EXPECT_EQ(retries_, 1);
  On([&] {
    saves_->Retry();
    files_->FinishLate();
  });
  EXPECT_THAT(FileOf("t-1", "outcome.json"), HasSubstr("done"));
  EXPECT_FALSE(files_->IsLate(trial.record.number));
}

TEST_F(TrialFilesTest, AChangedConfigurationIsWrittenOnce) {
  Trial& trial = Add("t-1", TrialState::Running);
  trial.record.spec.config = R"({"lr":0.5})";
  On([&] { EXPECT_TRUE(files_->WriteChangedConfiguration(trial).ok()); });
  EXPECT_EQ(FileOf("t-1", "params.json"), "") << "nothing has changed";
  trial.config_behind = true;
  On([&] { EXPECT_TRUE(files_->WriteChangedConfiguration(trial).ok()); });
  EXPECT_THAT(FileOf("t-1", "params.json"), HasSubstr("0.5"));
  EXPECT_FALSE(trial.config_behind);
}

TEST_F(TrialFilesTest, FilesOfAnEndedTrialThatAreShortAreWrittenAgain) {
  Trial& trial = Add("t-1", TrialState::Running);
  Say(trial, 1, {R"({"t":"report","m":{"loss":1}})"});
  ASSERT_THAT(FileOf("t-1", "result.json"), HasSubstr("loss"));
  On([&] {
    trial.record.state = TrialState::Done;
    trial.record.ended_us = 7;
    EXPECT_TRUE(saves_->Save(Keep::kNow, trial, trial.record).ok());
    trial.reports->CloseFiles();
    table_->PutAside(trial.record.number, view_->Whole(trial));
  });
  std::filesystem::resize_file(directory_ + "/t-1/result.json", 0);
  On([&] {
    files_->AddUnchecked(1);
    files_->CheckEnded();
    files_->FinishLate();
  });
  EXPECT_THAT(FileOf("t-1", "result.json"), HasSubstr("loss"));
  EXPECT_THAT(FileOf("t-1", "outcome.json"), HasSubstr("done"));
}

}  // namespace
}  // namespace trainer
