#include "registry/info/python_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

// The grammar, the numbers and the escapes are those of CPython's json, not of RFC 8259.

namespace registry {
namespace {

constexpr std::size_t kMaxIntegerDigits = 4300;
constexpr std::size_t kUsualMembers = 8;  // An info file has about so many.
constexpr char kHex[] = "0123456789abcdef";

bool IsHighSurrogate(char32_t point) { return point >= 0xD800 && point <= 0xDBFF; }
bool IsLowSurrogate(char32_t point) { return point >= 0xDC00 && point <= 0xDFFF; }
bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUnicodeEscape(char32_t unit, std::string* out) {
  out->append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) out->push_back(kHex[unit >> shift & 0xF]);
}

void AppendEscaped(char32_t point, std::string* out) {
  switch (point) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\b':
      out->append("\\b");
      return;
    case '\f':
      out->append("\\f");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      break;
  }
  if (point >= 0x10000) {
    AppendUnicodeEscape(0xD800 + ((point - 0x10000) >> 10), out);
    point = 0xDC00 + ((point - 0x10000) & 0x3FF);
  }
  AppendUnicodeEscape(point, out);
}

// How many characters at the begin of `text` stand for themselves, read and written.
std::size_t PlainPrefix(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && *at >= ' ' && *at <= '~' && *at != '"' && *at != '\\') ++at;
  return static_cast<std::size_t>(at - text.data());
}

