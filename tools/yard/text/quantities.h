#ifndef TOOLS_YARD_TEXT_QUANTITIES_H_
#define TOOLS_YARD_TEXT_QUANTITIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace yard {

// Parses and formats times, sizes, ranks and signals as people write them. Parsers return nothing
// for invalid text.

inline constexpr char kTimeForm[] = "a time like 30s, 1.5h, 1h30m or 250ms (a number: seconds)";
inline constexpr char kSizeForm[] = "a size like 512MiB, 1.5GB or 4k (a number: bytes)";
inline constexpr char kMomentForm[] =
    "a time ago like 10m or 2h, or a time like 14:30, 14:30:05 or 2024-05-01T14:30:05Z";
inline constexpr char kMomentToComeForm[] =
    "a time from now on like 90m or 2h, or a time like 22:00, 22:00:05 or 2026-05-01T06:00";
inline constexpr char kRanksForm[] = "ranks from 0 to 999 like 0,2-3";
inline constexpr char kSignalForm[] = "a signal like SIGTERM, TERM or 15";

// Parses a sum of numbers with ms, s, m, h or d; a bare number is seconds. Finite and not negative.
std::optional<absl::Duration> ParseTime(std::string_view text);
// Formats to the millisecond, so that ParseTime() restores it: "90s", "250ms".
std::string FormatTime(absl::Duration duration);

// Parses a past moment. Text that ParseTime() accepts means that long ago. HH:MM[:SS] is the latest
// past moment with that time in `zone`. A date is YYYY-MM-DD, alone (its midnight) or followed by T
// or a space, a time and, for another zone, Z or +HH:MM. Not before 1970.
std::optional<absl::Time> ParseMoment(std::string_view text, absl::Time now, absl::TimeZone zone);

// Parses a future moment: "2h" means in two hours, HH:MM[:SS] the next moment with that time. A
// date is taken as it is, even if it has passed.
std::optional<absl::Time> ParseMomentToCome(std::string_view text, absl::Time now,
                                            absl::TimeZone zone);

// Parses numbers and inclusive ranges "2-3". Returns them sorted, each once.
std::optional<std::vector<std::uint32_t>> ParseRanks(std::string_view text);

// Parses a size in bytes. kB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB and single letters,
// as in ulimit and container tools, are powers of 1024. Case-insensitive.
std::optional<std::uint64_t> ParseSize(std::string_view text);
// Formats with the largest unit of 1024 that divides the size: "512MiB", "1000".
std::string FormatSize(std::uint64_t bytes);

// Parses a name with or without SIG, in any case, or a number from 1 to 64.
std::optional<int> ParseSignal(std::string_view text);
// Returns "SIGTERM", or the number if the signal has no name.
std::string SignalName(int signal);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_QUANTITIES_H_
