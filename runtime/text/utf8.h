#ifndef RUNTIME_TEXT_UTF8_H_
#define RUNTIME_TEXT_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace runtime {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

inline bool IsSurrogate(char32_t code_point) { return code_point >= 0xD800 && code_point < 0xE000; }

struct Utf8Character {
  char32_t code_point = 0;
  std::size_t bytes = 0;  // 0: not UTF-8.
};

// Decodes the first character of `text`, which must not be empty. Strict: no overlong forms,
// nothing above U+10FFFF; surrogates only on request (like Python's "surrogatepass").
inline Utf8Character DecodeUtf8(std::string_view text, bool surrogates = false) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  char32_t code_point = first & (0x7F >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3F);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kLeast[bytes] || code_point > 0x10FFFF) return {};
  if (!surrogates && IsSurrogate(code_point)) return {};
  return {code_point, bytes};
}

// Returns the size in bytes of the first character of `text`, which must not be empty; 0 if it is
// not UTF-8.
inline std::size_t Utf8Bytes(std::string_view text) { return DecodeUtf8(text).bytes; }

// Writes surrogates unchanged.
void AppendUtf8(char32_t code_point, std::string& text);

bool IsUtf8(std::string_view text);
// Returns `text` with U+FFFD for every byte that is not UTF-8.
std::string ValidUtf8(std::string_view text);
// Returns `text` with U+FFFD for every maximal prefix of an incomplete character and for every
// other byte that is not UTF-8: Unicode's recommended practice, and Python's errors="replace".
std::string LossyUtf8(std::string_view text);

// True for characters that control a terminal or change the direction of text: C0, DEL, C1, line
// and paragraph separators, bidirectional marks.
bool IsControl(char32_t code_point);

}  // namespace runtime

#endif  // RUNTIME_TEXT_UTF8_H_