void AppendQuoted(std::string_view code_points, std::string* out) {
  out->push_back('"');
  while (!code_points.empty()) {
    const std::size_t plain = PlainPrefix(code_points);
    out->append(code_points.substr(0, plain));
    code_points.remove_prefix(plain);
    if (code_points.empty()) break;
    const runtime::Utf8Character next = runtime::DecodeUtf8(code_points, /*surrogates=*/true);
    AppendEscaped(next.bytes > 0 ? next.code_point : 0xFFFD, out);
    code_points.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  out->push_back('"');
}

// repr() of a float: the shortest digits that read back as the same, with an exponent outside of
// 1e-4 to 1e16.
std::string FloatText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char written[40];
  const auto end =
      std::to_chars(written, written + sizeof(written), value, std::chars_format::scientific);
  std::string_view text(written, static_cast<std::size_t>(end.ptr - written));
  std::string out = text.front() == '-' ? "-" : "";
  text.remove_prefix(out.size());
  const std::size_t e = text.find('e');
  int exponent = 0;
  (void)absl::SimpleAtoi(runtime::Absl(text.substr(e + 1)), &exponent);
  std::string digits(text.substr(0, 1));
  if (e > 2) digits.append(text.substr(2, e - 2));
  const int point = exponent + 1;  // Digits before the decimal point.
  const int count = static_cast<int>(digits.size());
  if (point <= -4 || point > 16) {
    out += digits[0];
    if (count > 1) absl::StrAppend(&out, ".", digits.substr(1));
    absl::StrAppend(&out, exponent < 0 ? "e-" : "e+", std::abs(exponent) < 10 ? "0" : "",
                    std::abs(exponent));
  } else if (point <= 0) {
    absl::StrAppend(&out, "0.", std::string(static_cast<std::size_t>(-point), '0'), digits);
  } else if (point >= count) {
    absl::StrAppend(&out, digits, std::string(static_cast<std::size_t>(point - count), '0'), ".0");
  } else {
    const auto whole = static_cast<std::size_t>(point);
    absl::StrAppend(&out, digits.substr(0, whole), ".", digits.substr(whole));
  }
  return out;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<PythonJson> Parse() {
    PythonJson value;
    SkipSpace();
    if (ParseValue(&value, 0)) {
      SkipSpace();
      if (at_ == text_.size()) return value;
      Fail("the end of the text");
    }
    return absl::InvalidArgumentError(problem_);
  }

 private:
  // False, which is what everything here returns once something is wrong.
  bool Fail(std::string_view expected) {
    problem_ = absl::StrCat("expected ", runtime::Absl(expected), " at byte ", at_);
    return false;
  }
  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void SkipSpace() {
    while (!AtEnd() && IsSpace(text_[at_])) ++at_;
  }

  bool ParseValue(PythonJson* value, int depth) {
    switch (Peek()) {
      case '{':
      case '[':
        if (depth >= kMaxJsonDepth) return Fail(absl::StrCat("at most ", depth, " levels"));
        return Peek() == '{' ? ParseObject(value, depth) : ParseArray(value, depth);
      case '"':
        value->kind = PythonJson::Kind::kString;
        return ParseString(&value->text);
      case 'n':
      case 't':
      case 'f':
      case 'N':
      case 'I':
        return ParseWord(value) || Fail("a value");
      case '-':
        return ParseWord(value) || ParseNumber(value);
      default:
        return ParseNumber(value);
    }
  }

  bool ParseArray(PythonJson* value, int depth) {
    value->kind = PythonJson::Kind::kArray;
    ++at_;
    SkipSpace();
    if (Take(']')) return true;
    while (true) {
      if (!ParseValue(&value->items.emplace_back(), depth + 1)) return false;
      SkipSpace();
      if (Take(']')) return true;
      if (!Take(',')) return Fail("',' or ']'");
      SkipSpace();
    }
  }

  bool ParseObject(PythonJson* value, int depth) {
    value->kind = PythonJson::Kind::kObject;
    ++at_;
    SkipSpace();
    if (Take('}')) return true;
    std::vector<std::string> keys;
    std::vector<PythonJson> items;
    keys.reserve(kUsualMembers);
    items.reserve(kUsualMembers);
    while (true) {
      if (Peek() != '"') return Fail("a name in quotes");
      if (!ParseString(&keys.emplace_back())) return false;
      SkipSpace();
      if (!Take(':')) return Fail("':'");
      SkipSpace();
      if (!ParseValue(&items.emplace_back(), depth + 1)) return false;
      SkipSpace();
      if (Take('}')) break;
      if (!Take(',')) return Fail("',' or '}'");
      SkipSpace();
    }
    SetMembers(std::move(keys), std::move(items), value);
    return true;
  }

  // Orders by code point, which for UTF-8 is by byte; the last of equal keys stays.
  static void SetMembers(std::vector<std::string> keys, std::vector<PythonJson> items,
                         PythonJson* value) {
    if (std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>()) == keys.end()) {
      value->keys = std::move(keys);
      value->items = std::move(items);
      return;
    }
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&keys](std::size_t a, std::size_t b) {
      const int compared = keys[a].compare(keys[b]);
      return compared != 0 ? compared < 0 : a < b;
    });
    value->keys.reserve(order.size());
    value->items.reserve(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i + 1 < order.size() && keys[order[i]] == keys[order[i + 1]]) continue;
      value->keys.push_back(std::move(keys[order[i]]));
      value->items.push_back(std::move(items[order[i]]));
    }
  }

  bool ParseWord(PythonJson* value) {
    using Kind = PythonJson::Kind;
    constexpr std::pair<std::string_view, Kind> kWords[] = {
        {"null", Kind::kNull}, {"true", Kind::kBool},      {"false", Kind::kBool},
        {"NaN", Kind::kFloat}, {"Infinity", Kind::kFloat}, {"-Infinity", Kind::kFloat}};
    for (const auto& [word, kind] : kWords) {
      if (text_.substr(at_, word.size()) != word) continue;
      value->kind = kind;
      value->text = word;
      at_ += word.size();
      return true;
    }
    return false;
  }

  std::size_t SkipDigits(std::size_t at) const {
    while (at < text_.size() && IsDigit(text_[at])) ++at;
    return at;
  }

  bool ParseNumber(PythonJson* value) {
    std::size_t end = at_ + (Peek() == '-' ? 1 : 0);
    const std::size_t first = end;
    end = SkipDigits(end);
    if (end == first) return Fail("a value");
    if (text_[first] == '0') end = first + 1;
    const std::size_t whole_end = end;
    if (end < text_.size() && text_[end] == '.') {
      const std::size_t fraction = SkipDigits(end + 1);
      if (fraction > end + 1) end = fraction;
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t digits = end + 1;
      if (digits < text_.size() && (text_[digits] == '-' || text_[digits] == '+')) ++digits;
      const std::size_t exponent = SkipDigits(digits);
      if (exponent > digits) end = exponent;
    }
    const std::string_view number = text_.substr(at_, end - at_);
    if (end != whole_end) {
      double parsed = 0;
      if (!absl::SimpleAtod(runtime::Absl(number), &parsed)) return Fail("a number");
      value->kind = PythonJson::Kind::kFloat;
      value->text = FloatText(parsed);
    } else {
      if (end - first > kMaxIntegerDigits) return Fail("an integer of at most 4300 digits");
      value->kind = PythonJson::Kind::kInteger;
      value->text = number == "-0" ? "0" : number;
    }
    at_ = end;
    return true;
  }

  bool ParseString(std::string* out) {
    ++at_;
    while (true) {
      const std::size_t plain = PlainPrefix(text_.substr(at_));
      out->append(text_, at_, plain);
      at_ += plain;
      if (AtEnd()) return Fail("the end of a string");
      if (Take('"')) return true;
      if (Take('\\')) {
        if (!ParseEscape(out)) return false;
        continue;
      }
      const runtime::Utf8Character next = runtime::DecodeUtf8(text_.substr(at_));
      if (next.bytes == 0) return Fail("UTF-8");
      if (next.code_point < ' ') return Fail("an escaped control character");
      out->append(text_.substr(at_, next.bytes));
      at_ += next.bytes;
    }
  }

  bool ParseEscape(std::string* out) {
    if (Take('u')) return ParseUnicodeEscape(out);
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const std::size_t which = AtEnd() ? kEscapes.npos : kEscapes.find(text_[at_]);
    if (which == kEscapes.npos) return Fail("an escape");
    out->push_back(kMeanings[which]);
    ++at_;
    return true;
  }

  // After \u.
  bool ParseUnicodeEscape(std::string* out) {
    char32_t point = 0;
    if (!ParseFourDigits(&point)) return Fail("four hexadecimal digits");
    if (IsHighSurrogate(point) && text_.substr(at_, 2) == "\\u") {
      const std::size_t before = at_;
      char32_t low = 0;
      at_ += 2;
      if (ParseFourDigits(&low) && IsLowSurrogate(low)) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = before;
      }
    }
    runtime::AppendUtf8(point, *out);
    return true;
  }

  bool ParseFourDigits(char32_t* value) {
    std::uint32_t parsed = 0;
    if (text_.size() - at_ < 4) return false;
    const char* const begin = text_.data() + at_;
    const auto result = std::from_chars(begin, begin + 4, parsed, 16);
    if (result.ec != std::errc() || result.ptr != begin + 4) return false;
    *value = parsed;
    at_ += 4;
    return true;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;
};

