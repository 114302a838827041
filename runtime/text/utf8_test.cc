#include "runtime/text/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace runtime {
namespace {

constexpr std::string_view kMark = "\xEF\xBF\xBD";

std::string Marks(int count) {
  std::string marks;
  for (int i = 0; i < count; ++i) marks += kMark;
  return marks;
}

TEST(LossyUtf8Test, TextStaysAsItIs) {
  for (const std::string_view text :
       {"", "train/loss", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
        "\xEE\x80\x80", "\xEF\xBF\xBD", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "a\xC3\xA4z"}) {
    EXPECT_EQ(LossyUtf8(text), text);
  }
  EXPECT_EQ(LossyUtf8(std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
}

// The expected values are those of Rust, and of CPython's decode("utf-8", "replace").
TEST(LossyUtf8Test, WhatIsNoCharacterBecomesAMark) {
  const struct {
    std::string_view bytes;
    std::string text;
  } kRows[] = {
      {"run\xFF", "run" + Marks(1)},
      {"\x80\xBF", Marks(2)},            // Continuation bytes only.
      {"a\xE4z", "a" + Marks(1) + "z"},  // Latin-1.
      {"\xC0\xAF", Marks(2)},            // Overlong forms.
      {"\xE0\x80\xAF", Marks(3)},        //
      {"\xF0\x80\x80\xAF", Marks(4)},    //
      {"\xED\xA0\x80", Marks(3)},        // A surrogate.
      {"\xF4\x90\x80\x80", Marks(4)},    // Above U+10FFFF.
      {"\xF5\x80", Marks(2)},            //
      {"\xE2\x82", Marks(1)},            // Cut off at the end,
      {"\xE2\x82z", Marks(1) + "z"},     // or by another character,
      {"\xF0\x9F\x98", Marks(1)},        //
      {"\xF0\x9F\xF0\x9F\x98\x80", Marks(1) + "\xF0\x9F\x98\x80"},
      {"\xC3\xC3\xA4", Marks(1) + "\xC3\xA4"},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(LossyUtf8(row.bytes), row.text) << testing::PrintToString(std::string(row.bytes));
  }
}

TEST(LossyUtf8Test, DoneTwiceIsDoneOnce) {
  std::string bytes;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      bytes.assign({static_cast<char>(first), static_cast<char>(second), '\x80'});
      const std::string text = LossyUtf8(bytes);
      ASSERT_EQ(LossyUtf8(text), text) << testing::PrintToString(bytes);
      ASSERT_LE(text.size(), 3 * bytes.size());
    }
  }
}

TEST(ValidUtf8Test, EachInvalidByteBecomesAMark) {
  EXPECT_EQ(ValidUtf8("a\xC3\xA4z"), "a\xC3\xA4z");
  EXPECT_EQ(ValidUtf8("\xE2\x82z\xFF"), Marks(2) + "z" + Marks(1));
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), Marks(3)) << "a surrogate";
  EXPECT_EQ(ValidUtf8(std::string_view("\0", 1)), std::string_view("\0", 1));
}

TEST(Utf8Test, WhatIsWrittenIsReadAgain) {
  for (const char32_t code_point :
       {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    AppendUtf8(code_point, text);
    EXPECT_TRUE(IsUtf8(text));
    const Utf8Character decoded = DecodeUtf8(text + "z");
    EXPECT_EQ(decoded.code_point, code_point);
    EXPECT_EQ(decoded.bytes, text.size());
    EXPECT_EQ(Utf8Bytes(text.substr(0, text.size() - 1) + "z"), text.size() == 1 ? 1u : 0u);
  }
}

TEST(Utf8Test, SurrogatesAreReadOnRequest) {
  std::string text;
  AppendUtf8(0xDCFF, text);
  EXPECT_FALSE(IsUtf8(text));
  EXPECT_EQ(DecodeUtf8(text).bytes, 0u);
  EXPECT_EQ(DecodeUtf8(text, /*surrogates=*/true).code_point, 0xDCFFu);
}

TEST(Utf8Test, EveryPairOfBytesIsReadAsTheReplacementReadsIt) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes{static_cast<char>(first), static_cast<char>(second), '\x80', '\x80'};
      ASSERT_EQ(IsUtf8(bytes), LossyUtf8(bytes) == bytes) << testing::PrintToString(bytes);
      ASSERT_EQ(IsUtf8(bytes), ValidUtf8(bytes) == bytes) << testing::PrintToString(bytes);
    }
  }
}

}  // namespace
}  // namespace runtime
