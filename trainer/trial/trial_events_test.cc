#include "trainer/trial/trial_events.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"

namespace trainer {
namespace {

class TrialEventsTest : public testing::Test {
 protected:
  TrialEventsTest() {
    char name[] = "/tmp/te-XXXXXX";
    directory_ = mkdtemp(name);
    store_ = TrialStore::Open(directory_ + "/trainer.db").value();
    TrialRecord record;
    record.run = {"t-1", "experiment", "host", 5, "events"};
    record.request_id = "request";
    trial_ = store_->Insert(record).value();
    Load();
  }
  ~TrialEventsTest() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Loads the events as another trainer does.
  void Load() { events_.emplace(*TrialEvents::Load(store_.get(), trial_)); }
  std::int64_t Tell(const std::string& event) {
    return events_->Tell(event, absl::StrCat("r-", ++requests_)).value();
  }
  // Returns the answer to a line, and stores it.
  std::string Answer(std::int64_t line) {
    StoreBatch batch;
    std::string answer = events_->TakeFor(1, line, batch);
    EXPECT_TRUE(store_->Write(batch).ok());
    events_->Committed();
    return answer;
  }

  std::string directory_;
  std::unique_ptr<TrialStore> store_;
  std::int64_t trial_ = 0;
  std::optional<TrialEvents> events_;
  int requests_ = 0;
};

TEST_F(TrialEventsTest, EachEventGoesIntoOneAnswerInOrder) {
  EXPECT_EQ(Answer(1), "");
  EXPECT_EQ(Tell("1"), 1);
  EXPECT_EQ(Tell(R"({ "lr" : 0.1 })"), 2);
  EXPECT_EQ(events_->waiting(), 2);
  EXPECT_EQ(Answer(2), R"(1,{"lr":0.1})");
  EXPECT_EQ(events_->waiting(), 0);
  EXPECT_EQ(Answer(3), "");
}

TEST_F(TrialEventsTest, WhatWasNotStoredIsToldAgain) {
  Tell("1");
  StoreBatch lost;
  EXPECT_EQ(events_->TakeFor(1, 1, lost), "1");
  events_->Abandon();
  EXPECT_EQ(Answer(1), "1");
}

TEST_F(TrialEventsTest, EventsOutliveTheTrainer) {
  Tell("1");
  Tell("2");
  Load();
  EXPECT_EQ(events_->waiting(), 2);
  EXPECT_EQ(Answer(1), "1,2");
  Load();
  EXPECT_EQ(events_->waiting(), 0);
  EXPECT_EQ(Tell("3"), 3);
}

TEST_F(TrialEventsTest, TheSameRequestIsTheSameEvent) {
  EXPECT_EQ(events_->Tell("1", "request").value(), 1);
  EXPECT_EQ(events_->Tell("1", "request").value(), 1);
  EXPECT_EQ(events_->waiting(), 1);
}

TEST_F(TrialEventsTest, LargeEventsWaitForTheNextAnswer) {
  const std::string large = "\"" + std::string(TrialEvents::kMaxEvent - 2, 'x') + "\"";
  for (int i = 0; i < 5; ++i) Tell(large);
  EXPECT_LE(Answer(1).size(), TrialEvents::kPerAnswer + 5);
  EXPECT_GT(events_->waiting(), 0);
  EXPECT_FALSE(Answer(2).empty());
  EXPECT_EQ(events_->waiting(), 0);
}

TEST_F(TrialEventsTest, WhatIsNoEventIsRefused) {
  for (const std::string& event :
       {std::string("{"), std::string("NaN"), std::string(R"({"a":[Infinity]})"),
        std::string(TrialEvents::kMaxEvent + 1, '1')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(events_->Tell(event, "request").status()));
  }
  for (std::int64_t i = 0; i < TrialEvents::kMaxWaiting; ++i) Tell("1");
  EXPECT_TRUE(absl::IsResourceExhausted(events_->Tell("1", "one more").status()));
}

}  // namespace
}  // namespace trainer
