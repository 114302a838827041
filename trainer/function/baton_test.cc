#include "trainer/function/baton.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/thread.h"

namespace trainer {
namespace {

TEST(BatonTest, IsTakenOnceHoweverOftenItWasPassed) {
  Baton baton;
  baton.Pass();
  baton.Pass();
  EXPECT_TRUE(baton.Take());
  EXPECT_FALSE(baton.Take(absl::ZeroDuration()));
  EXPECT_FALSE(baton.Take(absl::Milliseconds(1)));
}

TEST(BatonTest, GoesToAndFroManyTimes) {
  constexpr int kTimes = 500;
  Baton there, back;
  int shared = 0;
  runtime::Thread other("baton", [&] {
    for (int i = 0; i < kTimes; ++i) {
      there.Take();
      ++shared;
      back.Pass();
    }
  });
  for (int i = 1; i <= kTimes; ++i) {
    there.Pass();
    ASSERT_TRUE(back.Take(absl::Seconds(60)));
    ASSERT_EQ(shared, i);
  }
  EXPECT_TRUE(other.Join(absl::Seconds(60)));
}

}  // namespace
}  // namespace trainer
