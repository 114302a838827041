#include "runtime/text/nearest_word.h"

#include <string>

#include "gtest/gtest.h"

namespace runtime {
namespace {

TEST(NearestWordTest, IsTheOneThatWasMeant) {
  const std::vector<std::string_view> words = {"baseline", "base", "first", "t-abcde"};
  const struct {
    std::string_view typed, meant;
  } kCases[] = {
      {"basline", "baseline"},
      {"baselnie", "baseline"},
      {"bse", "base"},
      {"fisrt", "first"},
      {"t-abcdf", "t-abcde"},
      {"first", "first"},
      {"fst", ""},
      {"something", ""},
      {"", ""},
      {"x", ""},
      {"1first1", "first"},
  };
  for (const auto& [typed, meant] : kCases) {
    EXPECT_EQ(NearestWord(typed, words), meant) << typed;
  }
}

TEST(NearestWordTest, ALongWordIsNotCompared) {
  const std::string word(100'000, 'a');
  EXPECT_EQ(NearestWord(word, {word}), "");
  EXPECT_EQ(NearestWord("a", {word}), "");
}

}  // namespace
}  // namespace runtime
