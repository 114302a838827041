#include "trainer/report/printed_number.h"

#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "runtime/text/json_number.h"
#include "runtime/text/json_value.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxNumber = 64;  // Characters.

}  // namespace

std::string_view TrimmedSpaces(std::string_view text) {
  while (!text.empty() && IsIn(kPrintedSpaces, text.front())) text.remove_prefix(1);
  while (!text.empty() && IsIn(kPrintedSpaces, text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::string> NumberIn(std::string_view text) {
  if (text.empty() || text.size() > kMaxNumber) return std::nullopt;
  if (text == "true" || text == "True") return "true";
  if (text == "false" || text == "False") return "false";
  const auto json = runtime::ParseJson(text);
  if (json.ok() && json->IsNumber()) return std::string(text);
  // strtod() would also accept "0x10" and white space.
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

}  // namespace trainer
