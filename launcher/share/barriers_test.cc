#include "launcher/share/barriers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Formats answers: "7: 0" is position 0 for ticket 7.
std::vector<std::string> Texts(const std::vector<Barriers::Answer>& answers) {
  std::vector<std::string> texts;
  for (const auto& answer : answers) {
    texts.push_back(absl::StrCat(
        answer.ticket, ": ",
        answer.place.ok() ? absl::StrCat(*answer.place) : answer.place.status().ToString()));
  }
  return texts;
}

class BarriersTest : public ::testing::Test {
 protected:
  // A task arrives, by default at barrier "b" for all tasks; tickets count from 1.
  std::vector<std::string> Come(const std::string& task, std::vector<std::string> parties = {},
                                absl::Duration timeout = absl::InfiniteDuration(),
                                const std::string& name = "b") {
    return Texts(barriers_.Arrive({.ticket = ++ticket_,
                                   .id = "",
                                   .task = task,
                                   .name = name,
                                   .parties = std::move(parties),
                                   .timeout = timeout},
                                  now_));
  }
  std::vector<std::string> ComeAs(const std::string& id, const std::string& task) {
    return Texts(barriers_.Arrive(
        {.ticket = ++ticket_, .id = id, .task = task, .name = "b", .parties = {}}, now_));
  }

  Barriers barriers_{{"chief-0", "worker-0", "worker-1", "my-ps-0"}};
  Barriers::Ticket ticket_ = 0;
  absl::Duration now_ = absl::Seconds(100);
};

TEST_F(BarriersTest, AllAreAnsweredWithTheirPlacesWhenTheLastHasCome) {
  EXPECT_THAT(Come("worker-1"), IsEmpty());
  EXPECT_THAT(Come("chief-0"), IsEmpty());
  EXPECT_THAT(Come("my-ps-0"), IsEmpty());
  EXPECT_THAT(Come("worker-0"), UnorderedElementsAre("1: 0", "2: 1", "3: 2", "4: 3"));
}

TEST_F(BarriersTest, PartiesAreTasksOrTypes) {
  EXPECT_THAT(Come("worker-0", {"worker"}), IsEmpty());
  EXPECT_THAT(Come("worker-1", {"worker-1", "worker-0", "worker-1"}),
              UnorderedElementsAre("1: 0", "2: 1"));
  EXPECT_THAT(Come("my-ps-0", {"my-ps", "chief-0"}), IsEmpty());
  EXPECT_THAT(Come("chief-0", {"chief", "my-ps-0"}), UnorderedElementsAre("3: 0", "4: 1"));
  EXPECT_THAT(Come("chief-0", {"chief"}), ElementsAre("5: 0"));
}

TEST_F(BarriersTest, BarriersOfDifferentNamesAreDifferent) {
  EXPECT_THAT(Come("worker-0", {"worker"}, absl::InfiniteDuration(), "a"), IsEmpty());
  EXPECT_THAT(Come("worker-1", {"worker"}, absl::InfiniteDuration(), "b"), IsEmpty());
  EXPECT_THAT(Come("worker-1", {"worker"}, absl::InfiniteDuration(), "a"),
              UnorderedElementsAre("1: 0", "3: 1"));
}

TEST_F(BarriersTest, TheNextRoundBeginsWhenAllHaveCome) {
  for (Barriers::Ticket round = 0; round < 100; ++round) {
    const Barriers::Ticket first = 2 * round + 1;
    EXPECT_THAT(Come("worker-0", {"worker"}), IsEmpty());
    EXPECT_THAT(Come("worker-1", {"worker"}),
                UnorderedElementsAre(absl::StrCat(first, ": 0"), absl::StrCat(first + 1, ": 1")));
  }
  EXPECT_THAT(Come("chief-0", {"chief"}), ElementsAre("201: 0"));
}

TEST_F(BarriersTest, ATaskThatComesTwiceCountsOnce) {
  EXPECT_THAT(Come("worker-0", {"worker"}), IsEmpty());
  EXPECT_THAT(Come("worker-0", {"worker"}), IsEmpty());
  EXPECT_THAT(Come("worker-1", {"worker"}), UnorderedElementsAre("1: 0", "2: 0", "3: 1"));
}

TEST_F(BarriersTest, AnArrivalToldAgainGetsTheSameAnswerAndBeginsNoRound) {
  for (const char* task : {"chief-0", "worker-0", "my-ps-0"}) {
    EXPECT_THAT(ComeAs(absl::StrCat("first of ", task), task), IsEmpty());
  }
  EXPECT_EQ(ComeAs("first of worker-1", "worker-1").size(), 4u);
  EXPECT_THAT(ComeAs("first of worker-0", "worker-0"), ElementsAre("5: 1"));
  EXPECT_THAT(ComeAs("second of worker-0", "worker-0"), IsEmpty());
  EXPECT_THAT(ComeAs("first of worker-1", "worker-1"), ElementsAre("7: 3"));
  barriers_.TaskEnded("chief-0", "exit code 0");
  EXPECT_THAT(ComeAs("first of worker-1", "worker-1"), ElementsAre("8: 3"));
  EXPECT_THAT(ComeAs("second of worker-1", "worker-1"), ElementsAre(HasSubstr("is broken")));
}

