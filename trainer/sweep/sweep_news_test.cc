#include "trainer/sweep/sweep_news.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/sweep/sweep_message.h"
#include "trainer/testing/loop_thread.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;

class SweepNewsTest : public testing::Test {
 protected:
  SweepNewsTest() : loop_(&clock_) {
    news_ = std::make_unique<SweepNews>(SweepNews::Options{
        .loop = loop_.loop(),
        .changes = [this](const std::string& id, std::int64_t after) { return Changes(id, after); },
        .on_event = [this](msg::SweepEventT event) { events_.push_back(std::move(event)); }});
  }
  ~SweepNewsTest() override {
    loop_.Stop();
    news_.reset();
  }

  std::optional<SweepNews::Changes> Changes(const std::string& id, std::int64_t after) {
    afters_.push_back(after);
    if (!is_at_hand_) return std::nullopt;
    SweepNews::Changes changes;
    changes.sweep.id = id;
    for (std::size_t i = 0; i < changed_trials_; ++i) {
      changes.trials.push_back(std::make_unique<msg::SweepTrialT>());
    }
    changes.events = events_of_sweep_;
    return changes;
  }
  void On(const std::function<void()>& body) {
    loop_.Call(body);
    loop_.Settle();
  }

  runtime::FakeClock clock_;
  LoopThread loop_;
  bool is_at_hand_ = true;
  std::size_t changed_trials_ = 0;
  std::int64_t events_of_sweep_ = 0;
  std::vector<std::int64_t> afters_;
  std::vector<msg::SweepEventT> events_;
  std::unique_ptr<SweepNews> news_;
};

TEST_F(SweepNewsTest, ManyChangesInOneTurnAreToldOnce) {
  int told = 0;
  On([&] {
    news_->Observe("s-1", [&told] { ++told; });
    for (int i = 0; i < 5; ++i) news_->TellLater("s-1");
  });
  EXPECT_EQ(told, 1);
  EXPECT_EQ(events_.size(), 1u);
  On([&] { news_->TellLater("s-1"); });
  EXPECT_EQ(told, 2);
}

TEST_F(SweepNewsTest, WhatIsToldNowIsNotToldLaterAgain) {
  int told = 0;
  On([&] {
    news_->Observe("s-1", [&told] { ++told; });
    news_->TellLater("s-1");
    news_->Tell("s-1");
  });
  EXPECT_EQ(told, 1);
}

TEST_F(SweepNewsTest, AsksForTheTrialsThatChangedSinceTheLastTime) {
  events_of_sweep_ = 4;
  On([&] { news_->Tell("s-1"); });
  events_of_sweep_ = 9;
  On([&] {
    news_->Tell("s-1");
    news_->Tell("s-2");
  });
  EXPECT_THAT(afters_, ElementsAre(0, 4, 0));
  On([&] {
    news_->Drop("s-1");
    news_->Tell("s-1");
  });
  EXPECT_EQ(afters_.back(), 0);
}

TEST_F(SweepNewsTest, ManyTrialsComeInSeveralMessages) {
  changed_trials_ = 2 * kSweepTrialsOfAMessage + 1;
  On([&] { news_->Tell("s-1"); });
  ASSERT_EQ(events_.size(), 3u);
  EXPECT_EQ(events_.front().trials.size(), kSweepTrialsOfAMessage);
  EXPECT_EQ(events_.back().trials.size(), 1u);
  EXPECT_EQ(events_.back().sweep->id, "s-1");
}

TEST_F(SweepNewsTest, OfASweepThatIsNotAtHandOnlyItsObserversHear) {
  is_at_hand_ = false;
  std::vector<std::string> told;
  On([&] {
    news_->Observe("s-1", [&told] { told.push_back("first"); });
    news_->Observe("s-2", [&told] { told.push_back("other"); });
    news_->Tell("s-1");
  });
  EXPECT_THAT(told, ElementsAre("first"));
  EXPECT_TRUE(events_.empty());
}

TEST_F(SweepNewsTest, OfARemovedSweepNothingIsTold) {
  int told = 0;
  On([&] {
    news_->Observe("s-1", [&told] { ++told; });
    news_->TellLater("s-1");
    news_->Drop("s-1");
  });
  EXPECT_EQ(told, 0);
}

TEST_F(SweepNewsTest, AnObserverMayForgetItselfWhileItIsTold) {
  int told = 0;
  std::uint64_t observer = 0;
  On([&] {
    observer = news_->Observe("s-1", [&] {
      ++told;
      news_->Forget(observer);
    });
    news_->Tell("s-1");
    news_->Tell("s-1");
  });
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace trainer
