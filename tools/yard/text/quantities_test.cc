#include "tools/yard/text/quantities.h"

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

TEST(QuantitiesTest, TimesHaveUnitsAndABareNumberIsSeconds) {
  const std::pair<const char*, absl::Duration> kCases[] = {
      {"30s", absl::Seconds(30)},         {"1.5h", absl::Minutes(90)}, {"1h30m", absl::Minutes(90)},
      {"250ms", absl::Milliseconds(250)}, {"2d", absl::Hours(48)},     {"90", absl::Seconds(90)},
      {"0.5", absl::Milliseconds(500)},   {"5min", absl::Minutes(5)},  {"0", absl::ZeroDuration()},
  };
  for (const auto& [text, duration] : kCases) EXPECT_EQ(ParseTime(text), duration) << text;
}

TEST(QuantitiesTest, WhatIsNoTimeIsNone) {
  for (const char* text : {"", "s", "-1s", "+1", "1 s", "1h30", "30 1h", "1e3", "inf", "nan", "1S",
                           "1..5s", ".", "1week", "99999999999999999999d", "s30", "0x10"}) {
    EXPECT_EQ(ParseTime(text), std::nullopt) << text;
  }
}

TEST(QuantitiesTest, ATimeComesBackFromItsText) {
  for (const absl::Duration duration :
       {absl::Milliseconds(1), absl::Milliseconds(1500), absl::Seconds(90), absl::Hours(1000)}) {
    EXPECT_EQ(ParseTime(FormatTime(duration)), duration) << FormatTime(duration);
  }
  EXPECT_EQ(FormatTime(absl::Milliseconds(1500)), "1500ms");
  EXPECT_EQ(FormatTime(absl::Minutes(2)), "120s");
}

TEST(QuantitiesTest, AMomentIsATimeAgoATimeOfDayOrADate) {
  const absl::TimeZone zone = absl::FixedTimeZone(2 * 3600);
  // In that zone it is 14:30:10.
  const absl::Time now =
      absl::FromCivil(absl::CivilSecond(2024, 5, 2, 12, 30, 10), absl::UTCTimeZone());
  const std::pair<const char*, absl::Time> kCases[] = {
      {"10m", now - absl::Minutes(10)},
      {"1h30m", now - absl::Minutes(90)},
      {"90", now - absl::Seconds(90)},
      {"14:30", now - absl::Seconds(10)},
      {"14:30:05", now - absl::Seconds(5)},
      {"14:30:10", now},
      {"14:30:11", now - absl::Hours(24) + absl::Seconds(1)},
      {"00:00", now - absl::Hours(14) - absl::Minutes(30) - absl::Seconds(10)},
      {"23:59", now - absl::Hours(14) - absl::Minutes(31) - absl::Seconds(10)},
      {"2024-05-02T12:30:05Z", now - absl::Seconds(5)},
      {"2024-05-02T12:30:05.5Z", now - absl::Milliseconds(4500)},
      {"2024-05-02 13:30:05+01:00", now - absl::Seconds(5)},
      {"2024-05-02T14:30", now - absl::Seconds(10)},
      {"2024-05-02 14:30:05", now - absl::Seconds(5)},
      {"2024-05-02", now - absl::Hours(14) - absl::Minutes(30) - absl::Seconds(10)},
      {"2030-01-01", absl::FromCivil(absl::CivilDay(2030, 1, 1), zone)},
      {"1000000d", absl::UnixEpoch()},
  };
  for (const auto& [text, moment] : kCases) EXPECT_EQ(ParseMoment(text, now, zone), moment) << text;
}

TEST(QuantitiesTest, WhatIsNoMomentIsNone) {
  for (const char* text : {"", "now", "infinite-past", "-5m", "25:00", "14:60", "14:30x",
                           "1969-12-31", "2024-13-01", "2024-05-02T", "10 m", "yesterday"}) {
    EXPECT_EQ(ParseMoment(text, absl::UnixEpoch() + absl::Hours(1e5), absl::UTCTimeZone()),
              std::nullopt)
        << text;
  }
}

TEST(QuantitiesTest, RanksAreNumbersAndRanges) {
  using Ranks = std::vector<std::uint32_t>;
  EXPECT_EQ(ParseRanks("0"), Ranks({0}));
  EXPECT_EQ(ParseRanks("0,2-3"), Ranks({0, 2, 3}));
  EXPECT_EQ(ParseRanks("3,1-3,0,3"), Ranks({0, 1, 2, 3}));
  EXPECT_EQ(ParseRanks("5-5"), Ranks({5}));
  EXPECT_EQ(ParseRanks("0-999")->size(), 1000U);
  for (const char* text : {"", ",", "1,", "a", "-1", "1-", "3-2", "1000", "1-2-3", "1 ", "0x1",
                           "99999999999", "1.5"}) {
    EXPECT_EQ(ParseRanks(text), std::nullopt) << text;
  }
}

TEST(QuantitiesTest, SizesKnowThousandsFromPowersOfTwo) {
  const std::pair<const char*, std::uint64_t> kCases[] = {
      {"512MiB", 512ULL << 20},
      {"512mib", 512ULL << 20},
      {"4k", 4096},
      {"4K", 4096},
      {"4kB", 4000},
      {"1.5GB", 1'500'000'000},
      {"1Gi", 1ULL << 30},
      {"2T", 2ULL << 40},
      {"0", 0},
      {"18446744073709551615", ~0ULL},
      {"7B", 7},
      {"0.5KiB", 512},
  };
  for (const auto& [text, bytes] : kCases) EXPECT_EQ(ParseSize(text), bytes) << text;
}

TEST(QuantitiesTest, WhatIsNoSizeIsNone) {
  for (const char* text : {"", "k", "-1", "1 MiB", "1e3", "MiB", "1MiBs", "1x", "inf", "0x10",
                           "18446744073709551616", "9999999T", "1.2.3"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(QuantitiesTest, ASizeComesBackFromItsText) {
  for (const std::uint64_t bytes : {0ULL, 1ULL, 1000ULL, 1024ULL, 1536ULL, 3ULL << 30, ~0ULL}) {
    EXPECT_EQ(ParseSize(FormatSize(bytes)), bytes) << FormatSize(bytes);
  }
  EXPECT_EQ(FormatSize(512ULL << 20), "512MiB");
}

TEST(QuantitiesTest, SignalsHaveNamesAndNumbers) {
  for (const char* text : {"SIGTERM", "TERM", "term", "sigterm", "15"}) {
    EXPECT_EQ(ParseSignal(text), SIGTERM) << text;
  }
  EXPECT_EQ(ParseSignal("USR1"), SIGUSR1);
  EXPECT_EQ(ParseSignal("64"), 64);
  for (const char* text : {"", "SIG", "TERMINATE", "0", "-15", "65", "15 ", "1.5", "SIGSIGTERM"}) {
    EXPECT_EQ(ParseSignal(text), std::nullopt) << text;
  }
}

TEST(QuantitiesTest, ASignalComesBackFromItsName) {
  for (int signal = 1; signal <= 64; ++signal) {
    EXPECT_EQ(ParseSignal(SignalName(signal)), signal) << SignalName(signal);
  }
  EXPECT_EQ(SignalName(SIGINT), "SIGINT");
}

}  // namespace
}  // namespace yard
