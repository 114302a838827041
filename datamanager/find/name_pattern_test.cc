#include "datamanager/find/name_pattern.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace datamanager {
namespace {

using ::testing::HasSubstr;

TEST(NamePatternTest, MatchesAPartOfTheName) {
  const auto pattern = NamePattern::Compile("lo+s");
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  EXPECT_TRUE(pattern->Matches("train/loss"));
  EXPECT_TRUE(pattern->Matches("looooser"));
  EXPECT_FALSE(pattern->Matches("train/Loss"));
  EXPECT_FALSE(pattern->Matches(""));
}

TEST(NamePatternTest, EndsAreThoseOfTheName) {
  const auto pattern = NamePattern::Compile("^a.$");
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  EXPECT_TRUE(pattern->Matches("ab"));
  EXPECT_TRUE(pattern->Matches("a€")) << "a character, not a byte";
  EXPECT_FALSE(pattern->Matches("abc"));
}

TEST(NamePatternTest, ACopyIsTheSame) {
  const auto pattern = NamePattern::Compile("b");
  ASSERT_TRUE(pattern.ok());
  const NamePattern copy = *pattern;
  EXPECT_TRUE(copy.Matches("abc"));
}

TEST(NamePatternTest, SaysWhatIsWrong) {
  const auto pattern = NamePattern::Compile("a[b");
  EXPECT_TRUE(absl::IsInvalidArgument(pattern.status())) << pattern.status();
  EXPECT_THAT(std::string(pattern.status().message()), HasSubstr("missing ]: [b"));
  EXPECT_TRUE(absl::IsInvalidArgument(NamePattern::Compile("\xff").status())) << "not UTF-8";
}

TEST(NamePatternTest, ASizeAndAnAutomatonHaveTheirBounds) {
  EXPECT_TRUE(NamePattern::Compile(std::string(NamePattern::kMaxSize, 'a')).ok());
  EXPECT_FALSE(NamePattern::Compile(std::string(NamePattern::kMaxSize + 1, 'a')).ok());
  EXPECT_FALSE(NamePattern::Compile("((((x{100}){100}){100}){100})").ok());
}

TEST(NamePatternTest, ABadPatternTakesTimeInProportionToTheName) {
  const auto pattern = NamePattern::Compile("(a*)*(a|aa)+$");
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  EXPECT_FALSE(pattern->Matches(std::string(100'000, 'a') + "b"))
      << "a backtracking engine would never get here";
}

}  // namespace
}  // namespace datamanager
