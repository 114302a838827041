#include "tools/yard/at/words.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

TEST(WordsTest, AnyBytesComeBack) {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) every += static_cast<char>(byte);
  const std::vector<std::string> words = {"ps", "",  every, "a b", "'\"$(x)`\\!",
                                          "\n", ",", "%41", ""};
  const auto decoded = DecodeWords(EncodeWords(words));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, words);
  EXPECT_EQ(*DecodeWords(EncodeWords({})), std::vector<std::string>{});
}

TEST(WordsTest, NoShellSeesAnythingInThem) {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) every += static_cast<char>(byte);
  EXPECT_THAT(EncodeWords({every, "", every}), ::testing::MatchesRegex("[-a-zA-Z0-9_./%,]*"));
  EXPECT_EQ(EncodeWords({"logs", "a b", ""}), "logs,a%20b,,");
}

TEST(WordsTest, WhatItHasNotMadeIsRefused) {
  for (const char* text : {"ps", "%,", "%4,", "%4g,", "%4a,", "a b,", "a,b", "a=b,", "%"}) {
    EXPECT_EQ(DecodeWords(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace yard
