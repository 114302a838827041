#include "registry/info/python_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

// Numbers and escapes follow CPython's json.

namespace registry {
namespace {

using runtime::JsonValue;

constexpr runtime::JsonOptions kPython = {
    .depth = kMaxJsonDepth,
    .values = std::numeric_limits<std::size_t>::max(),
    .integer_digits = 4300,
    .lone_surrogates = runtime::LoneSurrogates::kKept,
};
constexpr char kHex[] = "0123456789abcdef";

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

// Returns the number of leading characters of `text` that need no escape, in reading and in
// writing.
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

// Python's repr() of a float: the shortest digits that read back exactly, with an exponent outside
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

// An integer keeps all its original digits.
std::string NumberText(const JsonValue& value) {
  if (value.raw.find_first_not_of("-0123456789") != value.raw.npos) return FloatText(value.number);
  return value.raw == "-0" ? "0" : std::string(value.raw);
}

void AppendString(const JsonValue& value, std::string* out) {
  const std::string_view inside = value.raw.substr(1, value.raw.size() - 2);
  if (PlainPrefix(inside) == inside.size()) {
    out->append(value.raw);
  } else {
    AppendQuoted(CodePointsOf(value), out);
  }
}

void AppendCompact(const JsonValue& value, std::string* out);

void AppendArray(const JsonValue& array, std::string* out) {
  out->push_back('[');
  for (const JsonValue& item : array.items) {
    if (&item != &array.items.front()) out->push_back(',');
    AppendCompact(item, out);
  }
  out->push_back(']');
}

void AppendObject(const JsonValue& object, std::string* out) {
  const auto members = runtime::MembersByName(object);
  out->push_back('{');
  for (const auto* member : members) {
    if (member != members.front()) out->push_back(',');
    AppendQuoted(member->first, out);
    out->push_back(':');
    AppendCompact(member->second, out);
  }
  out->push_back('}');
}

void AppendCompact(const JsonValue& value, std::string* out) {
  switch (value.kind) {
    case JsonValue::Kind::kNull:
    case JsonValue::Kind::kBool:
      out->append(value.raw);
      return;
    case JsonValue::Kind::kInteger:
    case JsonValue::Kind::kDouble:
      out->append(NumberText(value));
      return;
    case JsonValue::Kind::kString:
      AppendString(value, out);
      return;
    case JsonValue::Kind::kArray:
      AppendArray(value, out);
      return;
    case JsonValue::Kind::kObject:
      AppendObject(value, out);
      return;
  }
}

}  // namespace

absl::StatusOr<JsonValue> ParsePythonJson(std::string_view text) {
  return runtime::ParseJson(text, kPython);
}

std::string CompactPythonJson(const JsonValue& value) {
  std::string out;
  AppendCompact(value, &out);
  return out;
}

std::string CodePointsOf(const JsonValue& value) {
  return runtime::StringOf(value, runtime::LoneSurrogates::kKept);
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
  // Every surrogate begins with this byte.
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
