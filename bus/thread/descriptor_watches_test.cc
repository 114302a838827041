#include "bus/thread/descriptor_watches.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "gtest/gtest.h"

namespace bus {
namespace {

class DescriptorWatchesTest : public ::testing::Test {
 protected:
  DescriptorWatchesTest() : watches_(*DescriptorWatches::Create()) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    near_ = runtime::UniqueFd(ends[0]);
    far_ = runtime::UniqueFd(ends[1]);
  }
  void Say() { ASSERT_EQ(write(far_.get(), "x", 1), 1); }

  std::unique_ptr<DescriptorWatches> watches_;
  runtime::UniqueFd near_, far_;
  int readable_ = 0, writable_ = 0;
  DescriptorWatches::Id Watch() {
    return watches_->Watch(near_.get(), [this](bool readable, bool writable) {
      readable_ += readable ? 1 : 0;
      writable_ += writable ? 1 : 0;
    });
  }
};

TEST_F(DescriptorWatchesTest, TellsWhatWasAskedForAndNothingElse) {
  const auto watch = Watch();
  Say();
  watches_->RunReady();
  EXPECT_EQ(readable_ + writable_, 0);
  watches_->SetInterest(watch, true, false);
  watches_->RunReady();
  watches_->RunReady();
  EXPECT_EQ(readable_, 2);
  EXPECT_EQ(writable_, 0);
  watches_->SetInterest(watch, false, true);
  watches_->RunReady();
  EXPECT_EQ(readable_, 2);
  EXPECT_EQ(writable_, 1);
  watches_->Unwatch(watch);
  watches_->RunReady();
  EXPECT_EQ(readable_ + writable_, 3);
}

TEST_F(DescriptorWatchesTest, AHangUpIsToldToThoseWhoAskedAlone) {
  const auto watch = Watch();
  far_.reset();
  watches_->RunReady();
  EXPECT_EQ(readable_ + writable_, 0);
  watches_->SetInterest(watch, true, true);
  watches_->RunReady();
  EXPECT_EQ(readable_, 1);
  EXPECT_EQ(writable_, 1);
  watches_->SetInterest(watch, false, false);
  watches_->RunReady();
  EXPECT_EQ(readable_, 1);
  watches_->Unwatch(watch);
}

TEST_F(DescriptorWatchesTest, ACallbackMayEndItsOwnWatchAndOthers) {
  DescriptorWatches::Id one = 0, other = 0;
  int calls = 0;
  const auto end_both = [&](bool, bool) {
    ++calls;
    watches_->Unwatch(one);
    watches_->Unwatch(other);
  };
  one = watches_->Watch(near_.get(), end_both);
  other = watches_->Watch(far_.get(), end_both);
  watches_->SetInterest(one, false, true);
  watches_->SetInterest(other, false, true);
  watches_->RunReady();
  watches_->RunReady();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace bus
