#include "trainer/report/output_format.h"

#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/text/json_number.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace trainer {
namespace {

constexpr std::string_view kTag = "tag:";
constexpr std::size_t kMaxTag = 100;
constexpr std::size_t kMaxNumber = 64;  // Characters.
constexpr int kMaxValues = 1000;
constexpr std::string_view kSpaces = " \t";

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsOfName(char c) {
  return IsLetter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/';
}
bool IsIn(std::string_view set, char c) { return set.find(c) != set.npos; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsIn(kSpaces, text.front())) text.remove_prefix(1);
  while (!text.empty() && IsIn(kSpaces, text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::string> ObjectIn(std::string_view text) {
  text = Trimmed(text);
  if (text.empty() || text.front() != '{') return std::nullopt;
  const auto json = runtime::ParseJson(text);
  if (!json.ok() || json->kind != runtime::JsonValue::Kind::kObject || json->members.empty()) {
    return std::nullopt;
  }
  return runtime::CompactJson(*json);
}

// A number as JSON: digit by digit if it is that already, else (".5", "+1", "nan") what it means.
std::optional<std::string> NumberIn(std::string_view text) {
  if (text.empty() || text.size() > kMaxNumber) return std::nullopt;
  if (text == "true" || text == "True") return "true";
  if (text == "false" || text == "False") return "false";
  const auto json = runtime::ParseJson(text);
  if (json.ok() && json->IsNumber()) return std::string(text);
  // strtod() would also take "0x10" and white space.
  for (const char c : text) {
    if (!IsLetter(c) && !IsIn("0123456789+-.", c)) return std::nullopt;
    if (IsIn("xXpP", c)) return std::nullopt;
  }
  const std::string digits(text);
  char* end = nullptr;
  const double number = std::strtod(digits.c_str(), &end);
  if (*end != '\0') return std::nullopt;
  if (!std::isfinite(number)) return std::string(runtime::NotFiniteWord(number));
  return absl::StrFormat("%.17g", number);
}

std::optional<std::string> ValuesIn(std::string_view text) {
  std::string object;
  int count = 0;
  for (std::size_t equals = text.find('='); equals != text.npos && count < kMaxValues;
       equals = text.find('=', equals + 1)) {
    std::size_t name_end = equals;
    while (name_end > 0 && IsIn(kSpaces, text[name_end - 1])) --name_end;
    std::size_t begin = name_end;
    while (begin > 0 && IsOfName(text[begin - 1])) --begin;
    const bool is_name = begin < name_end && IsLetter(text[begin]) &&
                         (begin == 0 || IsIn(" \t,;|([{:", text[begin - 1]));
    if (!is_name) continue;
    std::size_t value = equals + 1;
    while (value < text.size() && IsIn(kSpaces, text[value])) ++value;
    std::size_t end = value;
    while (end < text.size() && !IsIn(" \t,;|)]}", text[end])) ++end;
    const auto number = NumberIn(text.substr(value, end - value));
    if (!number) continue;
    absl::StrAppend(&object, count++ == 0 ? "{" : ",",
                    runtime::Quote(text.substr(begin, name_end - begin)), ":", *number);
  }
  if (count == 0) return std::nullopt;
  object += '}';
  // If a name comes twice, the last value counts.
  const auto json = runtime::ParseJson(object);
  if (!json.ok()) return std::nullopt;
  return runtime::CompactJson(*json);
}

}  // namespace

absl::StatusOr<OutputFormat> OutputFormat::From(std::string_view text) {
  if (text == "json") return OutputFormat(true, false, "");
  if (text == "values") return OutputFormat(false, true, "");
  if (text.substr(0, kTag.size()) == kTag) {
    const std::string_view tag = text.substr(kTag.size());
    bool good = !tag.empty() && tag.size() <= kMaxTag && runtime::ValidUtf8(tag) == tag;
    for (const char c : tag) good = good && static_cast<unsigned char>(c) > ' ' && c != 0x7F;
    if (good) return OutputFormat(true, true, std::string(tag));
    return absl::InvalidArgumentError(
        absl::StrCat("output ", runtime::Quote(text.substr(0, 2 * kMaxTag)),
                     ": the WORD of tag:WORD has 1 to ", kMaxTag, " characters and no space"));
  }
  return absl::InvalidArgumentError(absl::StrCat("output ", runtime::Quote(text.substr(0, kMaxTag)),
                                                 " is not json, values or tag:WORD"));
}

std::optional<std::string> OutputFormat::MetricsIn(std::string_view line) const {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (const std::size_t over = line.rfind('\r'); over != line.npos) line.remove_prefix(over + 1);
  if (!tag_.empty()) {
    line = Trimmed(line);
    if (line.substr(0, tag_.size()) != tag_) return std::nullopt;
    line.remove_prefix(tag_.size());
    // Not of a longer word.
    if (line.empty() || !IsIn(" \t:{", line.front())) return std::nullopt;
    if (line.front() == ':') line.remove_prefix(1);
  }
  if (json_) {
    if (auto object = ObjectIn(line)) return object;
  }
  return values_ ? ValuesIn(line) : std::nullopt;
}

}  // namespace trainer
