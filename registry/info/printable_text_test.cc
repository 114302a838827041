#include "registry/info/printable_text.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace registry {
namespace {

TEST(PrintableTextTest, TakesTextOfAnyLanguage) {
  for (const std::string_view text :
       {"", "worker-0", "a b", "Größe", "\u65e5\u672c", "\U0001F600", "~"}) {
    EXPECT_TRUE(IsPrintableText(text)) << text;
  }
}

TEST(PrintableTextTest, RefusesWhatDrivesATerminal) {
  for (int c = 0; c < 0x20; ++c) {
    EXPECT_FALSE(IsPrintableText("a" + std::string(1, static_cast<char>(c)) + "b")) << c;
  }
  EXPECT_FALSE(IsPrintableText("\x7f"));
  EXPECT_FALSE(IsPrintableText("\x1b]0;title\x07"));
  for (int c = 0x80; c < 0xA0; ++c) {  // C1: CSI is one of them.
    EXPECT_FALSE(IsPrintableText("\xc2" + std::string(1, static_cast<char>(c)))) << c;
  }
  EXPECT_FALSE(IsPrintableText("\u202e")) << "right to left";
  EXPECT_FALSE(IsPrintableText("\u2067"));
  EXPECT_FALSE(IsPrintableText("\u2028"));
}

TEST(PrintableTextTest, RefusesWhatIsNotUtf8) {
  for (const std::string_view text :
       {"\x80", "\xc0\xaf", "\xe0\x80\x9b", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80",
        "\xc3", "\xe6\x97", "\xf0\x9f\x98", "\xc3("}) {
    EXPECT_FALSE(IsPrintableText(text));
  }
}

}  // namespace
}  // namespace registry
