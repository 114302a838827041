#include "runtime/text/printable.h"

#include <cstddef>
#include <cstdint>

namespace runtime {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

// The code point at the start of `text` and how many bytes it takes; 0 bytes: not valid UTF-8.
struct Decoded {
  std::uint32_t code_point = 0;
  std::size_t bytes = 0;
};

Decoded Decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code_point = first & (0x7F >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3F);
  }
  const bool too_long = (bytes == 3 && code_point < 0x800) || (bytes == 4 && code_point < 0x10000);
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (too_long || surrogate || code_point > 0x10FFFF) return {};
  return {code_point, bytes};
}

// C0 but tab, DEL, C1, and the characters that turn the direction of the text around.
bool IsControl(std::uint32_t c) {
  if (c == '\t') return false;
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x200E || c == 0x200F || c == 0x061C ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

void AppendHex(std::string_view bytes, std::string* result) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    *result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
}

}  // namespace

std::size_t CharacterBytes(std::string_view text) { return Decode(text).bytes; }

std::string Printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Decoded decoded = Decode(text);
    const std::size_t bytes = decoded.bytes == 0 ? 1 : decoded.bytes;
    if (decoded.bytes == 0 || IsControl(decoded.code_point)) {
      AppendHex(text.substr(0, bytes), &result);
    } else {
      result.append(text.substr(0, bytes));
    }
    text.remove_prefix(bytes);
  }
  return result;
}

std::string PrintableLines(std::string_view text) {
  std::string result;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    result += Printable(text.substr(0, end)) + '\n';
    text.remove_prefix(end + 1);
  }
  return result + Printable(text);
}

}  // namespace runtime
