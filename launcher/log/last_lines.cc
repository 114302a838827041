#include "launcher/log/last_lines.h"

#include <algorithm>
#include <utility>

#include "launcher/log/log_segments.h"
#include "runtime/text/utf8.h"

namespace launcher {
namespace {

// More is read than is shown, since escape sequences are dropped.
constexpr std::size_t kReadBytes = 2 * kLastLinesBytes;
constexpr std::string_view kCut = "...";

// Returns the last bytes of a log, without a first partial line unless it is the only one.
std::string ReadTail(const LogFile& log) {
  LogSegments segments(log.path);
  const auto extent = segments.Look();
  if (!extent.ok() || extent->end <= log.begin) return "";
  const std::uint64_t begin = std::max(log.begin, extent->begin);
  const std::uint64_t from = extent->end - std::min<std::uint64_t>(extent->end - begin, kReadBytes);
  const std::string bytes = segments.Read(from, extent->end - from).value_or("");
  if (from == begin) return bytes;
  const auto newline = bytes.find('\n');
  const bool has_more = newline != std::string::npos && newline + 1 < bytes.size();
  return has_more ? bytes.substr(newline + 1) : bytes;
}

// Returns the length of the UTF-8 character at the front of `text`; 0 if `text` does not begin with
// a printable character.
std::size_t ShownLength(std::string_view text) {
  const runtime::Utf8Character character = runtime::DecodeUtf8(text);
  const char32_t c = character.code_point;
  return c < 0x20 || (c >= 0x7f && c < 0xa0) ? 0 : character.bytes;
}

// Returns the length of the escape sequence at the front of `text`; 0 if `text` does not begin with
// one.
std::size_t EscapeLength(std::string_view text) {
  if (text.size() < 2 || text[0] != '\x1b') return 0;
  if (text[1] == '[') {
    for (std::size_t i = 2; i < text.size(); ++i) {
      if (text[i] >= 0x40 && text[i] <= 0x7e) return i + 1;
      if (text[i] < 0x20) return 0;
    }
    return 0;
  }
  if (text[1] == ']') {  // A title or a link, which ends with BEL or with ESC and a backslash.
    const auto end = text.find_first_of("\a\x1b", 2);
    if (end == std::string_view::npos) return 0;
    return text[end] == '\a' ? end + 1 : std::min(end + 2, text.size());
  }
  if (text[1] >= 0x20 && text[1] <= 0x2f) return text.size() > 2 ? 3 : 0;  // A character set.
  return text[1] >= 0x40 && text[1] <= 0x5f ? 2 : 0;
}

std::string_view AfterCarriageReturns(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const auto last = line.rfind('\r');
  return last == std::string_view::npos ? line : line.substr(last + 1);
}

// Returns the last bytes of a line, at most `size`, from the beginning of a character.
std::string EndOf(const std::string& line, std::size_t size) {
  if (line.size() <= size) return line;
  std::size_t from = line.size() - (size - std::min(size, kCut.size()));
  while (from < line.size() && (static_cast<unsigned char>(line[from]) & 0xc0) == 0x80) ++from;
  return std::string(kCut) + line.substr(from);
}

// Prepends the last lines of `text` to `lines`. Returns false once there is no room.
bool Prepend(std::string_view text, std::vector<std::string>* lines, std::size_t* room) {
  while (!text.empty()) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    const auto newline = text.rfind('\n');
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    std::string line = PrintableLine(text.substr(begin));
    text = text.substr(0, begin);
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (lines->empty()) line = EndOf(line, *room);
    if (lines->size() == kLastLines || line.size() > *room) return false;
    *room -= line.size();
    lines->insert(lines->begin(), std::move(line));
  }
  return true;
}

}  // namespace

std::string PrintableLine(std::string_view line) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  std::string_view rest = AfterCarriageReturns(line);
  while (!rest.empty()) {
    if (const std::size_t escape = EscapeLength(rest); escape != 0) {
      rest.remove_prefix(escape);
      continue;
    }
    const std::size_t shown = rest[0] == '\t' ? 1 : ShownLength(rest);
    if (shown != 0) {
      text += rest.substr(0, shown);
    } else {
      const auto byte = static_cast<unsigned char>(rest[0]);
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
    rest.remove_prefix(std::max<std::size_t>(shown, 1));
  }
  return text;
}

std::vector<std::string> LastLines(std::span<const LogFile> newest_first) {
  std::vector<std::string> lines;
  std::size_t room = kLastLinesBytes;
  for (const LogFile& log : newest_first) {
    if (!Prepend(ReadTail(log), &lines, &room)) break;
  }
  return lines;
}

void AddLastLines(std::span<const LogFile> errors, std::span<const LogFile> output,
                  msg::FailureT* failure) {
  failure->last_lines = LastLines(errors);
  const bool has_errors = !failure->last_lines.empty();
  if (!has_errors) failure->last_lines = LastLines(output);
  const auto& logs = has_errors || failure->last_lines.empty() ? errors : output;
  failure->log_path = logs.empty() ? "" : logs.front().path;
}

}  // namespace launcher
