#include "bus/call/call_retry.h"

#include "gtest/gtest.h"

namespace bus {
namespace {

constexpr absl::Duration kQuick = absl::Milliseconds(1);

TEST(CallRetryTest, WhatSaysSomethingOfTheJobIsTheAnswer) {
  for (const absl::Status& error :
       {absl::NotFoundError(""), absl::InvalidArgumentError(""), absl::FailedPreconditionError(""),
        absl::AlreadyExistsError(""), absl::PermissionDeniedError(""),
        absl::UnimplementedError("")}) {
    EXPECT_FALSE(CallRetry().After(error, kQuick).has_value()) << error;
  }
}

TEST(CallRetryTest, WhatSaysSomethingOfTheLauncherPasses) {
  for (const absl::Status& error :
       {absl::UnavailableError(""), absl::DeadlineExceededError(""), absl::CancelledError(""),
        absl::AbortedError(""), absl::ResourceExhaustedError("")}) {
    CallRetry retry;
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(retry.After(error, kQuick).has_value()) << error;
  }
}

TEST(CallRetryTest, PausesGrowUpToTheLongestAndBeginAnewAfterALongTry) {
  CallRetry retry;
  for (const int ms : {200, 400, 800, 1600, 3200, 5000, 5000}) {
    EXPECT_EQ(retry.After(absl::UnavailableError(""), kQuick), absl::Milliseconds(ms));
  }
  EXPECT_EQ(retry.After(absl::UnavailableError(""), absl::Seconds(30)), CallRetry::kFirstPause);
}

TEST(CallRetryTest, ADefectStandsAfterManyQuickTriesInARow) {
  CallRetry retry;
  absl::Duration waited;
  for (int i = 0; i < CallRetry::kMaxDefects; ++i) {
    const auto pause = retry.After(absl::InternalError("was not answered"), kQuick);
    ASSERT_TRUE(pause.has_value()) << i;
    waited += *pause;
  }
  EXPECT_GT(waited, absl::Minutes(1));
  EXPECT_FALSE(retry.After(absl::InternalError("was not answered"), kQuick).has_value());
}

TEST(CallRetryTest, ALauncherThatWasRestartedOftenIsNoDefect) {
  CallRetry hours, between;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(hours.After(absl::InternalError(""), absl::Hours(1)).has_value());
    EXPECT_TRUE(between.After(absl::InternalError(""), kQuick).has_value());
    EXPECT_TRUE(between.After(absl::UnavailableError(""), kQuick).has_value());
  }
}

TEST(CallRetryTest, OnlyARefusalLeavesNoDoubt) {
  CallRetry retry;
  (void)retry.After(absl::ResourceExhaustedError("full"), kQuick);
  EXPECT_FALSE(retry.in_doubt());
  (void)retry.After(absl::CancelledError(""), kQuick);
  (void)retry.After(absl::ResourceExhaustedError("full"), kQuick);
  EXPECT_TRUE(retry.in_doubt());
}

TEST(CallRetryTest, TheSameErrorAgainIsNoNews) {
  CallRetry retry;
  const auto is_news = [&](const absl::Status& error, absl::Duration took = kQuick) {
    (void)retry.After(error, took);
    return retry.is_news();
  };
  EXPECT_TRUE(is_news(absl::UnavailableError("")));
  EXPECT_FALSE(is_news(absl::UnavailableError("")));
  EXPECT_TRUE(is_news(absl::InternalError("")));
  EXPECT_FALSE(is_news(absl::InternalError("")));
  EXPECT_TRUE(is_news(absl::InternalError(""), absl::Hours(1)));
}

}  // namespace
}  // namespace bus
