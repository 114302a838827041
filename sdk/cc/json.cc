#include "sdk/cc/json.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

namespace yard::internal {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The length of the well-formed UTF-8 character that `text` begins with, 0 if it begins with none.
std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

void AppendCodePoint(std::uint32_t code, std::string* out) {
  const auto put = [&](std::uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// Walks over JSON text. Each method that returns bool says whether what it is named after stood at
// the position, which then is behind it; after a false the position means nothing.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool AtEnd() const { return position_ == text_.size(); }
  std::size_t position() const { return position_; }

  void Spaces() {
    while (!AtEnd() && (Peek() == ' ' || Peek() == '\t' || Peek() == '\r' || Peek() == '\n')) {
      ++position_;
    }
  }

  bool Literal(std::string_view word) {
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  bool Value(int depth) {
    if (depth > kMaxDepth) return false;
    switch (Peek()) {
      case '{':
        return Object(depth, nullptr);
      case '[':
        return Array(depth);
      case '"':
        return String(nullptr);
      case 't':
        return Literal("true");
      case 'f':
        return Literal("false");
      case 'n':
        return Literal("null");
      default:
        return Number();
    }
  }

  // Collects the members if `members` is not null.
  bool Object(int depth, std::vector<Member>* members) {
    if (!Literal("{")) return false;
    Spaces();
    if (Literal("}")) return true;
    for (;;) {
      std::string name;
      Spaces();
      if (!String(members == nullptr ? nullptr : &name)) return false;
      Spaces();
      if (!Literal(":")) return false;
      Spaces();
      const std::size_t begin = position_;
      if (!Value(depth + 1)) return false;
      if (members != nullptr) {
        members->push_back({std::move(name), text_.substr(begin, position_ - begin)});
      }
      Spaces();
      if (Literal("}")) return true;
      if (!Literal(",")) return false;
    }
  }

  // Decodes into `out` if it is not null.
  bool String(std::string* out) {
    if (!Literal("\"")) return false;
    while (!AtEnd()) {
      const char c = text_[position_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\') {
        if (!Escape(out)) return false;
      } else if (out != nullptr) {
        out->push_back(c);
      }
    }
    return false;
  }

  bool Number() {
    if (Literal("NaN")) return true;
    Literal("-");
    if (Literal("Infinity")) return true;
    if (!Literal("0") && !Digits()) return false;
    if (Literal(".") && !Digits()) return false;
    if (Literal("e") || Literal("E")) {
      if (!Literal("+")) Literal("-");
      if (!Digits()) return false;
    }
    return true;
  }

 private:
  char Peek() const { return AtEnd() ? '\0' : text_[position_]; }

  bool Digits() {
    const std::size_t begin = position_;
    while (IsDigit(Peek())) ++position_;
    return position_ > begin;
  }

  bool Array(int depth) {
    if (!Literal("[")) return false;
    Spaces();
    if (Literal("]")) return true;
    for (;;) {
      Spaces();
      if (!Value(depth + 1)) return false;
      Spaces();
      if (Literal("]")) return true;
      if (!Literal(",")) return false;
    }
  }

  bool Escape(std::string* out) {
    if (AtEnd()) return false;
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
    const char name = text_[position_++];
    if (name == 'u') return UnicodeEscape(out);
    const std::size_t index = kNames.find(name);
    if (index == std::string_view::npos) return false;
    if (out != nullptr) out->push_back(kCharacters[index]);
    return true;
  }

  // A surrogate without its partner becomes U+FFFD.
  bool UnicodeEscape(std::string* out) {
    std::uint32_t code = 0;
    if (!FourHexDigits(&code)) return false;
    if (code >= 0xD800 && code <= 0xDBFF) {
      const std::size_t behind = position_;
      std::uint32_t low = 0;
      if (Literal("\\u") && FourHexDigits(&low) && low >= 0xDC00 && low <= 0xDFFF) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        position_ = behind;
      }
    }
    if (out == nullptr) return true;
    if (code >= 0xD800 && code <= 0xDFFF) {
      out->append(kReplacement);
    } else {
      AppendCodePoint(code, out);
    }
    return true;
  }

  bool FourHexDigits(std::uint32_t* code) {
    const std::string_view digits = text_.substr(position_, 4);
    if (digits.size() < 4) return false;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + 4, *code, 16);
    position_ += 4;
    return error == std::errc() && end == digits.data() + 4;
  }

  const std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

void AppendString(std::string_view text, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out->push_back('"');
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    const char c = text.front();
    if (length == 0) {
      out->append(kReplacement);
    } else if (c == '"' || c == '\\') {
      out->append({'\\', c});
    } else if (c == '\n') {
      out->append("\\n");
    } else if (length == 1 && (c < 0x20 || c == 0x7F)) {
      out->append({'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 0xF]});
    } else {
      out->append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out->push_back('"');
}

void AppendNumber(double value, std::string* out) {
  if (std::isnan(value)) {
    out->append("NaN");
  } else if (std::isinf(value)) {
    out->append(value < 0 ? "-Infinity" : "Infinity");
  } else {
    char text[32];
    out->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
  }
}

void AppendNumber(std::int64_t value, std::string* out) {
  char text[32];
  out->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

std::optional<std::vector<Member>> ParseObject(std::string_view text) {
  Scanner scanner(text);
  std::vector<Member> members;
  scanner.Spaces();
  if (!scanner.Object(1, &members)) return std::nullopt;
  scanner.Spaces();
  if (!scanner.AtEnd()) return std::nullopt;
  return members;
}

std::string_view Find(const std::vector<Member>& members, std::string_view name) {
  for (const Member& member : members) {
    if (member.name == name) return member.value;
  }
  return {};
}

std::optional<std::string> ParseString(std::string_view value) {
  Scanner scanner(value);
  std::string text;
  if (!scanner.String(&text) || !scanner.AtEnd()) return std::nullopt;
  return text;
}

std::optional<double> ParseNumber(std::string_view value) {
  Scanner scanner(value);
  if (!scanner.Number() || !scanner.AtEnd()) return std::nullopt;
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> ParseInteger(std::string_view value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return number;
}

}  // namespace yard::internal
