#include "tools/yard/text/line_collapser.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr absl::Duration kDelay = absl::Milliseconds(200);

class Lines {
 public:
  explicit Lines(std::size_t tasks = 0, std::size_t max_lines = 1000,
                 std::size_t max_bytes = 1 << 20)
      : collapser_({.clock = &clock_,
                    .delay = kDelay,
                    .max_lines = max_lines,
                    .max_bytes = max_bytes,
                    .tasks = tasks,
                    .print = [this](const std::vector<std::string>& who, bool is_error,
                                    std::string_view line) {
                      printed_.push_back(absl::StrCat(absl::StrJoin(who, ","),
                                                      is_error ? "! " : " ", std::string(line)));
                    }}) {}

  // "0 text" is a line of task 0, "0! text" a line of its stderr, "+150" advances the clock by
  // milliseconds.
  void Say(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      if (word[0] == '+') {
        clock_.Advance(absl::Milliseconds(std::stoi(word)));
        collapser_.PrintDue();
        continue;
      }
      const auto space = word.find(' ');
      const bool is_error = word[space - 1] == '!';
      collapser_.Add(word.substr(0, space - (is_error ? 1 : 0)), is_error, word.substr(space + 1));
    }
  }
  std::vector<std::string> Printed() { return std::exchange(printed_, {}); }

  runtime::FakeClock clock_;
  std::vector<std::string> printed_;
  LineCollapser collapser_;
};

struct Case {
  std::string claim;
  std::vector<std::string> said;
  std::vector<std::string> printed;  // Before Finish().
  std::vector<std::string> left;     // Printed by Finish().
};

class LineCollapserTest : public ::testing::TestWithParam<Case> {};

TEST_P(LineCollapserTest, PrintsInTimeAndInOrder) {
  Lines lines(/*tasks=*/3);
  lines.Say(GetParam().said);
  EXPECT_THAT(lines.Printed(), ElementsAreArray(GetParam().printed));
  lines.collapser_.Finish();
  EXPECT_THAT(lines.Printed(), ElementsAreArray(GetParam().left));
  EXPECT_EQ(lines.collapser_.NextDue(), absl::InfiniteDuration());
}

INSTANTIATE_TEST_SUITE_P(
    Table, LineCollapserTest,
    ::testing::ValuesIn(std::vector<Case>{
        {"WhatAllSayIsOneLineAtOnce", {"0 a", "2 a", "1 a"}, {"0,2,1 a"}, {}},
        {"WhatSomeSayWaitsForTheOthers", {"0 a", "1 a"}, {}, {"0,1 a"}},
        {"AfterTheDelayNobodyIsWaitedFor", {"0 a", "+100", "1 a", "+100"}, {"0,1 a"}, {}},
        {"TheDelayIsThatOfTheFirst", {"0 a", "+199", "1 a", "+1", "2 a"}, {"0,1 a"}, {"2 a"}},
        {"OtherLinesAreOthers", {"0 a", "1 b", "2 a "}, {}, {"0 a", "1 b", "2 a "}},
        {"OutputAndErrorsAreApart", {"0 a", "1! a", "2! a"}, {}, {"0 a", "1,2! a"}},
        {"OneTaskMayRepeatItself",
         {"0 a", "0 a", "1 a", "1 a", "2 a", "2 a"},
         {"0,1,2 a", "0,1,2 a"},
         {}},
        {"RepeatedMoreOftenThanTheOthers", {"0 a", "1 a", "1 a"}, {}, {"0,1 a", "1 a"}},
        {"TheOrderOfATaskIsKept", {"0 a", "0 b", "1 b", "1 a"}, {}, {"1 b", "0,1 a", "0 b"}},
        {"OfItsTwoStreamsThereIsNone", {"0 a", "0! b", "1! b", "1 a"}, {}, {"0,1 a", "0,1! b"}},
        {"NobodyOvertakesALineThatWaits", {"0 a", "0 b", "1 b", "2 b"}, {}, {"0 a", "0,1,2 b"}},
        {"WhatStandsBeforeItInOtherTasksComesFirst",
         {"0 a", "0 b", "1 b", "2 b", "1 a", "+200"},
         {"1,2 b", "0,1 a", "0 b"},
         {}},
        {"LinesOfTheirOwnDoNotPartThem",
         {"0 r0", "0 s", "1 r1", "1 s", "2 r2", "2 s"},
         {},
         {"0 r0", "1 r1", "2 r2", "0,1,2 s"}},
        {"EmptyLinesAreLines", {"0 ", "1 ", "2 "}, {"0,1,2 "}, {}},
        {"ALaterStepDoesNotJoinAnEarlier",
         {"0 step", "0 x", "0 step", "0 z", "1 step", "1 y", "1 step"},
         {},
         {"0,1 step", "0 x", "1 y", "0,1 step", "0 z"}},
    }),
    [](const auto& info) { return info.param.claim; });