void AppendCompact(const PythonJson& value, std::string* out) {
  switch (value.kind) {
    case PythonJson::Kind::kString:
      AppendQuoted(value.text, out);
      return;
    case PythonJson::Kind::kArray:
    case PythonJson::Kind::kObject:
      break;
    default:
      out->append(value.text);
      return;
  }
  const bool object = value.kind == PythonJson::Kind::kObject;
  out->push_back(object ? '{' : '[');
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) out->push_back(',');
    if (object) {
      AppendQuoted(value.keys[i], out);
      out->push_back(':');
    }
    AppendCompact(value.items[i], out);
  }
  out->push_back(object ? '}' : ']');
}

}  // namespace

PythonJson::PythonJson() = default;
PythonJson::PythonJson(const PythonJson&) = default;
PythonJson::PythonJson(PythonJson&&) noexcept = default;
PythonJson& PythonJson::operator=(const PythonJson&) = default;
PythonJson& PythonJson::operator=(PythonJson&&) noexcept = default;
PythonJson::~PythonJson() = default;

const PythonJson* PythonJson::Find(std::string_view key) const {
  const auto at = std::lower_bound(keys.begin(), keys.end(), key);
  if (at == keys.end() || *at != key) return nullptr;
  return &items[static_cast<std::size_t>(at - keys.begin())];
}

absl::StatusOr<PythonJson> ParsePythonJson(std::string_view text) { return Parser(text).Parse(); }

std::string CompactPythonJson(const PythonJson& value) {
  std::string out;
  AppendCompact(value, &out);
  return out;
}

std::string QuotePythonString(std::string_view code_points) {
  std::string out;
  AppendQuoted(code_points, &out);
  return out;
}

std::string CodePointsOfBytes(std::string_view bytes) {
  if (PlainPrefix(bytes) == bytes.size()) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const runtime::Utf8Character next = runtime::DecodeUtf8(bytes);
    const std::size_t size = std::max<std::size_t>(next.bytes, 1);
    if (next.bytes > 0) {
      out.append(bytes.substr(0, size));
    } else {
      runtime::AppendUtf8(0xDC00 + static_cast<unsigned char>(bytes[0]), out);
    }
    bytes.remove_prefix(size);
  }
  return out;
}

std::string BytesOfCodePoints(std::string_view code_points) {
  // The first byte of every surrogate.
  if (code_points.find('\xED') == code_points.npos) return std::string(code_points);
  std::string out;
  out.reserve(code_points.size());
  while (!code_points.empty()) {
    const runtime::Utf8Character next = runtime::DecodeUtf8(code_points, /*surrogates=*/true);
    const std::size_t size = std::max<std::size_t>(next.bytes, 1);
    if (next.code_point >= 0xDC80 && next.code_point <= 0xDCFF) {
      out.push_back(static_cast<char>(next.code_point - 0xDC00));
    } else {
      out.append(code_points.substr(0, size));
    }
    code_points.remove_prefix(size);
  }
  return out;
}

}  // namespace registry
