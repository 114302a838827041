#include "tools/yard/text/quantities.h"

#include <string.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/civil_time.h"
#include "runtime/text/byte_size.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

constexpr int kLastSignal = 64;
constexpr int kLastNamedSignal = 31;
constexpr std::uint32_t kLastRank = 999;

// Removes a number without sign and exponent from the front of `text`, and returns it.
std::optional<double> TakeNumber(std::string_view* text) {
  const std::size_t end = std::min(text->find_first_not_of("0123456789."), text->size());
  double number = 0;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + end, number);
  if (error != std::errc() || stop != text->data() + end) return std::nullopt;
  text->remove_prefix(end);
  return number;
}

std::string_view TakeLetters(std::string_view* text) {
  const std::size_t end = std::min(text->find_first_of("0123456789."), text->size());
  const std::string_view letters = text->substr(0, end);
  text->remove_prefix(end);
  return letters;
}

// Returns the seconds of a unit; 0 if the unit is unknown.
double SecondsOf(std::string_view unit) {
  if (unit == "ms") return 0.001;
  if (unit == "s") return 1;
  if (unit == "m" || unit == "min") return 60;
  if (unit == "h") return 3600;
  return unit == "d" ? 86400 : 0;
}

constexpr const char* kDates[] = {
    "%Y-%m-%dT%H:%M:%E*S%Ez", "%Y-%m-%d %H:%M:%E*S%Ez", "%Y-%m-%dT%H:%M%Ez",
    "%Y-%m-%d %H:%M%Ez",      "%Y-%m-%dT%H:%M:%E*S",    "%Y-%m-%d %H:%M:%E*S",
    "%Y-%m-%dT%H:%M",         "%Y-%m-%d %H:%M",         "%Y-%m-%d",
};
constexpr const char* kTimesOfDay[] = {"%H:%M:%E*S", "%H:%M"};

std::optional<std::uint32_t> ParseRank(std::string_view text) {
  std::uint32_t rank = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || stop != text.data() + text.size() || rank > kLastRank) {
    return std::nullopt;
  }
  return rank;
}

// Returns the bytes of a unit; 0 if the unit is unknown.
double BytesOf(std::string_view unit) {
  const std::string lower = absl::AsciiStrToLower(runtime::Absl(unit));
  if (lower.empty() || lower == "b") return 1;
  const std::size_t power = std::string_view("kmgt").find(lower[0]);
  if (power == std::string_view::npos) return 0;
  const std::string rest = lower.substr(1);
  if (rest.empty() || rest == "i" || rest == "ib") {
    return std::pow(1024.0, static_cast<double>(power + 1));
  }
  return rest == "b" ? std::pow(1000.0, static_cast<double>(power + 1)) : 0;
}

}  // namespace

std::optional<absl::Duration> ParseTime(std::string_view text) {
  double seconds = 0;
  bool bare = true;
  if (text.empty()) return std::nullopt;
  for (bool first = true; !text.empty(); first = false) {
    const auto number = TakeNumber(&text);
    if (!number.has_value()) return std::nullopt;
    const std::string_view unit = TakeLetters(&text);
    bare = unit.empty();
    if (bare && !first) return std::nullopt;
    if (!bare && SecondsOf(unit) == 0) return std::nullopt;
    seconds += *number * (bare ? 1 : SecondsOf(unit));
  }
  if (!(seconds < 1e11)) return std::nullopt;
  return absl::Seconds(seconds);
}

std::string FormatTime(absl::Duration duration) {
  const std::int64_t milliseconds = absl::ToInt64Milliseconds(duration);
  if (milliseconds % 1000 != 0) return absl::StrCat(milliseconds, "ms");
  return absl::StrCat(milliseconds / 1000, "s");
}

namespace {

// Parses a date, or a time of day: that of today, else that of the day before or after, whichever
// is on the requested side of now.
std::optional<absl::Time> ParseDateOrClock(std::string_view text, absl::Time now,
                                           absl::TimeZone zone, bool is_to_come) {
  // absl::ParseTime() also accepts words, which are excluded here.
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) {
    return std::nullopt;
  }
  absl::Time moment;
  std::string ignored;
  for (const char* format : kDates) {
    if (!absl::ParseTime(format, runtime::Absl(text), zone, &moment, &ignored)) continue;
    return moment < absl::UnixEpoch() ? std::nullopt : std::optional(moment);
  }
  for (const char* format : kTimesOfDay) {
    if (!absl::ParseTime(format, runtime::Absl(text), absl::UTCTimeZone(), &moment, &ignored)) {
      continue;
    }
    const absl::Duration late = moment - absl::UnixEpoch();
    const absl::CivilDay today = absl::ToCivilDay(now, zone);
    const auto on = [&](absl::CivilDay day) {
      return absl::FromCivil(absl::CivilSecond(day) + absl::ToInt64Seconds(late), zone);
    };
    if (is_to_come) return on(today) > now ? on(today) : on(today + 1);
    return on(today) <= now ? on(today) : on(today - 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<absl::Time> ParseMoment(std::string_view text, absl::Time now, absl::TimeZone zone) {
  if (const auto ago = ParseTime(text)) return std::max(now - *ago, absl::UnixEpoch());
  return ParseDateOrClock(text, now, zone, /*is_to_come=*/false);
}

std::optional<absl::Time> ParseMomentToCome(std::string_view text, absl::Time now,
                                            absl::TimeZone zone) {
  if (const auto later = ParseTime(text)) return now + *later;
  return ParseDateOrClock(text, now, zone, /*is_to_come=*/true);
}

std::optional<std::vector<std::uint32_t>> ParseRanks(std::string_view text) {
  std::set<std::uint32_t> ranks;
  const std::vector<std::string> parts = absl::StrSplit(runtime::Absl(text), ',');
  for (const std::string& part : parts) {
    const std::vector<std::string> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    const auto first = ParseRank(ends.front()), last = ParseRank(ends.back());
    if (!first.has_value() || !last.has_value() || *first > *last) return std::nullopt;
    for (std::uint32_t rank = *first; rank <= *last; ++rank) ranks.insert(rank);
  }
  return std::vector<std::uint32_t>(ranks.begin(), ranks.end());
}

std::optional<std::uint64_t> ParseSize(std::string_view text) {
  // Without a unit and a decimal point, every 64-bit number is exact.
  std::uint64_t whole = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc() && stop == text.data() + text.size()) return whole;
  const auto number = TakeNumber(&text);
  if (!number.has_value() || BytesOf(text) == 0) return std::nullopt;
  const double bytes = std::ceil(*number * BytesOf(text));
  if (!(bytes < 0x1p63)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string FormatSize(std::uint64_t bytes) { return runtime::ByteSize(bytes); }

std::optional<int> ParseSignal(std::string_view text) {
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && stop == text.data() + text.size()) {
    return number >= 1 && number <= kLastSignal ? std::optional(number) : std::nullopt;
  }
  std::string name = absl::AsciiStrToUpper(runtime::Absl(text));
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int signal = 1; signal <= kLastNamedSignal; ++signal) {
    const char* const known = sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  return std::nullopt;
}

std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat(signal) : absl::StrCat("SIG", name);
}

}  // namespace yard
