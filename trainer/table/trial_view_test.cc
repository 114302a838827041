#include "trainer/table/trial_view.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/testing/loop_thread.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;

class TrialViewTest : public testing::Test {
 protected:
  TrialViewTest() : loop_(&clock_) {
    char name[] = "/tmp/tv-XXXXXX";
    directory_ = mkdtemp(name);
    store_ = TrialStore::Open(directory_ + "/trainer.db").value();
    table_ = std::make_unique<TrialTable>(
        TrialTable::Options{store_.get(),
                            [this](const TrialRecord& record) {
                              return TrialReports::Load(record, {.store = store_.get()});
                            },
                            [] {}});
    loop_.Call([this] {
      room_waits_ = std::make_unique<RoomWaits>(loop_.loop(), [](const auto&) {});
      holds_ = std::make_unique<StartHolds>(
          StartHolds::Options{.loop = loop_.loop(), .clock = &clock_, .again = [] {}});
    });
    view_ = std::make_unique<TrialView>(
        TrialView::Options{table_.get(), room_waits_.get(), holds_.get(),
                           [] { return std::size_t{2}; }, [] { return std::size_t{2}; }});
  }
  ~TrialViewTest() override {
    loop_.Call([this] {
      room_waits_.reset();
      holds_.reset();
    });
    loop_.Stop();
    table_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  const Trial& Add(const std::string& id, int priority = 0,
                   TrialState state = TrialState::Pending) {
    TrialRecord record;
    record.run = {id, "experiment", "host", 5, "events"};
    record.request_id = "request-" + id;
    record.spec.run_directory = directory_ + "/" + id;
    record.spec.options.priority = priority;
    record.nonce = "nonce-" + id;
    record.job_request_id = "job-" + id;
    record.state = state;
    record.number = store_->Insert(record).value();
    return **table_->Add(std::move(record));
  }
  std::vector<std::string> Reasons() const {
    std::vector<std::string> reasons;
    for (const msg::TrialT& trial : view_->List(false, 0)) reasons.push_back(trial.reason);
    return reasons;
  }

  runtime::FakeClock clock_;
  LoopThread loop_;
  std::string directory_;
  std::unique_ptr<TrialStore> store_;
  std::unique_ptr<TrialTable> table_;
  std::unique_ptr<RoomWaits> room_waits_;
  std::unique_ptr<StartHolds> holds_;
  std::unique_ptr<TrialView> view_;
};

TEST_F(TrialViewTest, SaysHowManyStartBeforeEach) {
  const Trial& low = Add("t-1");
  Add("t-2", 5);
  Add("t-3", 5);
  Add("t-4", 9, TrialState::Paused);
  EXPECT_THAT(Reasons(), ElementsAre("waits for a slot (2 of 2 in use), 2 before it",
                                     "waits for a slot (2 of 2 in use)",
                                     "waits for a slot (2 of 2 in use), 1 before it", ""));
  EXPECT_EQ(view_->Shown(low).reason, Reasons()[0]) << "alone as in the list";
  EXPECT_EQ(view_->Whole(low).reason, "");
}

TEST_F(TrialViewTest, ThatItWaitsForRoomGoesOverAnyOtherReason) {
  const Trial& waits = Add("t-1");
  const Trial& rests = Add("t-2", 0, TrialState::Paused);
  loop_.Call([&] {
    room_waits_->Add({waits.record.number, 1}, "no room");
    room_waits_->Add({rests.record.number, 1}, "no room");
  });
  EXPECT_EQ(view_->Shown(waits).reason, "no room");
  EXPECT_EQ(view_->Brief(waits).reason, "no room");
  EXPECT_EQ(view_->Shown(rests).reason, "") << "a late report of it";
}

TEST_F(TrialViewTest, ListsTheOldestFirstAndTheEndedOnesIfAskedTo) {
  Add("t-1", 0, TrialState::Done);
  Add("t-2");
  const auto ids = [&](bool live_only, std::size_t newest_ended) {
    std::vector<std::string> found;
    for (const msg::TrialT& trial : view_->List(live_only, newest_ended)) {
      found.push_back(trial.id);
    }
    return found;
  };
  EXPECT_THAT(ids(false, 0), ElementsAre("t-1", "t-2"));
  EXPECT_THAT(ids(false, 1), ElementsAre("t-1", "t-2"));
  EXPECT_THAT(ids(true, 0), ElementsAre("t-2"));
}

}  // namespace
}  // namespace trainer
