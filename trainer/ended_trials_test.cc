#include "trainer/ended_trials.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

EndedTrial Trial(std::int64_t number) {
  EndedTrial trial;
  trial.number = number;
  trial.id = absl::StrCat("t-", number);
  trial.request_id = absl::StrCat("a request id that is longer than most ", number);
  trial.name = absl::StrCat("name-", number);
  return trial;
}

msg::TrialT Message(const std::string& metrics) {
  msg::TrialT message;
  message.id = "t-1";
  message.state = msg::TrialState::Failed;
  message.argv = {"python3", "train.py"};
  message.last_metrics = metrics;
  return message;
}

TEST(EndedTrialsTest, FindsThemByAllTheirNamesInTheirOrder) {
  EndedTrials ended;
  for (const std::int64_t number : {7, 3, 5}) ended.Add(Trial(number), Message("{}"));
  EXPECT_EQ(ended.size(), 3u);
  EXPECT_EQ(ended.all().begin()->first, 3);
  for (const std::int64_t number : {3, 5, 7}) {
    const EndedTrial* const trial = ended.ByNumber(number);
    ASSERT_NE(trial, nullptr);
    EXPECT_EQ(ended.ById(trial->id), trial);
    EXPECT_EQ(ended.ByRequest(trial->request_id), trial);
  }
  ended.Remove(5);
  ended.Remove(6);
  EXPECT_EQ(ended.ByNumber(5), nullptr);
  EXPECT_EQ(ended.ById("t-5"), nullptr);
  EXPECT_EQ(ended.ByRequest(Trial(5).request_id), nullptr);
  EXPECT_EQ(ended.ById("t-7")->name, "name-7");
}

TEST(EndedTrialsTest, ShowsThemAsTheyWere) {
  EndedTrials ended;
  ended.Add(Trial(1), Message("{\"loss\":0.5}"));
  const auto message = EndedTrials::MessageOf(*ended.ByNumber(1));
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->id, "t-1");
  EXPECT_EQ(message->state, msg::TrialState::Failed);
  EXPECT_EQ(message->argv, Message("").argv);
  EXPECT_EQ(message->last_metrics, "{\"loss\":0.5}");
}

TEST(EndedTrialsTest, KeepsNoLargeMessage) {
  EndedTrials ended;
  ended.Add(Trial(1), Message(std::string(EndedTrials::kMaxMessage, 'x')));
  EXPECT_FALSE(EndedTrials::MessageOf(*ended.ByNumber(1)).has_value());
  EXPECT_EQ(ended.ByNumber(1)->message.capacity(), std::string().capacity());
}

}  // namespace
}  // namespace trainer
