#include "tools/yard/top/keys.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtime/text/printable.h"
#include "runtime/text/utf8.h"

namespace yard::top {
namespace {

constexpr std::size_t kMaxSequence = 32;

// Key sequences after "ESC [" or "ESC O".
constexpr std::pair<std::string_view, Key::Kind> kSequences[] = {
    {"A", Key::Kind::kUp},       {"B", Key::Kind::kDown},  {"H", Key::Kind::kHome},
    {"F", Key::Kind::kEnd},      {"1~", Key::Kind::kHome}, {"7~", Key::Kind::kHome},
    {"4~", Key::Kind::kEnd},     {"8~", Key::Kind::kEnd},  {"5~", Key::Kind::kPageUp},
    {"6~", Key::Kind::kPageDown}};

constexpr std::pair<char, Key::Kind> kControls[] = {
    {'\r', Key::Kind::kEnter},     {'\n', Key::Kind::kEnter},       {'\x7f', Key::Kind::kBackspace},
    {'\b', Key::Kind::kBackspace}, {'\x03', Key::Kind::kInterrupt}, {'\x1a', Key::Kind::kSuspend},
    {'\x0c', Key::Kind::kRedraw}};

// Returns the length of the escape sequence at the beginning of `text` ("ESC [ ... final", "ESC O
// x", "ESC x"); 0 if it is still incomplete.
std::size_t SequenceBytes(std::string_view text) {
  if (text.size() < 2) return 0;
  if (text[1] == 'O') return text.size() < 3 ? 0 : 3;
  if (text[1] != '[') return 1;
  for (std::size_t i = 2; i < std::min(text.size(), kMaxSequence); ++i) {
    if (text[i] >= 0x40 && text[i] <= 0x7e) return i + 1;
  }
  return text.size() < kMaxSequence ? 0 : kMaxSequence;
}

// Returns the length in bytes of the UTF-8 character that begins with this byte.
std::size_t ExpectedBytes(unsigned char first) {
  return first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
}

}  // namespace

std::optional<Key> KeyReader::Next() {
  while (!pending_.empty()) {
    const std::string_view text = pending_;
    if (text[0] == '\x1b') {
      const std::size_t bytes = SequenceBytes(text);
      if (bytes == 0) return std::nullopt;
      const std::string body(
          text.substr(std::min<std::size_t>(2, bytes), bytes > 2 ? bytes - 2 : 0));
      pending_.erase(0, bytes);
      if (bytes == 1) return Key{Key::Kind::kEscape};
      for (const auto& [sequence, kind] : kSequences) {
        if (sequence == body) return Key{kind};
      }
      continue;
    }
    for (const auto& [byte, kind] : kControls) {
      if (text[0] != byte) continue;
      pending_.erase(0, 1);
      return Key{kind};
    }
    const std::size_t bytes = runtime::Utf8Bytes(text);
    if (bytes == 0 && text.size() < ExpectedBytes(static_cast<unsigned char>(text[0]))) {
      return std::nullopt;
    }
    std::string character(text.substr(0, std::max<std::size_t>(bytes, 1)));
    pending_.erase(0, character.size());
    if (bytes > 0 && runtime::Printable(character) == character && character != "\t") {
      return Key{Key::Kind::kText, std::move(character)};
    }
  }
  return std::nullopt;
}

std::optional<Key> KeyReader::Close() {
  const bool is_escape = !pending_.empty() && pending_[0] == '\x1b' && pending_.size() == 1;
  pending_.clear();
  return is_escape ? std::optional(Key{Key::Kind::kEscape}) : std::nullopt;
}

}  // namespace yard::top
