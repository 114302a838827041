#ifndef TOOLS_YARD_TEXT_QUANTITIES_H_
#define TOOLS_YARD_TEXT_QUANTITIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace yard {

// Times, sizes, ranks and signals as people write them, and back. Nothing: the text is none.

inline constexpr char kTimeForm[] = "a time like 30s, 1.5h, 1h30m or 250ms (a number: seconds)";
inline constexpr char kSizeForm[] = "a size like 512MiB, 1.5GB or 4k (a number: bytes)";
inline constexpr char kMomentForm[] =
    "a time ago like 10m or 2h, or a time like 14:30, 14:30:05 or 2024-05-01T14:30:05Z";
inline constexpr char kMomentToComeForm[] =
    "a time from now on like 90m or 2h, or a time like 22:00, 22:00:05 or 2026-05-01T06:00";
inline constexpr char kRanksForm[] = "ranks from 0 to 999 like 0,2-3";
inline constexpr char kSignalForm[] = "a signal like SIGTERM, TERM or 15";

// Numbers with ms, s, m, h or d, added up; a bare number is seconds. Not negative, finite.
std::optional<absl::Duration> ParseTime(std::string_view text);
// To the millisecond, so that ParseTime() gives it back: "90s", "250ms".
std::string FormatTime(absl::Duration duration);

// A text that ParseTime() reads means that long ago. HH:MM[:SS] is the last time it was so late in
// `zone`. A date is YYYY-MM-DD, alone (its midnight) or with a T or a space, a time and, for
// another zone than this, Z or +HH:MM. Not before 1970.
std::optional<absl::Time> ParseMoment(std::string_view text, absl::Time now, absl::TimeZone zone);

// The same for a time that is still to come: "2h" is in two hours, HH:MM[:SS] the next time that it
// will be so late. A date is what it is, also if it is over.
std::optional<absl::Time> ParseMomentToCome(std::string_view text, absl::Time now,
                                            absl::TimeZone zone);

// Numbers and ranges "2-3", both ends in it; in their order, each once.
std::optional<std::vector<std::uint32_t>> ParseRanks(std::string_view text);

// In bytes. kB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB and the letters alone, as ulimit
// and the container tools have them, powers of 1024. Case does not matter.
std::optional<std::uint64_t> ParseSize(std::string_view text);
// The largest unit of 1024 that leaves no rest: "512MiB", "1000".
std::string FormatSize(std::uint64_t bytes);

// A name with or without SIG in any case, or a number from 1 to 64.
std::optional<int> ParseSignal(std::string_view text);
// "SIGTERM"; the number alone if there is no name.
std::string SignalName(int signal);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_QUANTITIES_H_
