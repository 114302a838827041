#ifndef RUNTIME_REPORT_CHANNEL_RELAY_PROTOCOL_H_
#define RUNTIME_REPORT_CHANNEL_RELAY_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace runtime {

// Longest line that a program may report, in bytes without its newline (docs/report-channel.md).
inline constexpr std::size_t kMaxReportLine = 1 << 20;

// The protocol between a shim and the trainer, in lines that end with a newline:
//
//   shim                       trainer
//   YARD1 NONCE                OK, or ERR REASON
//   N LINE (N from 1)          N, or N ANSWER
//   END N (the last number)    END
//   ALIVE                      nothing
//
// After the greeting, ALIVE says that the program is alive although its next line is delayed: the
// files that the line names are being copied from another host.
//
// A shim that has attached itself to a running process requests a trial with its first greeting,
// ATTACH1 NONCE PID REQUEST, and ends with END N HOW. OVER REASON may arrive at any time and says
// that the trial has ended and accepts nothing more.
//
// Pure functions without dependencies, because the statically linked shim uses them.

// Longest line that a shim may send, without its newline: a report line with its number.
inline constexpr std::size_t kMaxRelayedLine = kMaxReportLine + 64;
inline constexpr std::string_view kGreeted = "OK";
inline constexpr std::string_view kEnded = "END";
inline constexpr std::string_view kAlive = "ALIVE";

// Includes the newline.
std::string RelayGreeting(std::string_view nonce);
// Returns the nonce of a greeting; null if the line is not a greeting.
std::optional<std::string_view> NonceOfGreeting(std::string_view line);

// A request for the trial of a process that already runs. The views point into the parsed line.
struct AttachGreeting {
  std::string_view nonce;    // Chosen by the shim for this attempt.
  std::uint64_t pid = 0;     // The process's pid as the shim sees it.
  std::string_view request;  // A JSON object (docs/report-channel.md).
};
// Includes the newline.
std::string RelayAttach(const AttachGreeting& greeting);
// Returns null if the line is not such a greeting.
std::optional<AttachGreeting> ParseAttachGreeting(std::string_view line);

// How an attached process ended: it said so, it disappeared, or it only closed its channel.
inline constexpr std::string_view kEndFinished = "finished";
inline constexpr std::string_view kEndGone = "gone";
inline constexpr std::string_view kEndClosed = "closed";

// A numbered line, or the last number of an ended attempt (`text` then says how it ended, or is
// empty).
struct NumberedLine {
  std::uint64_t number = 0;
  std::string_view text;  // Points into the parsed line.
  bool is_end = false;
};
// Include the newline.
std::string RelayLine(std::uint64_t number, std::string_view text);
std::string RelayEnd(std::uint64_t last_number, std::string_view how = {});
// Returns null if the line is not "N TEXT" with N from 1, "END N" or "END N HOW".
std::optional<NumberedLine> ParseRelayLine(std::string_view line);

// Appends the answer to line `number`, with the newline; an empty answer is the number alone.
void AppendRelayAnswer(std::uint64_t number, std::string_view answer, std::string& out);
// Returns null if the line is not a number, alone or followed by a space and an answer.
std::optional<NumberedLine> ParseRelayAnswer(std::string_view line);
// Returns "ERR REASON" with the newline; newlines in the reason become spaces.
std::string RelayRefusal(std::string_view reason);
// Returns "OVER REASON" likewise.
std::string RelayOver(std::string_view reason);
// Return the reasons of OVER and ERR lines; null for other lines.
std::optional<std::string_view> ReasonOfOver(std::string_view line);
std::optional<std::string_view> ReasonOfRefusal(std::string_view line);

}  // namespace runtime

#endif  // RUNTIME_REPORT_CHANNEL_RELAY_PROTOCOL_H_
