#include "datamanager/find/lossy_utf8.h"

#include <cstddef>
#include <cstdint>

namespace datamanager {
namespace {

// What may follow a first byte: how many bytes, and the bounds of the second; the others are
// 0x80..0xBF. Table 3-7 of the Unicode standard.
struct Sequence {
  std::size_t size = 0;  // With the first byte; 0 if it cannot begin a character.
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

// How many bytes at the begin of `bytes` could be those of `sequence`, at least one.
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

std::string LossyUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Sequence sequence = SequenceOf(static_cast<std::uint8_t>(bytes.front()));
    const std::size_t matched = Match(bytes, sequence);
    text.append(matched == sequence.size ? bytes.substr(0, matched) : "\xEF\xBF\xBD");
    bytes.remove_prefix(matched);
  }
  return text;
}

}  // namespace datamanager
