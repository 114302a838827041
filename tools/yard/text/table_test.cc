#include "tools/yard/text/table.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

TEST(TableTest, AlignsColumnsAndDropsTrailingSpace) {
  Table table({"NAME", "> PID", "STATE"});
  table.AddRow({"launcher", "7", "up"});
  table.AddRow({"a", "12345"});
  EXPECT_EQ(table.ToString(),
            "NAME        PID  STATE\n"
            "launcher      7  up\n"
            "a         12345\n");
}

TEST(TableTest, WithoutRowsIsItsHeader) { EXPECT_EQ(Table({"A", "B"}).ToString(), "A  B\n"); }

TEST(TableTest, AnOptionalColumnIsThereIfARowHasIt) {
  Table table({"A", "?>HOST", "B"});
  table.AddRow({"1", "", "2"});
  EXPECT_EQ(table.ToString(), "A  B\n1  2\n");
  table.AddRow({"3", "x", "4"});
  EXPECT_EQ(table.ToString(), "A  HOST  B\n1        2\n3     x  4\n");
}

TEST(TableTest, CountsCharactersNotBytes) {
  Table table({"N", "X"});
  table.AddRow({"äöü", "1"});
  table.AddRow({"abc", "2"});
  EXPECT_EQ(table.ToString(), "N    X\näöü  1\nabc  2\n");
}

TEST(TableTest, WideCharactersTakeTwoColumns) {
  Table table({"N", "X"});
  table.AddRow({"\u6e2c\u8a66", "1"});
  table.AddRow({"abc", "2"});
  EXPECT_EQ(table.ToString(), "N     X\n\u6e2c\u8a66  1\nabc   2\n");
}

TEST(TableTest, OnATerminalTheWidestCellsAreCut) {
  Table table({"NAME", ">POINTS"});
  table.AddRow({std::string(50, 'n'), "17"});
  EXPECT_EQ(table.ToString(20), "NAME          POINTS\nnnnnnnnnnnn\u2026      17\n");
  EXPECT_NE(table.ToString().find(std::string(50, 'n')), std::string::npos);
}

TEST(TableTest, OneLongCellDoesNotPadAllOthers) {
  Table table({"NAME", "X"});
  table.AddRow({std::string(5000, 'n'), "1"});
  for (int i = 0; i < 100; ++i) table.AddRow({"a", "2"});
  EXPECT_LT(table.ToString().size(), 5000u + 102 * 110);
}

TEST(ShortNumbersTest, HaveAsManyDigitsAsItTakes) {
  const auto texts = [](std::vector<double> values) { return ShortNumbers(values); };
  EXPECT_EQ(texts({1e7, 1e7 + 49}), (std::vector<std::string>{"10000000", "10000049"}));
  EXPECT_EQ(texts({0.5, 0.25}), (std::vector<std::string>{"0.5", "0.25"}));
  EXPECT_EQ(texts({1.0 / 3, 1.0 / 3}), (std::vector<std::string>{"0.333333", "0.333333"}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(texts({nan, nan}), (std::vector<std::string>{"nan", "nan"}));
}

TEST(TableTest, ACellCannotDriveTheTerminalOrBreakItsRow) {
  Table table({"N"});
  table.AddRow({"a\x1b[31m\nb\tc"});
  EXPECT_EQ(table.ToString(), "N\na\\x1B[31m\\x0Ab c\n");
}

TEST(TableDeathTest, ARowIsNotLongerThanTheHeader) {
  Table table({"N"});
  EXPECT_DEATH(table.AddRow({"1", "2"}), "");
}

TEST(ShortDurationTest, TakesTheUnitThatFits) {
  EXPECT_EQ(ShortDuration(absl::Milliseconds(230)), "0.2 s");
  EXPECT_EQ(ShortDuration(absl::Seconds(12)), "12 s");
  EXPECT_EQ(ShortDuration(absl::Seconds(59.9)), "59 s");
  EXPECT_EQ(ShortDuration(absl::Minutes(3)), "3 min");
  EXPECT_EQ(ShortDuration(absl::Hours(47)), "47 h");
  EXPECT_EQ(ShortDuration(absl::Hours(48)), "2 d");
}

TEST(ShortDurationTest, NeverShowsAClockThatWentBack) {
  EXPECT_EQ(ShortDuration(absl::Seconds(-5)), "0.0 s");
  EXPECT_EQ(ShortDuration(absl::InfiniteDuration()), "-");
}

TEST(LocalTimeTest, SaysItsZoneUnlessThatIsUtc) {
  EXPECT_EQ(LocalTime(1'700'000'000'123'456, absl::FixedTimeZone(19'800)),
            "2023-11-15T03:43:20.123456+05:30");
  EXPECT_EQ(LocalTime(1'700'000'000'123'456, absl::UTCTimeZone()), IsoTime(1'700'000'000'123'456));
  EXPECT_EQ(LocalTime(0, absl::FixedTimeZone(19'800)), "");
}

TEST(IsoTimeTest, IsUtcWithMicroseconds) {
  EXPECT_EQ(IsoTime(1), "1970-01-01T00:00:00.000001Z");
  EXPECT_EQ(IsoTime(1'700'000'000'123'456), "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(IsoTime(0), "");
}

TEST(ShortNumberTest, HasAtMostSixSignificantDigits) {
  EXPECT_EQ(ShortNumber(0.0811), "0.0811");
  EXPECT_EQ(ShortNumber(0.1 + 0.2), "0.3");
  EXPECT_EQ(ShortNumber(1.2e-5), "1.2e-05");
  EXPECT_EQ(ShortNumber(1234567), "1.23457e+06");
  EXPECT_EQ(ShortNumber(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(ShortNumber(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(ShortBytesTest, TakesTheUnitThatFits) {
  EXPECT_EQ(ShortBytes(0), "0 B");
  EXPECT_EQ(ShortBytes(999), "999 B");
  EXPECT_EQ(ShortBytes(12'300'000), "12.3 MB");
  EXPECT_EQ(ShortBytes(999'960), "1.0 MB");
  EXPECT_EQ(ShortBytes(std::numeric_limits<std::uint64_t>::max()), "18.4 EB");
}

}  // namespace
}  // namespace yard