TEST_F(BarriersTest, ATimeoutBreaksItForEverybodyAndSaysWhoWasMissing) {
  EXPECT_EQ(barriers_.NextTimeout(), absl::InfiniteDuration());
  EXPECT_THAT(Come("worker-0", {}, absl::Seconds(5)), IsEmpty());
  now_ += absl::Seconds(1);
  EXPECT_THAT(Come("worker-1"), IsEmpty());
  EXPECT_EQ(barriers_.NextTimeout(), absl::Seconds(105));
  EXPECT_THAT(barriers_.Expire(absl::Seconds(105) - absl::Nanoseconds(1)), IsEmpty());
  const std::string why = "barrier \"b\" is broken: worker-0 waited 5s for chief-0, my-ps-0";
  EXPECT_THAT(
      Texts(barriers_.Expire(absl::Seconds(105))),
      UnorderedElementsAre("1: DEADLINE_EXCEEDED: " + why, "2: FAILED_PRECONDITION: " + why));
  EXPECT_EQ(barriers_.NextTimeout(), absl::InfiniteDuration());
  EXPECT_THAT(Come("chief-0"), ElementsAre("3: FAILED_PRECONDITION: " + why));
  EXPECT_THAT(Come("worker-1", {"worker"}, absl::InfiniteDuration(), "other"), IsEmpty());
}

TEST_F(BarriersTest, ATimeoutOfZeroIsNone) {
  EXPECT_THAT(Come("worker-0", {}, absl::ZeroDuration()), IsEmpty());
  EXPECT_EQ(barriers_.NextTimeout(), absl::InfiniteDuration());
  EXPECT_THAT(barriers_.Expire(absl::Hours(1'000'000)), IsEmpty());
}

TEST_F(BarriersTest, TheEndOfAPartyBreaksItWhetherItHadComeOrNot) {
  EXPECT_THAT(Come("worker-0"), IsEmpty());
  EXPECT_THAT(Come("chief-0"), IsEmpty());
  EXPECT_THAT(Texts(barriers_.TaskEnded("chief-0", "signal 9 (Killed)")),
              UnorderedElementsAre(HasSubstr("1: FAILED_PRECONDITION: barrier \"b\" is broken: "
                                             "chief-0 has ended: signal 9 (Killed)"),
                                   HasSubstr("2: FAILED_PRECONDITION")));
  EXPECT_THAT(Come("worker-0", {"worker"}, absl::InfiniteDuration(), "c"), IsEmpty());
  EXPECT_THAT(Texts(barriers_.TaskEnded("my-ps-0", "exit code 0")), IsEmpty());
  EXPECT_THAT(Texts(barriers_.TaskEnded("worker-1", "exit code 0")),
              ElementsAre(HasSubstr("worker-1 has ended: exit code 0")));
}

TEST_F(BarriersTest, WhoComesAfterTheEndOfAPartyIsTold) {
  barriers_.TaskEnded("worker-1", "exit code 3");
  EXPECT_THAT(Come("worker-0"), ElementsAre(HasSubstr("worker-1 has ended: exit code 3")));
  EXPECT_THAT(Come("worker-0", {"worker-0", "chief-0"}, absl::InfiniteDuration(), "c"), IsEmpty());
}

TEST_F(BarriersTest, ATaskThatRunsAgainCanTakePartInWhatItsEndHasNotBroken) {
  EXPECT_THAT(Come("worker-0", {"worker"}), IsEmpty());
  EXPECT_EQ(barriers_.TaskEnded("worker-1", "exit code 3").size(), 1u);
  barriers_.TaskStarted("worker-1");
  EXPECT_THAT(Come("worker-0", {"worker"}), ElementsAre(HasSubstr("is broken")));
  EXPECT_THAT(Come("worker-0", {"worker"}, absl::InfiniteDuration(), "c"), IsEmpty());
  EXPECT_EQ(Come("worker-1", {"worker"}, absl::InfiniteDuration(), "c").size(), 2u);
}

