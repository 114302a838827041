#include "tools/yard/text/text_width.h"

#include <gtest/gtest.h>

#include <string>

namespace yard {
namespace {

TEST(TextWidthTest, CountsColumns) {
  EXPECT_EQ(TextWidth(""), 0);
  EXPECT_EQ(TextWidth("plain"), 5);
  EXPECT_EQ(TextWidth("höhe"), 4);
  EXPECT_EQ(TextWidth("損失"), 4);
  EXPECT_EQ(TextWidth("e\u0301t"), 2);
  EXPECT_EQ(TextWidth("▁▂█"), 3);
  EXPECT_EQ(TextWidth("\U0001F680"), 2);
}

TEST(TextWidthTest, AGlyphHasItsMarks) {
  const std::string text = "ae\u0301損";
  const auto glyphs = Glyphs(text);
  ASSERT_EQ(glyphs.size(), 3u);
  EXPECT_EQ(glyphs[1].bytes, "e\u0301");
  EXPECT_EQ(glyphs[2].width, 2);
  // A combining mark without a base character is dropped.
  EXPECT_TRUE(Glyphs("\u0301").empty());
}

TEST(TextWidthTest, InvalidBytesTakeAColumnEach) { EXPECT_EQ(TextWidth("a\xff\xfe"), 3); }

TEST(TextWidthTest, FitsIntoColumns) {
  EXPECT_EQ(FitText("train", 5), "train");
  EXPECT_EQ(FitText("train", 4), "tra…");
  EXPECT_EQ(FitText("損失率", 5), "損失…");
  EXPECT_EQ(FitText("損失率", 4), "損…");
  EXPECT_EQ(FitText("train", 1), "…");
  EXPECT_EQ(FitText("train", 0), "");
  EXPECT_EQ(FitText("train", -3), "");
}

}  // namespace
}  // namespace yard
