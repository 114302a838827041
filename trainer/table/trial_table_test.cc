#include "trainer/table/trial_table.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using msg::TrialState;

class TrialTableTest : public testing::Test {
 protected:
  TrialTableTest() {
    char name[] = "/tmp/tt-XXXXXX";
    directory_ = mkdtemp(name);
    store_ = TrialStore::Open(directory_ + "/trainer.db").value();
    table_ = std::make_unique<TrialTable>(
        TrialTable::Options{store_.get(),
                            [this](const TrialRecord& record) {
                              return TrialReports::Load(record, {.store = store_.get()});
                            },
                            [this] { ++recalled_; }});
  }
  ~TrialTableTest() override {
    table_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Inserts a trial into the store.
  TrialRecord Stored(const std::string& id, TrialState state, std::size_t argument_bytes = 4) {
    TrialRecord record;
    record.run = {id, "experiment", "host", 5, "events"};
    record.request_id = "request-" + id;
    record.spec.name = "name-" + id;
    record.spec.argv = {std::string(argument_bytes, 'x')};
    record.spec.environment = {"SECRET=1"};
    record.spec.run_directory = directory_ + "/" + id;
    record.nonce = "nonce-" + id;
    record.job_request_id = "job-" + id;
    record.state = state;
    record.started_us = 1;
    record.ended_us = HasEnded(state) ? 7 : 0;
    record.number = store_->Insert(record).value();
    return record;
  }
  std::int64_t AddLive(const std::string& id) {
    const auto added = table_->Add(Stored(id, TrialState::Pending));
    EXPECT_TRUE(added.ok()) << added.status();
    return (*added)->record.number;
  }
  std::int64_t AddEnded(const std::string& id, std::size_t argument_bytes = 4) {
    const TrialRecord record = Stored(id, TrialState::Failed, argument_bytes);
    EXPECT_TRUE(table_->AddEnded(record).ok());
    return record.number;
  }
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    table_->VisitNames(
        [&](std::string_view id, std::string_view, TrialState) { ids.emplace_back(id); });
    return ids;
  }

  std::string directory_;
  std::unique_ptr<TrialStore> store_;
  std::unique_ptr<TrialTable> table_;
  int recalled_ = 0;
};

TEST_F(TrialTableTest, FindsATrialByAllItIsKnownBy) {
  const std::int64_t live = AddLive("t-live");
  const std::int64_t ended = AddEnded("t-over");
  EXPECT_EQ(table_->count(), 2u);
  EXPECT_EQ(table_->WithRequest("request-t-live"), table_->AtHand(live));
  EXPECT_EQ(table_->AtHand("t-live"), table_->AtHand(live));
  EXPECT_EQ(table_->AtHand("t-over"), nullptr);
  EXPECT_EQ(table_->NumberOf("t-over").value(), ended);
  EXPECT_EQ(table_->IdOf("name-t-over").value(), "t-over");
  EXPECT_EQ(table_->IdOf("t-l").value(), "t-live");
  EXPECT_EQ(table_->HolderOf(directory_ + "/t-over")->id, "t-over");
  EXPECT_EQ(table_->HolderOf(directory_ + "/t-live")->state, TrialState::Pending);
  EXPECT_FALSE(table_->HolderOf(directory_).has_value());
  EXPECT_EQ(table_->NumberOf("t-none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(table_->ById("t-none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(table_->ByNumber(99).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(TrialTableTest, ShowsThoseAtHandFirstAndTheNewestFirst) {
  AddLive("t-1");
  AddEnded("t-2");
  AddLive("t-3");
  AddEnded("t-4");
  EXPECT_THAT(Ids(), testing::ElementsAre("t-3", "t-1", "t-4", "t-2"));
}

TEST_F(TrialTableTest, RecallsOneThatHasEndedUntilItIsPutAsideAgain) {
  const std::int64_t number = AddEnded("t-over");
  ASSERT_EQ(table_->AtHand(number), nullptr);
  Trial* const trial = table_->ById("t-over").value();
  EXPECT_EQ(recalled_, 1);
  EXPECT_EQ(trial->changed_us, 7);
  EXPECT_TRUE(trial->record.spec.environment.empty());
  EXPECT_EQ(table_->ended().size(), 0u);
  EXPECT_EQ(table_->ByNumber(number).value(), trial);
  EXPECT_EQ(recalled_, 1);
  msg::TrialT message;
  message.id = "t-over";
  table_->PutAside(number, message);
  EXPECT_EQ(table_->AtHand(number), nullptr);
  EXPECT_EQ(table_->WithRequest("request-t-over"), nullptr);
  EXPECT_NE(table_->ended().ByRequest("request-t-over"), nullptr);
  EXPECT_EQ(table_->count(), 1u);
}

TEST_F(TrialTableTest, KnowsThoseThatEndedLastWhereverTheyAre) {
  AddLive("t-live");
  const std::int64_t first = AddEnded("t-1");
  const std::int64_t second = AddEnded("t-2");
  const std::int64_t third = AddEnded("t-3");
  table_->ById("t-2").value()->changed_us = 8;  // The others ended earlier.
  EXPECT_THAT(table_->LastEnded(1), testing::ElementsAre(second));
  EXPECT_THAT(table_->LastEnded(2), testing::ElementsAre(second, third));
  EXPECT_THAT(table_->LastEnded(0), testing::ElementsAre(first, second, third));
}

TEST_F(TrialTableTest, OneThatCannotBeReadIsUnavailableAndStays) {
  const std::int64_t number = AddEnded("t-over");
  ASSERT_TRUE(store_->Forget({number}).ok());
  EXPECT_EQ(table_->ById("t-over").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(recalled_, 0);
  EXPECT_EQ(table_->NumberOf("t-over").value(), number);
}

TEST_F(TrialTableTest, ALargeMessageIsReadFromTheStore) {
  AddEnded("t-large", 2 * EndedTrials::kMaxMessage);
  const EndedTrial* const ended = table_->ended().ById("t-large");
  ASSERT_NE(ended, nullptr);
  ASSERT_FALSE(ended->Message().has_value());
  const auto message = table_->MessageOf(*ended);
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(message->argv.at(0).size(), 2 * EndedTrials::kMaxMessage);
}

TEST_F(TrialTableTest, RemovesATrialWhereverItIs) {
  table_->Remove(AddLive("t-live"));
  table_->Remove(AddEnded("t-over"));
  EXPECT_EQ(table_->count(), 0u);
  EXPECT_THAT(Ids(), testing::IsEmpty());
  EXPECT_EQ(table_->WithRequest("request-t-live"), nullptr);
}

}  // namespace
}  // namespace trainer
