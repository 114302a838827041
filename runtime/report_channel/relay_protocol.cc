#include "runtime/report_channel/relay_protocol.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace runtime {
namespace {

constexpr std::string_view kGreeting = "YARD1 ";
constexpr std::string_view kAttach = "ATTACH1 ";
constexpr std::string_view kEnd = "END ";
constexpr std::string_view kRefusal = "ERR ";
constexpr std::string_view kOver = "OVER ";
// The trainer stores numbers as signed integers.
constexpr std::uint64_t kLargestNumber = std::numeric_limits<std::int64_t>::max();

// Removes the digits at the front of `text`. Returns false if there are no digits or the number is
// too large.
bool TakeNumber(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > kLargestNumber) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::string Line(std::string_view first, std::string_view second) {
  std::string line;
  line.reserve(first.size() + second.size() + 1);
  line.append(first).append(second).push_back('\n');
  return line;
}

std::string OnOneLine(std::string_view first, std::string_view reason) {
  std::string line = Line(first, reason);
  std::replace(line.begin(), line.end() - 1, '\n', ' ');
  return line;
}

}  // namespace

std::string RelayGreeting(std::string_view nonce) { return Line(kGreeting, nonce); }

std::optional<std::string_view> NonceOfGreeting(std::string_view line) {
  if (!line.starts_with(kGreeting)) return std::nullopt;
  return line.substr(kGreeting.size());
}

std::string RelayAttach(const AttachGreeting& greeting) {
  std::string words(greeting.nonce);
  words.append(" ").append(std::to_string(greeting.pid)).append(" ").append(greeting.request);
  return Line(kAttach, words);
}

std::optional<AttachGreeting> ParseAttachGreeting(std::string_view line) {
  if (!line.starts_with(kAttach)) return std::nullopt;
  line.remove_prefix(kAttach.size());
  AttachGreeting greeting;
  greeting.nonce = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), greeting.nonce.size() + 1));
  if (greeting.nonce.empty() || !TakeNumber(line, greeting.pid)) return std::nullopt;
  if (!line.starts_with(" {")) return std::nullopt;
  greeting.request = line.substr(1);
  return greeting;
}

std::string RelayLine(std::uint64_t number, std::string_view text) {
  return Line(std::to_string(number) + " ", text);
}

std::string RelayEnd(std::uint64_t last_number, std::string_view how) {
  std::string words = std::to_string(last_number);
  if (!how.empty()) words.append(" ").append(how);
  return Line(kEnd, words);
}

std::optional<NumberedLine> ParseRelayLine(std::string_view line) {
  NumberedLine parsed;
  parsed.is_end = line.starts_with(kEnd);
  if (parsed.is_end) line.remove_prefix(kEnd.size());
  if (!TakeNumber(line, parsed.number)) return std::nullopt;
  if (parsed.is_end && line.empty()) return parsed;
  if (!line.starts_with(' ')) return std::nullopt;
  if (parsed.is_end ? line.size() == 1 : parsed.number == 0) return std::nullopt;
  parsed.text = line.substr(1);
  return parsed;
}

void AppendRelayAnswer(std::uint64_t number, std::string_view answer, std::string& out) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  if (!answer.empty()) out.append(" ").append(answer);
  out.push_back('\n');
}

std::optional<NumberedLine> ParseRelayAnswer(std::string_view line) {
  NumberedLine parsed;
  if (!TakeNumber(line, parsed.number)) return std::nullopt;
  if (!line.empty() && line.front() != ' ') return std::nullopt;
  if (!line.empty()) parsed.text = line.substr(1);
  return parsed;
}

std::string RelayRefusal(std::string_view reason) { return OnOneLine(kRefusal, reason); }
std::string RelayOver(std::string_view reason) { return OnOneLine(kOver, reason); }

std::optional<std::string_view> ReasonOfRefusal(std::string_view line) {
  if (!line.starts_with(kRefusal)) return std::nullopt;
  return line.substr(kRefusal.size());
}

std::optional<std::string_view> ReasonOfOver(std::string_view line) {
  if (!line.starts_with(kOver)) return std::nullopt;
  return line.substr(kOver.size());
}

}  // namespace runtime
