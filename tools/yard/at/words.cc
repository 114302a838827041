#include "tools/yard/at/words.h"

#include <cstddef>

#include "absl/status/status.h"

namespace yard {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";
constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";

}  // namespace

std::string EncodeWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    for (const char c : word) {
      if (kPlain.find(c) != std::string_view::npos) {
        text += c;
      } else {
        const auto byte = static_cast<unsigned char>(c);
        text += '%';
        text += kHex[byte >> 4];
        text += kHex[byte & 15];
      }
    }
    text += ',';
  }
  return text;
}

absl::StatusOr<std::vector<std::string>> DecodeWords(std::string_view text) {
  const absl::Status wrong = absl::InvalidArgumentError("these are not the words of a yard");
  if (!text.empty() && text.back() != ',') return wrong;
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      words.push_back(std::move(word));
      word.clear();
    } else if (text[i] == '%') {
      const std::size_t high = i + 1 < text.size() ? kHex.find(text[i + 1]) : kHex.npos;
      const std::size_t low = i + 2 < text.size() ? kHex.find(text[i + 2]) : kHex.npos;
      if (high == kHex.npos || low == kHex.npos) return wrong;
      word += static_cast<char>(high << 4 | low);
      i += 2;
    } else if (kPlain.find(text[i]) != std::string_view::npos) {
      word += text[i];
    } else {
      return wrong;
    }
  }
  return words;
}

}  // namespace yard
