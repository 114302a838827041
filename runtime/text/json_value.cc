#include "runtime/text/json_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace runtime {
namespace {

// Typical number of members of a report line or an info file.
constexpr std::size_t kUsualOutermostMembers = 8;

// Parses the four hexadecimal digits at the start of `text`.
std::optional<std::uint32_t> Hex4(std::string_view text) {
  std::uint32_t code = 0;
  if (text.size() < 4) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 4, code, 16);
  if (error != std::errc() || end != text.data() + 4) return std::nullopt;
  return code;
}

// Returns the number of leading bytes of `text` that need no unescaping in a string.
std::size_t PlainPrefix(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && *at >= ' ' && *at != '"' && *at != '\\') ++at;
  return static_cast<std::size_t>(at - text.data());
}

// Undoes the escapes of a string's content, which the parser has validated.
std::string Unescape(std::string_view text, LoneSurrogates lone_surrogates) {
  if (text.find('\\') == text.npos) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.push_back(text[i]);
      continue;
    }
    const char escape = text[++i];
    constexpr std::string_view kNames = "bfnrt";
    if (const auto at = kNames.find(escape); at != kNames.npos) {
      out.push_back("\b\f\n\r\t"[at]);
    } else if (escape != 'u') {
      out.push_back(escape);
    } else {
      std::uint32_t code = *Hex4(text.substr(i + 1));
      i += 4;
      if (code >= 0xD800 && code < 0xDC00 && text.substr(i + 1, 2) == "\\u") {
        const std::uint32_t low = *Hex4(text.substr(i + 3));
        if (low >= 0xDC00 && low < 0xE000) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          i += 6;
        }
      }
      const bool is_replaced = lone_surrogates == LoneSurrogates::kReplaced && IsSurrogate(code);
      AppendUtf8(is_replaced ? 0xFFFD : code, out);
    }
  }
  return out;
}

// For a few names, comparing all pairs is faster than building a table. False: duplicates are
// possible.
bool AreFewAndDiffer(const std::vector<std::pair<std::string, JsonValue>>& members) {
  constexpr std::size_t kFew = 16;
  if (members.size() > kFew) return false;
  for (std::size_t i = 1; i < members.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      if (members[before].first == members[i].first) return false;
    }
  }
  return true;
}

// Removes all but the last member of each name; the last one keeps its position.
void KeepLastOfEachName(std::vector<std::pair<std::string, JsonValue>>& members) {
  if (AreFewAndDiffer(members)) return;
  std::unordered_map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < members.size(); ++i) last[members[i].first] = i;
  if (last.size() == members.size()) return;
  std::vector<bool> stays(members.size(), false);
  for (const auto& [name, index] : last) stays[index] = true;
  std::vector<std::pair<std::string, JsonValue>> kept;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (stays[i]) kept.push_back(std::move(members[i]));
  }
  members = std::move(kept);
}

class Parser {
 public:
  Parser(std::string_view text, const JsonOptions& options) : text_(text), options_(options) {}

  absl::StatusOr<JsonValue> Parse() {
    JsonValue value;
    SkipSpace();
    if (!ParseValue(value, 0)) return Error();
    SkipSpace();
    if (at_ != text_.size()) {
      Fail("the end of the text");
      return Error();
    }
    return value;
  }

 private:
  absl::Status Error() const {
    return absl::InvalidArgumentError(absl::StrCat(Absl(problem_), " at byte ", problem_at_));
  }
  bool Fail(std::string_view expected) {
    return FailWith(absl::StrCat("expected ", Absl(expected)));
  }
  bool FailWith(std::string problem) {
    problem_ = std::move(problem);
    problem_at_ = at_;
    return false;
  }
  bool AtEnd() const { return at_ >= text_.size(); }
  char Next() const { return AtEnd() ? '\0' : text_[at_]; }
  void SkipSpace() {
    const std::size_t begin = at_;
    while (!AtEnd() && (Next() == ' ' || Next() == '\t' || Next() == '\n' || Next() == '\r')) ++at_;
    loose_ += at_ - begin;
  }
  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool ParseValue(JsonValue& value, int depth) {
    if (++values_ > options_.values) {
      return FailWith(absl::StrCat("more than ", options_.values, " values"));
    }
    const std::size_t begin = at_;
    const std::size_t loose = loose_;
    const bool ok = ParseAnyKind(value, depth);
    value.raw = text_.substr(begin, at_ - begin);
    value.is_compact = loose_ == loose;
    return ok;
  }

