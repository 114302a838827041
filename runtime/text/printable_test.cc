#include "runtime/text/printable.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace runtime {
namespace {

TEST(PrintableTest, LeavesTextAndTabsAlone) {
  EXPECT_EQ(Printable("loss\t0.5 ä € 😀"), "loss\t0.5 ä € 😀");
  EXPECT_EQ(Printable(""), "");
}

TEST(PrintableTest, ShowsEscapeSequencesAsText) {
  EXPECT_EQ(Printable("\x1b]0;title\x07"), "\\x1B]0;title\\x07");
  EXPECT_EQ(Printable("a\r\nb\x7f"), "a\\x0D\\x0Ab\\x7F");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(PrintableTest, ShowsC1ControlsInUtf8AsText) {
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\xC2\\x9B31m");
}

TEST(PrintableTest, ShowsEachInvalidByte) {
  EXPECT_EQ(Printable("\xff"), "\\xFF");
  EXPECT_EQ(Printable("a\xc3"), "a\\xC3") << "cut off";
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xC0\\xAF") << "longer than needed";
  EXPECT_EQ(Printable("\xe0\x80\xaf"), "\\xE0\\x80\\xAF") << "longer than needed";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xED\\xA0\\x80") << "a surrogate";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80") << "over U+10FFFF";
}

TEST(PrintableTest, ShowsWhatTurnsTheDirectionOfText) {
  EXPECT_EQ(Printable("a\u202eb"), "a\\xE2\\x80\\xAEb");
  EXPECT_EQ(Printable("\u2066"), "\\xE2\\x81\\xA6");
}

TEST(PrintableTest, LeavesTheEndsOfLines) {
  EXPECT_EQ(PrintableLines("a\x1b\n\nb\r\n"), "a\\x1B\n\nb\\x0D\n");
  EXPECT_EQ(PrintableLines("a\nb"), "a\nb");
  EXPECT_EQ(PrintableLines(""), "");
}

TEST(IsPrintableTest, TakesTextOfAnyLanguage) {
  for (const std::string_view text :
       {"", "worker-0", "a b", "Größe", "\u65e5\u672c", "\U0001F600", "~"}) {
    EXPECT_TRUE(IsPrintable(text)) << text;
  }
}

TEST(IsPrintableTest, RefusesWhatDrivesATerminal) {
  for (int c = 0; c < 0x20; ++c) {
    EXPECT_FALSE(IsPrintable("a" + std::string(1, static_cast<char>(c)) + "b")) << c;
  }
  EXPECT_FALSE(IsPrintable("\x7f"));
  EXPECT_FALSE(IsPrintable("\x1b]0;title\x07"));
  for (int c = 0x80; c < 0xA0; ++c) {  // C1 control characters, such as CSI.
    EXPECT_FALSE(IsPrintable("\xc2" + std::string(1, static_cast<char>(c)))) << c;
  }
  EXPECT_FALSE(IsPrintable("\u202e")) << "right to left";
  EXPECT_FALSE(IsPrintable("\u2067"));
  EXPECT_FALSE(IsPrintable("\u2028"));
}

TEST(IsPrintableTest, RefusesWhatIsNotUtf8) {
  for (const std::string_view text :
       {"\x80", "\xc0\xaf", "\xe0\x80\x9b", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80",
        "\xc3", "\xe6\x97", "\xf0\x9f\x98", "\xc3("}) {
    EXPECT_FALSE(IsPrintable(text));
  }
}

}  // namespace
}  // namespace runtime
