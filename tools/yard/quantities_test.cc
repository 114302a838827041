#include "tools/yard/quantities.h"

#include <signal.h>

#include <string>
#include <utility>

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
