#include "runtime/text/utf8.h"

#include <algorithm>
#include <cstdint>

namespace runtime {
namespace {

// The valid sequences for a first byte: their size and the bounds of the second byte; further bytes
// are 0x80..0xBF. Table 3-7 of the Unicode standard.
struct Sequence {
  std::size_t size = 0;  // Includes the first byte; 0 if it cannot begin a character.
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
};

Sequence SequenceOf(std::uint8_t first) {
  if (first < 0x80) return {1};
  if (first < 0xC2) return {0};
  if (first < 0xE0) return {2};
  if (first == 0xE0) return {3, 0xA0, 0xBF};
  if (first == 0xED) return {3, 0x80, 0x9F};
  if (first < 0xF0) return {3};
  if (first == 0xF0) return {4, 0x90, 0xBF};
  if (first < 0xF4) return {4};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

// Returns the number of leading bytes of `bytes` that match `sequence`, at least one.
std::size_t Match(std::string_view bytes, const Sequence& sequence) {
  std::size_t matched = 1;
  while (matched < sequence.size && matched < bytes.size()) {
    const auto byte = static_cast<std::uint8_t>(bytes[matched]);
    const bool second = matched == 1;
    if (byte < (second ? sequence.low : 0x80) || byte > (second ? sequence.high : 0xBF)) break;
    ++matched;
  }
  return matched;
}

}  // namespace

void AppendUtf8(char32_t code_point, std::string& text) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
    return;
  }
  if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
  } else {
    if (code_point < 0x10000) {
      put(0xE0 | code_point >> 12);
    } else {
      put(0xF0 | code_point >> 18);
      put(0x80 | (code_point >> 12 & 0x3F));
    }
    put(0x80 | (code_point >> 6 & 0x3F));
  }
  put(0x80 | (code_point & 0x3F));
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = Utf8Bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = Utf8Bytes(text);
    valid += bytes == 0 ? kReplacementCharacter : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return valid;
}

std::string LossyUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const Sequence sequence = SequenceOf(static_cast<std::uint8_t>(text.front()));
    const std::size_t matched = Match(text, sequence);
    valid += matched == sequence.size ? text.substr(0, matched) : kReplacementCharacter;
    text.remove_prefix(matched);
  }
  return valid;
}

bool IsControl(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace runtime
