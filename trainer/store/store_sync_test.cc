#include "trainer/store/store_sync.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/testing/loop_thread.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoreSyncTest : public ::testing::Test {
 protected:
  ~StoreSyncTest() override {
    On([&] { sync_.reset(); });
  }
  void Open(bool in_background) {
    StoreSync::Options options;
    options.loop = loop_.loop();
    options.clock = &clock_;
    options.path = "/state/trainer.db";
    options.sync = [this](const std::string& path) { synced_.push_back(path); };
    if (in_background) {
      options.background = [this](std::function<void()> work, std::function<void()> done) {
        work_.emplace_back(std::move(work), std::move(done));
      };
    }
    On([&] { sync_ = std::make_unique<StoreSync>(std::move(options)); });
  }
  void On(const std::function<void()>& body) {
    loop_.Call(body);
    loop_.Settle();
  }
  void Soon() {
    On([&] { sync_->Soon(); });
  }
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    loop_.Settle();
  }
  void FinishWork() {
    On([&] {
      for (const auto& [work, done] : std::exchange(work_, {})) {
        work();
        done();
      }
    });
  }

  runtime::FakeClock clock_;
  LoopThread loop_{&clock_};
  std::vector<std::string> synced_;
  std::vector<std::pair<std::function<void()>, std::function<void()>>> work_;
  std::unique_ptr<StoreSync> sync_;
};

TEST_F(StoreSyncTest, AllThatIsStoredWithinHalfASecondHasOneSync) {
  Open(false);
  Pass(absl::Minutes(1));
  EXPECT_THAT(synced_, IsEmpty()) << "nothing was stored";
  Soon();
  Pass(absl::Milliseconds(400));
  Soon();
  Pass(absl::Milliseconds(99));
  EXPECT_THAT(synced_, IsEmpty());
  Pass(absl::Milliseconds(1));
  EXPECT_THAT(synced_, ElementsAre("/state/trainer.db")) << "it counts from the first";
  Pass(absl::Minutes(1));
  EXPECT_THAT(synced_, SizeIs(1));
}

TEST_F(StoreSyncTest, WhatIsStoredDuringASyncHasOneOfItsOwn) {
  Open(true);
  Soon();
  Pass(absl::Milliseconds(500));
  EXPECT_THAT(work_, SizeIs(1));
  Soon();
  Pass(absl::Milliseconds(300));
  EXPECT_THAT(work_, SizeIs(1)) << "one at a time";
  FinishWork();
  Pass(absl::Milliseconds(199));
  EXPECT_THAT(work_, IsEmpty());
  Pass(absl::Milliseconds(1));
  EXPECT_THAT(work_, SizeIs(1)) << "half a second after it was stored, not after the other sync";
  FinishWork();
  Pass(absl::Minutes(1));
  EXPECT_THAT(work_, IsEmpty());
  EXPECT_THAT(synced_, SizeIs(2));
}

TEST_F(StoreSyncTest, WhatHasWaitedForASlowSyncWaitsNoLonger) {
  Open(true);
  Soon();
  Pass(absl::Milliseconds(500));
  Soon();
  Pass(absl::Seconds(3));
  EXPECT_THAT(work_, SizeIs(1));
  FinishWork();
  Pass(absl::ZeroDuration());
  EXPECT_THAT(work_, SizeIs(1)) << "its half second is over";
  FinishWork();
  Soon();
  Pass(absl::Milliseconds(499));
  EXPECT_THAT(work_, IsEmpty()) << "the next one has all of its own";
  Pass(absl::Milliseconds(1));
  EXPECT_THAT(work_, SizeIs(1));
}

}  // namespace
}  // namespace trainer