  bool ParseAnyKind(JsonValue& value, int depth) {
    switch (Next()) {
      case '{':
        return ParseObject(value, depth);
      case '[':
        return ParseArray(value, depth);
      case '"':
        value.kind = JsonValue::Kind::kString;
        return SkipString();
      case 't':
      case 'f':
        value.kind = JsonValue::Kind::kBool;
        value.boolean = Next() == 't';
        return TakeWord(value.boolean ? "true" : "false") || Fail("a value");
      case 'n':
        return TakeWord("null") || Fail("a value");
      default:
        return ParseNumber(value);
    }
  }

  bool Enter(int depth) {
    if (depth >= options_.depth) {
      return FailWith(absl::StrCat("more than ", options_.depth, " levels"));
    }
    ++at_;
    SkipSpace();
    return true;
  }

  bool ParseObject(JsonValue& value, int depth) {
    value.kind = JsonValue::Kind::kObject;
    if (!Enter(depth)) return false;
    if (Take('}')) return true;
    if (depth == 0) value.members.reserve(kUsualOutermostMembers);
    do {
      SkipSpace();
      const std::size_t begin = at_;
      if (Next() != '"') return Fail("a name in quotes");
      if (!SkipString()) return false;
      const std::string_view name = text_.substr(begin + 1, at_ - begin - 2);
      auto& [key, member] = value.members.emplace_back();
      if (name.find('\\') == name.npos) {
        key = name;
      } else {
        key = Unescape(name, options_.lone_surrogates);
        ++loose_;
      }
      SkipSpace();
      if (!Take(':')) return Fail("':'");
      SkipSpace();
      if (!ParseValue(member, depth + 1)) return false;
      SkipSpace();
    } while (Take(','));
    if (!Take('}')) return Fail("',' or '}'");
    const std::size_t count = value.members.size();
    KeepLastOfEachName(value.members);
    loose_ += count - value.members.size();
    return true;
  }

  bool ParseArray(JsonValue& value, int depth) {
    value.kind = JsonValue::Kind::kArray;
    if (!Enter(depth)) return false;
    if (Take(']')) return true;
    do {
      SkipSpace();
      if (!ParseValue(value.items.emplace_back(), depth + 1)) return false;
      SkipSpace();
    } while (Take(','));
    return Take(']') || Fail("',' or ']'");
  }

  bool SkipString() {
    ++at_;
    while (true) {
      at_ += PlainPrefix(text_.substr(at_));
      if (AtEnd()) return Fail("'\"' at the end of a string");
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c == '\\') {
        if (!SkipEscape()) return false;
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20) return Fail("no control character in a string");
      const std::size_t length = Utf8Bytes(text_.substr(at_));
      if (length == 0) return Fail("UTF-8");
      at_ += length;
    }
  }

  bool SkipEscape() {
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    const std::string_view rest = text_.substr(at_ + 1);
    if (rest.empty()) return Fail("an escape");
    if (kEscapes.find(rest[0]) != kEscapes.npos) {
      at_ += 2;
      return true;
    }
    if (rest[0] != 'u' || !Hex4(rest.substr(1))) return Fail("an escape");
    at_ += 6;
    return true;
  }

  bool ParseNumber(JsonValue& value) {
    const std::size_t begin = at_;
    value.kind = JsonValue::Kind::kDouble;
    const bool negative = Take('-');
    if (TakeWord("Infinity")) {
      value.number = (negative ? -1 : 1) * std::numeric_limits<double>::infinity();
      return true;
    }
    if (!negative && TakeWord("NaN")) {
      value.number = std::numeric_limits<double>::quiet_NaN();
      return true;
    }
    bool whole = true;
    if (!SkipNumber(whole)) {
      at_ = begin;
      return Fail("a value");
    }
    const std::string_view digits = text_.substr(begin, at_ - begin);
    if (whole && digits.size() - (negative ? 1 : 0) > options_.integer_digits) {
      at_ = begin;
      return Fail(absl::StrCat("an integer of at most ", options_.integer_digits, " digits"));
    }
    if (whole && std::from_chars(digits.data(), digits.data() + digits.size(), value.integer).ec ==
                     std::errc()) {
      value.kind = JsonValue::Kind::kInteger;
      value.number = static_cast<double>(value.integer);
      return true;
    }
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value.number);
    if (error == std::errc::result_out_of_range) {
      value.number = std::strtod(std::string(digits).c_str(), nullptr);
    }
    return true;
  }

  bool SkipDigits() {
    const std::size_t begin = at_;
    while (Next() >= '0' && Next() <= '9') ++at_;
    return at_ > begin;
  }
  bool SkipNumber(bool& whole) {
    if (!Take('0') && !SkipDigits()) return false;
    if (Take('.')) {
      whole = false;
      if (!SkipDigits()) return false;
    }
    if (Next() != 'e' && Next() != 'E') return true;
    whole = false;
    ++at_;
    if (!Take('+')) Take('-');
    return SkipDigits();
  }

  const std::string_view text_;
  const JsonOptions options_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
  // Number of deviations from CompactJson() so far: white space, escapes in names, overridden
  // members.
  std::size_t loose_ = 0;
  std::string problem_;
  std::size_t problem_at_ = 0;
};

