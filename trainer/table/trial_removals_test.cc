#include "trainer/table/trial_removals.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/store/trial_record.h"
#include "trainer/testing/table_fixture.h"
#include "trainer/trial/trial.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TrialRemovalsTest : public TableFixture {
 protected:
  absl::StatusOr<msg::TrialT> Remove(const std::string& name, const std::string& request_id) {
    absl::StatusOr<msg::TrialT> removed;
    On([&] { removed = removals_->Remove(name, request_id); });
    return removed;
  }
};

TEST_F(TrialRemovalsTest, ATrialGoesWithItsDirectory) {
  const Trial& trial = Add("t-1", TrialState::Done);
  const std::int64_t number = trial.record.number;
  const auto removed = Remove("name-t-1", "r-1");
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->id, "t-1");
  EXPECT_THAT(dropped_, ElementsAre(number));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/t-1"));
  EXPECT_TRUE(std::filesystem::exists(removed->log_directory));
  const auto again = Remove("name-t-1", "r-1");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->log_directory, removed->log_directory);
  EXPECT_EQ(dropped_.size(), 1u);
  EXPECT_TRUE(absl::IsNotFound(Remove("name-t-1", "r-2").status()));
}

TEST_F(TrialRemovalsTest, ATrialThatLivesStays) {
  Add("t-1", TrialState::Running);
  const auto removed = Remove("t-1", "r-1");
  EXPECT_TRUE(absl::IsFailedPrecondition(removed.status()));
  EXPECT_THAT(removed.status().message(), HasSubstr("yard stop t-1"));
}

TEST_F(TrialRemovalsTest, ATrialFromWhichAnotherIsToStartStays) {
  Add("t-1", TrialState::Done);
  TrialRecord next = Record("t-2");
  next.spec.options.from = "t-1";
  Add(next);
  const auto removed = Remove("t-1", "r-1");
  EXPECT_TRUE(absl::IsFailedPrecondition(removed.status()));
  EXPECT_THAT(removed.status().message(), HasSubstr("t-2 waits to start from it"));
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/t-1"));
}

TEST_F(TrialRemovalsTest, AnEarlierTrainersRemovalIsFinished) {
  const Trial& trial = Add("t-1", TrialState::Done);
  On([&] {
    const TrialRecord& record = trial.record;
    ASSERT_TRUE(store_
                    ->Remove({record.number, record.id(), record.spec.name, "r-1",
                              record.spec.run_directory})
                    .ok());
    table_->Remove(record.number);
    ASSERT_TRUE(removals_->FinishEarlier().ok());
  });
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/t-1"));
  EXPECT_TRUE(store_->UnfinishedRemovals()->empty());
}

TEST_F(TrialRemovalsTest, ADirectoryThatIsAnotherTrialsByNowStays) {
  const Trial& trial = Add("t-1", TrialState::Done);
  On([&] {
    ASSERT_TRUE(store_
                    ->Remove({trial.record.number, "t-0", "name-t-0", "r-1",
                              trial.record.spec.run_directory})
                    .ok());
    ASSERT_TRUE(removals_->FinishEarlier().ok());
  });
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/t-1"));
  EXPECT_TRUE(store_->UnfinishedRemovals()->empty());
}

TEST_F(TrialRemovalsTest, TheOldestAreForgottenButNotTheirDirectories) {
  std::vector<std::int64_t> numbers;
  for (const char* const id : {"t-1", "t-2", "t-3"}) {
    const Trial& trial = Add(id, TrialState::Done);
    numbers.push_back(trial.record.number);
    On([&] { table_->PutAside(trial.record.number, view_->Whole(trial)); });
  }
  TrialRecord next = Record("t-4");
  next.spec.options.from = "t-1";
  Add(next);
  On([this] { EXPECT_TRUE(removals_->ForgetOldest(2).ok()); });
  EXPECT_THAT(dropped_, ElementsAre(numbers[1])) << "another trial is to start from t-1";
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/t-2"));
  EXPECT_TRUE(absl::IsNotFound(store_->LoadTrial(numbers[1]).status()));
}

}  // namespace
}  // namespace trainer