TEST_F(BarriersTest, ARestartOfTheJobBeginsAnew) {
  EXPECT_THAT(Come("worker-0", {"worker"}, absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(Come("chief-0", {"chief", "my-ps"}, absl::InfiniteDuration(), "c"), IsEmpty());
  EXPECT_EQ(barriers_.TaskEnded("my-ps-0", "exit code 3").size(), 1u);
  EXPECT_THAT(Texts(barriers_.Reset()), ElementsAre(HasSubstr("1: CANCELLED")));
  EXPECT_EQ(barriers_.NextTimeout(), absl::InfiniteDuration());
  EXPECT_THAT(Come("chief-0", {"chief", "my-ps"}, absl::InfiniteDuration(), "c"), IsEmpty());
  EXPECT_EQ(Come("my-ps-0", {"chief", "my-ps"}, absl::InfiniteDuration(), "c").size(), 2u);
}

TEST_F(BarriersTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(Come("worker-7"), ElementsAre(HasSubstr("the job has no task \"worker-7\"")));
  EXPECT_THAT(Come("worker-0", {"driver"}),
              ElementsAre(HasSubstr("the job has no task or type \"driver\"")));
  EXPECT_THAT(Come("worker-0", {"chief"}), ElementsAre(HasSubstr("worker-0 is not among them")));
  EXPECT_THAT(Come("worker-0", {}, absl::InfiniteDuration(), ""), ElementsAre(HasSubstr("name: ")));
  EXPECT_THAT(Come("worker-0", {}, absl::InfiniteDuration(), std::string(129, 'n')),
              ElementsAre(HasSubstr("name: from 1 to 128 bytes")));
  EXPECT_THAT(Come("worker-0", {}, absl::InfiniteDuration(), "a\nb"),
              ElementsAre(HasSubstr("INVALID_ARGUMENT: name: ")));
  EXPECT_THAT(Come("worker-0", {"worker"}), IsEmpty());
  EXPECT_THAT(Come("worker-1"),
              ElementsAre(HasSubstr("at barrier \"b\" somebody waits for worker-0, worker-1")));
  EXPECT_EQ(Come("worker-1", {"worker"}).size(), 2u);
}

TEST_F(BarriersTest, AThousandBarriersAreTheMostAtWhichSomebodyWaits) {
  for (std::size_t i = 0; i < Barriers::kMaxBarriers; ++i) {
    const auto name = absl::StrCat("wait", i);
    EXPECT_THAT(Come("worker-0", {"worker"}, absl::InfiniteDuration(), name), IsEmpty());
  }
  EXPECT_THAT(Come("worker-0", {"worker"}, absl::InfiniteDuration(), "more"),
              ElementsAre(HasSubstr("RESOURCE_EXHAUSTED")));
  EXPECT_EQ(Come("worker-1", {"worker"}, absl::InfiniteDuration(), "wait7").size(), 2u);
  EXPECT_THAT(Come("worker-0", {"worker"}, absl::InfiniteDuration(), "more"), IsEmpty());
}

TEST_F(BarriersTest, ANewNameForEachStepNeverComesToTheLimit) {
  for (int step = 0; step < 3000; ++step) {
    const auto name = absl::StrCat("step", step);
    ASSERT_THAT(Come("worker-0", {"worker"}, absl::InfiniteDuration(), name), IsEmpty());
    ASSERT_EQ(Come("worker-1", {"worker"}, absl::InfiniteDuration(), name).size(), 2u);
  }
}

TEST_F(BarriersTest, ATaskThatComesAgainAndAgainIsBounded) {
  for (int i = 0; i < 16; ++i) EXPECT_THAT(Come("worker-0"), IsEmpty());
  EXPECT_THAT(Come("worker-0"), ElementsAre(HasSubstr("17: RESOURCE_EXHAUSTED")));
}

// In any sequence of calls each ticket is answered at most once, and after Reset() every ticket has
// been answered.
TEST(BarriersRandomTest, EveryTicketIsAnsweredExactlyOnce) {
  const std::vector<std::string> tasks = {"worker-0", "worker-1", "worker-2"};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
    Barriers barriers(tasks);
    std::vector<int> answered(1, 1);
    absl::Duration now = absl::ZeroDuration();
    const auto note = [&](const std::vector<Barriers::Answer>& answers) {
      for (const auto& answer : answers) ++answered.at(answer.ticket);
    };
    for (int step = 0; step < 2000; ++step) {
      const std::string& task = tasks[static_cast<std::size_t>(pick(3))];
      now += absl::Milliseconds(pick(3));
      switch (pick(20)) {
        case 0:
          note(barriers.TaskEnded(task, "exit code 1"));
          break;
        case 1:
          barriers.TaskStarted(task);
          break;
        case 2:
          note(barriers.Reset());
          break;
        case 3:
          note(barriers.Expire(now));
          EXPECT_GT(barriers.NextTimeout(), now);
          break;
        default:
          answered.push_back(0);
          note(barriers.Arrive({.ticket = answered.size() - 1,
                                .id = absl::StrCat(pick(50)),
                                .task = task,
                                .name = absl::StrCat("b", pick(3)),
                                .parties = {},
                                .timeout = absl::Milliseconds(pick(30))},
                               now));
      }
    }
    note(barriers.Reset());
    EXPECT_TRUE(std::all_of(answered.begin(), answered.end(), [](int n) { return n == 1; }));
  }
}

}  // namespace
}  // namespace launcher
