#include "runtime/report_channel/relay_protocol.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace runtime {
namespace {

constexpr std::string_view kGreeting = "YARD1 ";
constexpr std::string_view kEnd = "END ";
// The trainer stores it signed.
constexpr std::uint64_t kLargestNumber = std::numeric_limits<std::int64_t>::max();

// Takes the digits at the front of `text` away. False without digits, or if the number is too
// large.
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

}  // namespace

std::string RelayGreeting(std::string_view nonce) { return Line(kGreeting, nonce); }

std::optional<std::string_view> NonceOfGreeting(std::string_view line) {
  if (!line.starts_with(kGreeting)) return std::nullopt;
  return line.substr(kGreeting.size());
}

std::string RelayLine(std::uint64_t number, std::string_view text) {
  return Line(std::to_string(number) + " ", text);
}

std::string RelayEnd(std::uint64_t last_number) { return Line(kEnd, std::to_string(last_number)); }

std::optional<NumberedLine> ParseRelayLine(std::string_view line) {
  NumberedLine parsed;
  parsed.is_end = line.starts_with(kEnd);
  if (parsed.is_end) line.remove_prefix(kEnd.size());
  if (!TakeNumber(line, parsed.number)) return std::nullopt;
  if (parsed.is_end) return line.empty() ? std::optional(parsed) : std::nullopt;
  if (parsed.number == 0 || !line.starts_with(' ')) return std::nullopt;
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

std::string RelayRefusal(std::string_view reason) {
  std::string line = Line("ERR ", reason);
  std::replace(line.begin(), line.end() - 1, '\n', ' ');
  return line;
}

}  // namespace runtime
