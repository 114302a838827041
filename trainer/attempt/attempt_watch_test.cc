#include "trainer/attempt/attempt_watch.h"

#include <optional>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using Verdict = AttemptWatch::Verdict;

TEST(AttemptWatchTest, LooksAgainWhenSomethingCanBeWrong) {
  constexpr absl::Duration kNone = absl::ZeroDuration(), kNever = absl::InfiniteDuration();
  const auto s = [](int seconds) { return absl::Seconds(seconds); };
  const struct {
    const char* claim;
    AttemptTimes times;
    Verdict verdict;
    absl::Duration look_after;
  } kCases[] = {
      {"nothing is asked of it", {std::nullopt, s(900), kNone, s(900)}, Verdict::kGoesOn, kNever},
      {"its budget", {s(60), s(45), kNone, s(900)}, Verdict::kGoesOn, s(15)},
      {"its budget is used up", {s(60), s(60), kNone, kNone}, Verdict::kBudgetIsUsedUp, {}},
      {"more than that", {s(60), s(61), kNone, kNone}, Verdict::kBudgetIsUsedUp, {}},
      {"its heartbeat", {std::nullopt, s(900), s(30), s(10)}, Verdict::kGoesOn, s(20)},
      {"silence", {std::nullopt, kNone, s(30), s(30)}, Verdict::kIsSilent, {}},
      {"the heartbeat is due first", {s(60), s(10), s(30), s(10)}, Verdict::kGoesOn, s(20)},
      {"the budget is due first", {s(60), s(55), s(30), s(10)}, Verdict::kGoesOn, s(5)},
      {"a budget that is used up is no failure",
       {s(60), s(60), s(30), s(30)},
       Verdict::kBudgetIsUsedUp,
       {}},
  };
  for (const auto& [claim, times, verdict, look_after] : kCases) {
    const AttemptWatch watch = LookAt(times);
    EXPECT_EQ(watch.verdict, verdict) << claim;
    if (verdict != Verdict::kGoesOn) continue;
    EXPECT_EQ(watch.look_after, look_after) << claim;
  }
}

}  // namespace
}  // namespace trainer
