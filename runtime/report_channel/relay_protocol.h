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
//   ALIVE                      nothing
//
// ALIVE, after the greeting, says that the program lives while its next line is on its way: the
// files that the line names are being copied from another host.
//
// A shim that has attached itself to a running process asks for a trial with its first greeting,
// ATTACH1 NONCE PID REQUEST, and ends with END N HOW. OVER REASON tells it at any time that the
// trial has ended and takes nothing more.
//
// Pure functions without dependencies, because the static shim links them.

// Longest line that a shim may send, without its newline: a report line with its number.
inline constexpr std::size_t kMaxRelayedLine = kMaxReportLine + 64;
inline constexpr std::string_view kGreeted = "OK";
inline constexpr std::string_view kEnded = "END";
inline constexpr std::string_view kAlive = "ALIVE";

// With the newline.
std::string RelayGreeting(std::string_view nonce);
// The nonce of a greeting. Nothing: the line is no greeting.
std::optional<std::string_view> NonceOfGreeting(std::string_view line);

// A request for the trial of a process that runs already. Views into the line that was parsed.
struct AttachGreeting {
  std::string_view nonce;    // Chosen by the shim for the attempt.
  std::uint64_t pid = 0;     // Pid of the process, as its shim knows it.
  std::string_view request;  // A JSON object (docs/report-channel.md).
};
// With the newline.
std::string RelayAttach(const AttachGreeting& greeting);
// Nothing: the line is no such greeting.
std::optional<AttachGreeting> ParseAttachGreeting(std::string_view line);

// How an attached process has ended: it has said so, it is gone, or it only closed its channel.
inline constexpr std::string_view kEndFinished = "finished";
inline constexpr std::string_view kEndGone = "gone";
inline constexpr std::string_view kEndClosed = "closed";

// A numbered line, or the last number of an attempt that has ended (`text` is how, or empty then).
struct NumberedLine {
  std::uint64_t number = 0;
  std::string_view text;  // A view into the line that was parsed.
  bool is_end = false;
};
// With the newline.
std::string RelayLine(std::uint64_t number, std::string_view text);
std::string RelayEnd(std::uint64_t last_number, std::string_view how = {});
// Nothing: neither "N TEXT" with N from 1 nor "END N" nor "END N HOW".
std::optional<NumberedLine> ParseRelayLine(std::string_view line);

// Appends the answer to line `number`, with the newline; an empty one is the number alone.
void AppendRelayAnswer(std::uint64_t number, std::string_view answer, std::string& out);
// Nothing: not a number, alone or with a space and an answer behind it.
std::optional<NumberedLine> ParseRelayAnswer(std::string_view line);
// "ERR REASON" with the newline; newlines in the reason become spaces.
std::string RelayRefusal(std::string_view reason);
// "OVER REASON", likewise.
std::string RelayOver(std::string_view reason);
// The reasons of the two. Nothing: another line.
std::optional<std::string_view> ReasonOfOver(std::string_view line);
std::optional<std::string_view> ReasonOfRefusal(std::string_view line);

}  // namespace runtime

#endif  // RUNTIME_REPORT_CHANNEL_RELAY_PROTOCOL_H_
