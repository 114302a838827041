#ifndef RUNTIME_REPORT_CHANNEL_RELAY_PROTOCOL_H_
#define RUNTIME_REPORT_CHANNEL_RELAY_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace runtime {

// Longest line that a program may report, without its newline (docs/report-channel.md).
inline constexpr std::size_t kMaxReportLine = 1 << 20;

// The protocol of a shim and the trainer, in lines, each with a newline behind it:
//
//   shim                       trainer
//   YARD1 NONCE                OK, or ERR REASON
//   N LINE (N from 1)          N, or N ANSWER
//   END N (the last number)    END
//
// Pure functions without dependencies, because the static shim links them.

// Longest line that a shim may send, without its newline: a report line with its number.
inline constexpr std::size_t kMaxRelayedLine = kMaxReportLine + 64;
inline constexpr std::string_view kGreeted = "OK";
inline constexpr std::string_view kEnded = "END";

// With the newline.
std::string RelayGreeting(std::string_view nonce);
// The nonce of a greeting. Nothing: the line is no greeting.
std::optional<std::string_view> NonceOfGreeting(std::string_view line);

// A numbered line, or the last number of an attempt that has ended (`text` is empty then).
struct NumberedLine {
  std::uint64_t number = 0;
  std::string_view text;  // A view into the line that was parsed.
  bool is_end = false;
};
// With the newline.
std::string RelayLine(std::uint64_t number, std::string_view text);
std::string RelayEnd(std::uint64_t last_number);
// Nothing: neither "N TEXT" with N from 1 nor "END N".
std::optional<NumberedLine> ParseRelayLine(std::string_view line);

// Appends the answer to line `number`, with the newline; an empty one is the number alone.
void AppendRelayAnswer(std::uint64_t number, std::string_view answer, std::string& out);
// Nothing: not a number, alone or with a space and an answer behind it.
std::optional<NumberedLine> ParseRelayAnswer(std::string_view line);
// "ERR REASON" with the newline; newlines in the reason become spaces.
std::string RelayRefusal(std::string_view reason);

}  // namespace runtime

#endif  // RUNTIME_REPORT_CHANNEL_RELAY_PROTOCOL_H_
