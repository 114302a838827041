#include "trainer/table/ended_trials.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/allocated_bytes.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string RequestOf(std::int64_t number) {
  return absl::StrCat("a request id that is longer than most ", number);
}

msg::TrialT Message(std::int64_t number, const std::string& metrics = "{}") {
  msg::TrialT message;
  message.id = absl::StrCat("t-", number);
  message.name = absl::StrCat("name-", number);
  message.state = msg::TrialState::Failed;
  message.argv = {"python3", "train.py"};
  message.log_directory = absl::StrCat("/runs/name-", number);
  message.group = "a group";
  message.reports = 7;
  message.last_metrics = metrics;
  return message;
}

void Add(EndedTrials& ended, std::int64_t number, const std::string& metrics = "{}") {
  ended.Add({number, 1'000 + number, RequestOf(number)}, Message(number, metrics));
}

TEST(EndedTrialsTest, FindsThemByAllTheirNamesInTheirOrder) {
  EndedTrials ended;
  for (const std::int64_t number : {7, 3, 5}) Add(ended, number);
  EXPECT_EQ(ended.size(), 3u);
  EXPECT_EQ(ended.all().begin()->first, 3);
  for (const std::int64_t number : {3, 5, 7}) {
    const EndedTrial* const trial = ended.ByNumber(number);
    ASSERT_NE(trial, nullptr);
    EXPECT_EQ(ended.ById(absl::StrCat("t-", number)), trial);
    EXPECT_EQ(ended.ByRequest(RequestOf(number)), trial);
  }
  ended.Remove(5);
  ended.Remove(6);
  EXPECT_EQ(ended.ByNumber(5), nullptr);
  EXPECT_EQ(ended.ById("t-5"), nullptr);
  EXPECT_EQ(ended.ByRequest(RequestOf(5)), nullptr);
  EXPECT_EQ(ended.ById("t-7")->name(), "name-7");
}

TEST(EndedTrialsTest, ThoseThatEndedLastComeFirst) {
  EndedTrials ended;
  EXPECT_THAT(ended.Latest(2), IsEmpty());
  for (const auto& [number, end_us] : {std::pair(1, 50), {2, 20}, {3, 40}, {4, 40}, {5, 10}}) {
    ended.Add({number, end_us, RequestOf(number)}, Message(number));
  }
  const auto numbers = [&ended](std::size_t count) {
    std::vector<std::int64_t> all;
    for (const EndedTrial* const trial : ended.Latest(count)) all.push_back(trial->number());
    return all;
  };
  EXPECT_THAT(numbers(0), IsEmpty());
  EXPECT_THAT(numbers(3), ElementsAre(1, 4, 3));
  EXPECT_THAT(numbers(9), ElementsAre(1, 4, 3, 2, 5));
  ended.Remove(4);
  ended.Remove(5);
  EXPECT_THAT(numbers(9), ElementsAre(1, 3, 2));
}

TEST(EndedTrialsTest, ShowsThemAsTheyWere) {
  EndedTrials ended;
  Add(ended, 1, "{\"loss\":0.5}");
  const EndedTrial& trial = *ended.ByNumber(1);
  EXPECT_EQ(trial.number(), 1);
  EXPECT_EQ(trial.id(), "t-1");
  EXPECT_EQ(trial.request_id(), RequestOf(1));
  EXPECT_EQ(trial.run_directory(), "/runs/name-1");
  EXPECT_EQ(trial.group(), "a group");
  EXPECT_EQ(trial.state(), msg::TrialState::Failed);
  EXPECT_EQ(trial.reports(), 7);
  EXPECT_EQ(trial.changed_us(), 1'001);
  const auto message = trial.Message();
  ASSERT_TRUE(message.has_value());
  const msg::TrialT expected = Message(1, "{\"loss\":0.5}");
  EXPECT_EQ(message->id, expected.id);
  EXPECT_EQ(message->name, expected.name);
  EXPECT_EQ(message->state, expected.state);
  EXPECT_EQ(message->argv, expected.argv);
  EXPECT_EQ(message->log_directory, expected.log_directory);
  EXPECT_EQ(message->group, expected.group);
  EXPECT_EQ(message->reports, expected.reports);
  EXPECT_EQ(message->last_metrics, expected.last_metrics);
}

TEST(EndedTrialsTest, KeepsNoLargeMessageButWhatItIsFoundBy) {
  EndedTrials ended;
  Add(ended, 1, std::string(EndedTrials::kMaxMessage, 'x'));
  EXPECT_FALSE(ended.ByNumber(1)->Message().has_value());
  EXPECT_EQ(ended.ByNumber(1)->reports(), 7);
  EXPECT_EQ(ended.ById("t-1")->run_directory(), "/runs/name-1");
  EXPECT_EQ(ended.ByRequest(RequestOf(1)), ended.ById("t-1"));
}

// Like a trial of one report of a real program: each costs less than 800 bytes.
TEST(EndedTrialsTest, CostLittle) {
  constexpr int kTrials = 1'000;
  std::size_t each = 0;
  const std::size_t before = runtime::AllocatedBytes();
  {
    EndedTrials ended;
    for (int i = 0; i < kTrials; ++i) {
      msg::TrialT message;
      message.id = absl::StrCat("t-abc", i);
      message.name = absl::StrCat("brisk-otter-", i);
      message.state = msg::TrialState::Done;
      message.argv = {"/usr/bin/python3", "/home/somebody/project/train.py", "--epochs", "10",
                      "--learning_rate=0.003"};
      message.working_directory = "/home/somebody/project";
      message.log_directory = absl::StrCat("/home/somebody/project/runs/", message.name);
      message.job = absl::StrCat("j-abc", i);
      message.attempt = 1;
      message.created_us = message.started_us = message.ended_us = 1'700'000'000'000'000 + i;
      message.reports = 1;
      message.training_iteration = 1;
      message.last_metrics = R"({"loss":0.12345678901234567,"accuracy":0.98765432109876543})";
      const std::string request_id = absl::StrCat("0123456789abcdef0123456789abc", i);
      ended.Add({i, message.ended_us, request_id}, message);
    }
    each = (runtime::AllocatedBytes() - before) / kTrials;
    EXPECT_TRUE(ended.ByNumber(0)->Message().has_value());
  }
  EXPECT_EQ(runtime::AllocatedBytes(), before);
  EXPECT_LT(each, 800u);
  RecordProperty("bytes", static_cast<int>(each));
}

}  // namespace
}  // namespace trainer
