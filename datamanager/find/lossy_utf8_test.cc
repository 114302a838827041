#include "datamanager/find/lossy_utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace datamanager {
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

// The expectations are Rust's, and CPython's of decode("utf-8", "replace").
TEST(LossyUtf8Test, WhatIsNoCharacterBecomesAMark) {
  const struct {
    std::string_view bytes;
    std::string text;
  } kRows[] = {
      {"run\xFF", "run" + Marks(1)},
      {"\x80\xBF", Marks(2)},            // Bytes that only go on.
      {"a\xE4z", "a" + Marks(1) + "z"},  // Latin-1.
      {"\xC0\xAF", Marks(2)},            // Overlong forms.
      {"\xE0\x80\xAF", Marks(3)},        //
      {"\xF0\x80\x80\xAF", Marks(4)},    //
      {"\xED\xA0\x80", Marks(3)},        // A surrogate.
      {"\xF4\x90\x80\x80", Marks(4)},    // Above U+10FFFF.
      {"\xF5\x80", Marks(2)},            //
      {"\xE2\x82", Marks(1)},            // Cut at the end,
      {"\xE2\x82z", Marks(1) + "z"},     // by another character,
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

}  // namespace
}  // namespace datamanager