void AppendCompact(const JsonValue& value, std::string& out) {
  if (value.is_compact) {
    out += value.raw;
  } else if (value.kind == JsonValue::Kind::kArray) {
    out += '[';
    for (const JsonValue& item : value.items) {
      if (&item != &value.items.front()) out += ',';
      AppendCompact(item, out);
    }
    out += ']';
  } else if (value.kind == JsonValue::Kind::kObject) {
    out += '{';
    for (const auto& member : value.members) {
      if (&member != &value.members.front()) out += ',';
      absl::StrAppend(&out, Quote(member.first), ":");
      AppendCompact(member.second, out);
    }
    out += '}';
  } else {
    out += value.raw;
  }
}

void AppendPretty(const JsonValue& value, std::size_t level, std::string& out) {
  const std::string line = "\n" + std::string(2 * (level + 1), ' ');
  const std::string last = "\n" + std::string(2 * level, ' ');
  if (value.kind == JsonValue::Kind::kArray && !value.items.empty()) {
    for (const JsonValue& item : value.items) {
      absl::StrAppend(&out, &item == &value.items.front() ? "[" : ",", line);
      AppendPretty(item, level + 1, out);
    }
    absl::StrAppend(&out, last, "]");
  } else if (value.kind == JsonValue::Kind::kObject && !value.members.empty()) {
    const auto members = MembersByName(value);
    for (const auto* member : members) {
      absl::StrAppend(&out, member == members.front() ? "{" : ",", line, Quote(member->first),
                      ": ");
      AppendPretty(member->second, level + 1, out);
    }
    absl::StrAppend(&out, last, "}");
  } else {
    AppendCompact(value, out);
  }
}

}  // namespace

JsonValue::JsonValue() = default;
JsonValue::JsonValue(const JsonValue&) = default;
JsonValue::JsonValue(JsonValue&&) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue&) = default;
JsonValue& JsonValue::operator=(JsonValue&&) noexcept = default;
JsonValue::~JsonValue() = default;

const JsonValue* JsonValue::Find(std::string_view name) const {
  for (const auto& member : members) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

absl::StatusOr<JsonValue> ParseJson(std::string_view text, const JsonOptions& options) {
  return Parser(text, options).Parse();
}

std::string StringOf(const JsonValue& value, LoneSurrogates lone_surrogates) {
  if (value.kind != JsonValue::Kind::kString) return std::string(value.raw);
  return Unescape(value.raw.substr(1, value.raw.size() - 2), lone_surrogates);
}

std::vector<const std::pair<std::string, JsonValue>*> MembersByName(const JsonValue& object) {
  std::vector<const std::pair<std::string, JsonValue>*> members;
  members.reserve(object.members.size());
  for (const auto& member : object.members) members.push_back(&member);
  // By bytes, which for UTF-8 is the order of code points.
  std::sort(members.begin(), members.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  return members;
}

std::string Quote(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
  });
  if (is_plain) {
    out += text;
    out += '"';
    return out;
  }
  for (const char c : ValidUtf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string CompactJson(const JsonValue& value) {
  std::string out;
  AppendCompact(value, out);
  return out;
}

std::string PrettyJson(const JsonValue& value) {
  std::string out;
  AppendPretty(value, 0, out);
  return out;
}

}  // namespace runtime
