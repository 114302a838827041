#include "launcher/node/attempt_news.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/node/words/node_words.h"
#include "launcher/run/attempt.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = NodeNews::Kind;

ShimState Running(std::uint64_t stdout_end = 0) {
  ShimState state;
  state.phase = ShimPhase::kRunning;
  state.pid = 7;
  state.stdout_end = stdout_end;
  return state;
}

AttemptEnd End(const std::string& how) {
  AttemptEnd end;
  end.state.phase = ShimPhase::kExited;
  end.how = how;
  return end;
}

std::vector<Kind> KindsOf(AttemptNews& news) {
  std::vector<Kind> kinds;
  for (const NodeNews& one : news.Take("a")) kinds.push_back(one.kind);
  return kinds;
}

TEST(AttemptNewsTest, SaysEachThingOnce) {
  AttemptNews news;
  EXPECT_THAT(KindsOf(news), IsEmpty());
  news.SetState(Running());
  news.SetBarrier({.number = 3});
  EXPECT_THAT(KindsOf(news), ElementsAre(Kind::kState, Kind::kBarrier));
  EXPECT_THAT(KindsOf(news), IsEmpty());
}

TEST(AttemptNewsTest, TellsGrowthOfOutputFromOtherChanges) {
  AttemptNews news;
  EXPECT_TRUE(news.SetState(Running()));
  EXPECT_FALSE(news.SetState(Running(100)));
  ShimState ready = Running(100);
  ready.ready = true;
  EXPECT_TRUE(news.SetState(ready));
}

TEST(AttemptNewsTest, SaysAllAgainToANewLauncher) {
  AttemptNews news;
  news.SetState(Running());
  news.SetBarrier({.number = 3});
  (void)news.Take("a");
  news.SayAll(/*has_probe=*/true);
  EXPECT_THAT(KindsOf(news), ElementsAre(Kind::kState, Kind::kBarrier, Kind::kProbe));
  news.ForgetBarrier(2);
  news.SayAll(/*has_probe=*/false);
  EXPECT_THAT(KindsOf(news), ElementsAre(Kind::kState, Kind::kBarrier));
  news.ForgetBarrier(3);
  news.SayAll(/*has_probe=*/false);
  EXPECT_THAT(KindsOf(news), ElementsAre(Kind::kState));
}

TEST(AttemptNewsTest, SaysALookThatSaysSomethingElse) {
  AttemptNews news;
  news.SetState(Running());
  (void)news.Take("a");
  EXPECT_FALSE(news.SetLook(""));
  EXPECT_TRUE(news.SetLook("refused"));
  EXPECT_FALSE(news.SetLook("refused"));
  const std::vector<NodeNews> said = news.Take("a");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].look, "refused");
  news.SetFailed("three looks have failed");
  EXPECT_THAT(KindsOf(news), ElementsAre(Kind::kProbe));
}

TEST(AttemptNewsTest, SaysNothingAfterTheEnd) {
  AttemptNews news;
  news.SetState(Running());
  news.SetBarrier({.number = 3});
  news.SetEnd(End("exit code 3"), /*waits=*/false);
  EXPECT_TRUE(news.has_ended());
  EXPECT_THAT(KindsOf(news), ElementsAre(Kind::kOver));
  news.SetState(Running(5));
  EXPECT_THAT(KindsOf(news), IsEmpty());
  news.SayAll(/*has_probe=*/true);
  EXPECT_THAT(KindsOf(news), ElementsAre(Kind::kOver));
}

TEST(AttemptNewsTest, AnEndWaitsForTheFiles) {
  AttemptNews news;
  EXPECT_FALSE(news.FinishEnd(""));
  news.SetEnd(End("exit code 0"), /*waits=*/true);
  EXPECT_TRUE(news.has_ended());
  news.SayAll(/*has_probe=*/false);
  EXPECT_THAT(KindsOf(news), IsEmpty());
  EXPECT_TRUE(news.FinishEnd("w stays on the node"));
  const std::vector<NodeNews> said = news.Take("a");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].how, "exit code 0; in $YARD_LOGDIR w stays on the node");
  EXPECT_FALSE(news.FinishEnd(""));
}

}  // namespace
}  // namespace launcher
