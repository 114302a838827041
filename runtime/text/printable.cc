#include "runtime/text/printable.h"

#include <cstddef>

#include "runtime/text/utf8.h"

namespace runtime {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

void AppendHex(std::string_view bytes, std::string* result) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    *result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text);
    const std::size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    const bool is_tab = character.code_point == '\t';
    if (character.bytes == 0 || (IsControl(character.code_point) && !is_tab)) {
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

bool IsPrintable(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text);
    if (character.bytes == 0 || IsControl(character.code_point)) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

}  // namespace runtime
