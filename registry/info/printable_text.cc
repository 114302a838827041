#include "registry/info/printable_text.h"

#include <cstddef>
#include <cstdint>

namespace registry {
namespace {

constexpr std::uint32_t kInvalid = 0xFFFF'FFFF;

// Takes one code point off the front of `text`, which is not empty.
std::uint32_t TakeCodePoint(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  if (first < 0x80) return first;
  if (first < 0xC2 || first > 0xF4) return kInvalid;
  const std::size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  if (text.size() < more) return kInvalid;
  std::uint32_t code_point = first & (0x3Fu >> more);
  for (std::size_t i = 0; i < more; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return kInvalid;
    code_point = code_point << 6 | (byte & 0x3F);
  }
  text.remove_prefix(more);
  const std::uint32_t least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  return code_point < least || surrogate || code_point > 0x10FFFF ? kInvalid : code_point;
}

bool IsPrintable(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  const bool separator = c == 0x2028 || c == 0x2029;
  const bool turns = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
                     (c >= 0x2066 && c <= 0x2069);
  return c != kInvalid && !control && !separator && !turns;
}

}  // namespace

bool IsPrintableText(std::string_view text) {
  while (!text.empty()) {
    if (!IsPrintable(TakeCodePoint(text))) return false;
  }
  return true;
}

}  // namespace registry
