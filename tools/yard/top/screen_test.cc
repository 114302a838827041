#include "tools/yard/top/screen.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace yard::top {
namespace {

TEST(ScreenTest, TextIsCutAtTheEdges) {
  Screen screen(5, 2);
  EXPECT_EQ(screen.Put(0, 3, "abc"), 5);
  EXPECT_EQ(screen.Put(1, 0, "abc", Style::kPlain, 2), 2);
  screen.Put(7, 0, "nowhere");
  screen.Put(-1, 0, "nowhere");
  screen.Put(0, 99, "nowhere");
  EXPECT_EQ(screen.ToString(), "   ab\nab\n");
}

TEST(ScreenTest, WideCharactersTakeTwoColumnsAndAreNeverHalved) {
  Screen screen(4, 1);
  EXPECT_EQ(screen.Put(0, 0, "a損失"), 3);
  EXPECT_EQ(screen.Row(0), "a損");
  EXPECT_EQ(screen.Put(0, 3, "|"), 4);
  EXPECT_EQ(screen.Row(0), "a損|");
}

TEST(ScreenTest, NothingInATextDrivesTheTerminal) {
  Screen screen(60, 2);
  screen.Put(0, 0,
             "a\x1b[2Jb\xff\tc\r\n\x9b"
             "1m\u202e");
  EXPECT_EQ(screen.Row(0), "a\\x1B[2Jb\\xFF c\\x0D\\x0A\\x9B1m\\xE2\\x80\\xAE");
}

TEST(ScreenTest, TheFirstDifferenceClearsTheScreen) {
  Screen screen(10, 2);
  screen.Put(1, 2, "hi", Style::kBold);
  EXPECT_EQ(Difference(nullptr, screen, true), "\x1b[0m\x1b[2J\x1b[2;3H\x1b[0;1mhi\x1b[0m");
  const Screen smaller(9, 2);
  EXPECT_EQ(Difference(&screen, smaller, true), "\x1b[0m\x1b[2J");
}

TEST(ScreenTest, OnlyWhatHasChangedIsWritten) {
  Screen before(10, 2), after(10, 2);
  before.Put(0, 0, "loss 0.5");
  after.Put(0, 0, "loss 0.4");
  EXPECT_EQ(Difference(&before, before, true), "");
  EXPECT_EQ(Difference(&before, after, true), "\x1b[1;8H\x1b[0m4");
}

// Terminals disagree about the width of such characters.
TEST(ScreenTest, AfterACharacterThatIsNotAsciiTheCursorIsPlacedAnew) {
  Screen before(10, 1), after(10, 1);
  after.Put(0, 0, "損x");
  EXPECT_EQ(Difference(&before, after, true), "\x1b[1;1H\x1b[0m損\x1b[1;3Hx");
  // The second column of the wide character is redrawn.
  Screen narrow(10, 1);
  narrow.Put(0, 0, "a");
  narrow.Put(0, 2, "x");
  EXPECT_EQ(Difference(&after, narrow, true), "\x1b[1;1H\x1b[0ma ");
}

TEST(ScreenTest, WithoutColorNoneIsWritten) {
  Screen before(4, 1), after(4, 1);
  after.Put(0, 0, "a", Style::kGood);
  after.Put(0, 1, "b", Style::kBad);
  after.Put(0, 2, "c", Style::kWarning);
  const std::string bytes = Difference(&before, after, false);
  for (int color = 30; color < 38; ++color) {
    EXPECT_EQ(bytes.find(absl::StrCat(";", color, "m")), std::string::npos);
  }
  EXPECT_NE(Difference(&before, after, true).find(";32m"), std::string::npos);
}

TEST(ScreenTest, SizesAreBounded) {
  EXPECT_EQ(Screen(0, -5).width(), 1);
  EXPECT_EQ(Screen(0, -5).height(), 1);
  EXPECT_EQ(Screen(1 << 30, 1 << 30).width(), 1000);
}

}  // namespace
}  // namespace yard::top
