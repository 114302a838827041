#include "trainer/table/trial_saves.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "trainer/store/trial_record.h"
#include "trainer/testing/table_fixture.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial.h"

namespace trainer {
namespace {

class TrialSavesTest : public TableFixture {
 protected:
  absl::Status Save(Keep how, Trial& trial, const std::string& reason) {
    absl::Status saved;
    On([&] {
      TrialRecord changed = trial.record;
      changed.reason = reason;
      saved = saves_->Save(how, trial, std::move(changed));
    });
    return saved;
  }
};

TEST_F(TrialSavesTest, ARecordStandsOnceItIsStored) {
  Trial& trial = Add("t-1");
  for (const auto& [how, reason] :
       {std::pair{Keep::kNow, "now"}, {Keep::kAtOnce, "at once"}, {Keep::kSomeTime, "some time"}}) {
    ASSERT_TRUE(Save(how, trial, reason).ok());
    EXPECT_EQ(trial.record.reason, reason);
    EXPECT_EQ(Stored(trial).reason, reason);
  }
  EXPECT_EQ(stored_, 3);
  EXPECT_TRUE(saves_->empty());
}

TEST_F(TrialSavesTest, ARecordThatMustBeStoredNowStaysAsItWasAfterAnError) {
  Trial& trial = Add("t-1");
  RefuseWrites("trials");
  EXPECT_FALSE(Save(Keep::kNow, trial, "now").ok());
  EXPECT_FALSE(Save(Keep::kAtOnce, trial, "at once").ok());
  EXPECT_EQ(trial.record.reason, "");
  EXPECT_TRUE(saves_->empty());
  EXPECT_EQ(store_errors_, 2);
  EXPECT_EQ(retries_, 0);
}

TEST_F(TrialSavesTest, WhatHasHappenedIsStoredOnceThatIsPossible) {
  Trial& first = Add("t-1");
  Trial& second = Add("t-2");
  RefuseWrites("trials");
  EXPECT_TRUE(Save(Keep::kSomeTime, first, "it has failed").ok());
  EXPECT_EQ(first.record.reason, "it has failed");
  EXPECT_TRUE(saves_->IsUnsaved(first.record.number));
  EXPECT_EQ(retries_, 1);
  On([&] { saves_->Retry(); });
  EXPECT_EQ(retries_, 2);
  AllowWrites();
  EXPECT_TRUE(Save(Keep::kSomeTime, second, "it, too").ok());
  EXPECT_TRUE(saves_->empty());
  EXPECT_EQ(Stored(first).reason, "it has failed") << "stored with the other one";
}

TEST_F(TrialSavesTest, AForgottenTrialIsNotStored) {
  Trial& trial = Add("t-1");
  On([&] {
    saves_->Mark(trial.record.number);
    saves_->Drop(trial.record.number);
    saves_->Retry();
  });
  EXPECT_EQ(stored_, 0);
}

}  // namespace
}  // namespace trainer
