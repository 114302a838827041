#include "trainer/table/trial_aging.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/table_fixture.h"
#include "trainer/trial/trial.h"

namespace trainer {
namespace {

using msg::TrialState;

class TrialAgingTest : public TableFixture {
 protected:
  TrialAgingTest() { Keep(100); }
  ~TrialAgingTest() override {
    loop_.Call([this] { aging_.reset(); });
  }

  void Keep(std::size_t trials) {
    loop_.Call([&] {
      aging_ = std::make_unique<TrialAging>(TrialAging::Options{
          loop_.loop(), table_.get(), view_.get(), news_.get(), files_.get(), saves_.get(),
          removals_.get(), trials, [this] { return live_; }, [this] { ++store_errors_; }});
    });
  }
  bool IsAtHand(const std::string& id) {
    bool is_at_hand = false;
    On([&] { is_at_hand = table_->AtHand(id) != nullptr; });
    return is_at_hand;
  }

  std::uint64_t live_ = 0;
  std::unique_ptr<TrialAging> aging_;
};

TEST_F(TrialAgingTest, AnEndedTrialIsPutAsideSoonAndALiveOneStays) {
  Add("t-1", TrialState::Running);
  Add("t-2", TrialState::Done);
  live_ = 1;
  On([this] { aging_->OnEnded(); });
  EXPECT_TRUE(IsAtHand("t-2"));
  Advance(TrialAging::kAtHand);
  EXPECT_FALSE(IsAtHand("t-2"));
  EXPECT_TRUE(IsAtHand("t-1"));
  EXPECT_EQ(table_->count(), 2u);
}

TEST_F(TrialAgingTest, WhereManyHaveEndedTheNextOneDoesNotWait) {
  for (std::uint64_t i = 0; i <= TrialAging::kMostAtHand; ++i) {
    Add(absl::StrCat("t-", i), TrialState::Done);
  }
  On([this] { aging_->OnEnded(); });
  Advance(absl::ZeroDuration());
  EXPECT_FALSE(IsAtHand("t-0"));
}

TEST_F(TrialAgingTest, ATrialThatIsNotStoredYetStaysAtHand) {
  const Trial& trial = Add("t-1", TrialState::Done);
  On([&] {
    saves_->Mark(trial.record.number);
    aging_->OnEnded();
  });
  Advance(TrialAging::kAtHand);
  EXPECT_TRUE(IsAtHand("t-1"));
  On([this] { saves_->Retry(); });
  Advance(TrialAging::kAtHand);
  EXPECT_FALSE(IsAtHand("t-1")) << "it was looked at again by itself";
}

TEST_F(TrialAgingTest, OfTooManyTheOldestAreForgotten) {
  Keep(2);
  for (const char* const id : {"t-1", "t-2", "t-3"}) Add(id, TrialState::Done);
  On([this] { aging_->OnEnded(); });
  Advance(TrialAging::kAtHand);
  EXPECT_EQ(table_->count(), 2u);
  EXPECT_EQ(table_->ended().ById("t-1"), nullptr);
}

TEST_F(TrialAgingTest, WhileARecordWaitsForTheStoreNoTrialIsForgotten) {
  Keep(0);
  const Trial& trial = Add("t-1", TrialState::Done);
  On([&] {
    saves_->Mark(trial.record.number);
    aging_->ForgetOldest();
  });
  EXPECT_EQ(table_->count(), 1u);
  On([this] {
    saves_->Retry();
    aging_->ForgetOldest();
  });
  EXPECT_EQ(table_->count(), 0u);
}

}  // namespace
}  // namespace trainer
