#include "tools/yard/follow/json_output.h"

#include <sstream>

#include "gtest/gtest.h"

namespace yard {
namespace {

TEST(MetricsLineTest, ShowsTheFirstFewNumbers) {
  EXPECT_EQ(MetricsLine(R"({"acc":0.974,"loss":NaN,"n":3,"step":7,"z":1})", 3),
            "acc 0.974  loss NaN  n 3");
}

TEST(MetricsLineTest, NumbersOverTheLargestAreInfinite) {
  EXPECT_EQ(MetricsLine(R"({"loss":1e400,"n":3})"), "loss Infinity  n 3");
}

TEST(MetricsLineTest, LargeIntegersKeepTheirSign) {
  EXPECT_EQ(MetricsLine(R"({"a":18446744073709551615,"b":-9223372036854775808})"),
            "a 18446744073709551615  b -9223372036854775808");
}

TEST(MetricsLineTest, ANameCannotDriveTheTerminal) {
  EXPECT_EQ(MetricsLine(R"({"a\u001b[31m":1})"), "a\\x1B[31m 1");
}

TEST(PrintJsonTest, InvalidUtf8IsReplaced) {
  std::ostringstream out;
  Context context;
  context.out = &out;
  PrintJson(context, {{"name", "a\xff"}});
  EXPECT_EQ(out.str(), "{\"name\":\"a\xEF\xBF\xBD\"}\n");
}

TEST(PrintJsonTest, IntegersBeyondADoubleAreStrings) {
  std::ostringstream out;
  Context context;
  context.out = &out;
  PrintJson(context, {{"seed", 18'446'744'073'709'551'615U}, {"steps", {1, 2}}});
  EXPECT_EQ(out.str(), "{\"seed\":\"18446744073709551615\",\"steps\":[1,2]}\n");
}

TEST(PrintJsonTest, OnATerminalItIsAscii) {
  std::ostringstream out;
  Context context;
  context.out = &out;
  context.out_is_terminal = true;
  PrintJson(context, {{"name",
                       "\xC2\x9B"
                       "31m\xC3\xA9"}});
  EXPECT_EQ(out.str(), "{\"name\":\"\\u009b31m\\u00e9\"}\n");
}

}  // namespace
}  // namespace yard