TEST(LineCollapserBoundsTest, ItSaysWhenTheNextLineIsDue) {
  Lines lines;
  EXPECT_EQ(lines.collapser_.NextDue(), absl::InfiniteDuration());
  const absl::Duration start = lines.clock_.Monotonic();
  lines.Say({"0 a", "+50", "0 b"});
  EXPECT_EQ(lines.collapser_.NextDue(), start + kDelay);
  lines.Say({"+150"});
  EXPECT_THAT(lines.Printed(), ElementsAre("0 a"));
  EXPECT_EQ(lines.collapser_.NextDue(), start + absl::Milliseconds(50) + kDelay);
}

TEST(LineCollapserBoundsTest, WithTooManyLinesTheOldestIsPrinted) {
  Lines lines(/*tasks=*/0, /*max_lines=*/2);
  lines.Say({"0 a", "0 b"});
  EXPECT_THAT(lines.Printed(), IsEmpty());
  lines.Say({"0 c"});
  EXPECT_THAT(lines.Printed(), ElementsAre("0 a"));
}

TEST(LineCollapserBoundsTest, WithTooManyBytesTheOldestIsPrinted) {
  Lines lines(/*tasks=*/0, /*max_lines=*/1000, /*max_bytes=*/10'000);
  const std::string large(6000, 'x');
  lines.Say({"0 a", "0 " + large});
  EXPECT_THAT(lines.Printed(), IsEmpty());
  lines.Say({"0 " + large});
  EXPECT_THAT(lines.Printed(), IsEmpty()) << "a text is kept once";
  lines.Say({"0 " + std::string(6000, 'y')});
  EXPECT_THAT(lines.Printed(), ElementsAre("0 a", "0 " + large, "0 " + large));
}

TEST(LineCollapserBoundsTest, ALineLargerThanAllRoomIsPrintedAtOnce) {
  Lines lines(/*tasks=*/0, /*max_lines=*/1000, /*max_bytes=*/1000);
  lines.Say({"0 " + std::string(5000, 'x'), "0 b"});
  EXPECT_EQ(lines.Printed().size(), 1U);
}

TEST(LineCollapserBoundsTest, WhatAnotherSaysMuchLaterIsNotTheSame) {
  Lines lines;
  lines.Say({"0 a"});
  for (int i = 0; i < 300; ++i) lines.Say({absl::StrCat("1 own ", i)});
  lines.Say({"1 a", "+200"});
  const auto printed = lines.Printed();
  ASSERT_EQ(printed.size(), 302U);
  EXPECT_EQ(printed.front(), "0 a");
  EXPECT_EQ(printed.back(), "1 a");
}

// Returns the number of original lines that the printed lines represent.
std::size_t Said(const std::vector<std::string>& printed) {
  std::size_t said = 0;
  for (const std::string& line : printed) {
    said += 1 + static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
  }
  return said;
}

TEST(LineCollapserBoundsTest, ManyRanksOfManyEqualLinesAreEachPrintedOnce) {
  constexpr int kTasks = 50, kLines = 200;
  for (const int max_lines : {300, 20'000}) {
    Lines lines(/*tasks=*/kTasks, static_cast<std::size_t>(max_lines), /*max_bytes=*/64 << 20);
    for (int task = 0; task < kTasks; ++task) {
      for (int i = 0; i < kLines; ++i) lines.Say({absl::StrCat(task, " ", i % 7)});
    }
    lines.collapser_.Finish();
    const auto printed = lines.Printed();
    EXPECT_EQ(Said(printed), std::size_t{kTasks} * kLines);
    if (max_lines == 20'000) {
      EXPECT_EQ(printed.size(), std::size_t{kLines});
    }
  }
}

}  // namespace
}  // namespace yard
