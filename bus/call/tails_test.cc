#include "bus/call/tails.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kStart = absl::Seconds(100);

std::vector<std::string> Take(Tails& tails, absl::Duration now, std::size_t limit = 100) {
  std::vector<std::string> taken;
  for (const Tails::Tail& tail : tails.Take(now, limit)) {
    taken.push_back(absl::StrCat(tail.topic, tail.seq));
  }
  return taken;
}

TEST(TailsTest, ATopicIsToldOnceAfterASecondOfSilence) {
  Tails tails;
  EXPECT_EQ(tails.next(), absl::InfiniteDuration());
  tails.Note("t/a/", 1, std::nullopt, kStart);
  tails.Note("t/a/", 2, std::nullopt, kStart + absl::Milliseconds(600));
  EXPECT_THAT(Take(tails, kStart + absl::Seconds(1)), IsEmpty());
  EXPECT_EQ(tails.next(), kStart + absl::Milliseconds(1600));
  EXPECT_THAT(Take(tails, kStart + absl::Milliseconds(1600)), ElementsAre("t/a/2"));
  EXPECT_THAT(Take(tails, kStart + absl::Seconds(9)), IsEmpty());
  tails.Note("t/a/", 3, std::nullopt, kStart + absl::Seconds(10));
  EXPECT_THAT(Take(tails, kStart + absl::Seconds(11)), ElementsAre("t/a/3"));
}

TEST(TailsTest, ANewHubIsToldEverythingAgain) {
  Tails tails;
  tails.Note("t/a/", 1, std::nullopt, kStart);
  tails.Note("t/b/", 5, std::nullopt, kStart);
  EXPECT_EQ(Take(tails, kStart + absl::Seconds(1)).size(), 2u);
  tails.TellAll(kStart + absl::Seconds(2));
  EXPECT_THAT(Take(tails, kStart + absl::Seconds(3)), ElementsAre("t/a/1", "t/b/5"));
}

TEST(TailsTest, TakesNoMoreThanItMay) {
  Tails tails;
  for (int i = 0; i < 5; ++i) tails.Note(absl::StrCat("t/", i, "/"), 1, std::nullopt, kStart);
  EXPECT_THAT(Take(tails, kStart + absl::Seconds(1), 2), ElementsAre("t/0/1", "t/1/1"));
  EXPECT_EQ(Take(tails, kStart + absl::Seconds(1), 9).size(), 3u);
}

TEST(TailsTest, ForgetsTheLongestSilentOfTooMany) {
  Tails tails(2);
  tails.Note("t/a/", 1, std::nullopt, kStart);
  EXPECT_EQ(Take(tails, kStart + absl::Seconds(1)).size(), 1u);
  tails.Note("t/b/", 1, std::nullopt, kStart + absl::Seconds(2));
  tails.Note("t/c/", 1, std::nullopt, kStart + absl::Seconds(2));
  tails.TellAll(kStart + absl::Seconds(3));
  EXPECT_THAT(Take(tails, kStart + absl::Seconds(9)), ElementsAre("t/b/1", "t/c/1"));
}

}  // namespace
}  // namespace bus
