#include "tools/yard/text/event_template.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

const EventValues kValues{
    .count = 7, .time = absl::FromUnixMicros(1'700'000'000'250'000), .random = 0xABCU};

TEST(EventTemplateTest, FillsInItsWords) {
  struct Row {
    const char* text;
    const char* filled;
  };
  const Row rows[] = {
      {"", ""},
      {"plain", "plain"},
      {"{\"n\": {{count}}}", "{\"n\": 7}"},
      {"{{count}}{{count}}", "77"},
      {"\"{{time}}\"", "\"2023-11-14T22:13:20.250000Z\""},
      {"{{id}}", "0000000000000abc"},
      // Text that is no placeholder stays.
      {"{{cuont}}", "{{cuont}}"},
      {"{{ count }}", "{{ count }}"},
      {"{{}}", "{{}}"},
      {"{{count}", "{{count}"},
      {"{{count", "{{count"},
      {"{{", "{{"},
      {"}}", "}}"},
      {"{\"a\":{\"b\":{{count}}}}", "{\"a\":{\"b\":7}}"},
      {"{{{count}}", "{7"},
      {"{{x {{count}}", "{{x 7"},
  };
  for (const Row& row : rows) EXPECT_EQ(FillTemplate(row.text, kValues), row.filled) << row.text;
}

TEST(EventTemplateTest, RandomIsANumberBelowOneThatChanges) {
  EventValues values = kValues;
  const std::string first = FillTemplate("{{random}}", values);
  EXPECT_THAT(first, ::testing::MatchesRegex("0\\.[0-9]{6}"));
  values.random = ~values.random;
  const std::string second = FillTemplate("{{random}}", values);
  EXPECT_THAT(second, ::testing::MatchesRegex("0\\.[0-9]{6}"));
  EXPECT_NE(first, second);
}

// The cost must not be quadratic in the number of opening braces.
TEST(EventTemplateTest, BracesWithoutAnEndAreCheap) {
  const std::string text = std::string(1 << 20, '{') + "}}";
  EXPECT_EQ(FillTemplate(text, kValues), text);
}

}  // namespace
}  // namespace yard
