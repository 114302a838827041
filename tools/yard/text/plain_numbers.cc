#include "tools/yard/text/plain_numbers.h"

#include <cstddef>

#include "absl/strings/numbers.h"
#include "runtime/text/number_text.h"

namespace yard {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsOfWord(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
}

std::size_t DigitsAt(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return end;
}

// Returns the end of the number that begins at `at`; `at` if there is no number.
std::size_t NumberEnd(std::string_view text, std::size_t at) {
  std::size_t end = DigitsAt(text, at);
  bool has_digits = end > at;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = DigitsAt(text, end + 1);
    has_digits |= fraction > end + 1;
    if (has_digits) end = fraction;
  }
  if (!has_digits) return at;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const std::size_t sign =
        end + 1 + (end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+') ? 1 : 0);
    if (DigitsAt(text, sign) > sign) end = DigitsAt(text, sign);
  }
  return end < text.size() && IsOfWord(text[end]) ? at : end;
}

}  // namespace

std::string WithPlainNumbers(std::string_view name) {
  std::string plain;
  for (std::size_t at = 0; at < name.size();) {
    const bool may_begin = at == 0 || !IsOfWord(name[at - 1]);
    const std::size_t end = may_begin ? NumberEnd(name, at) : at;
    double number = 0;
    if (end == at || !absl::SimpleAtod(std::string(name.substr(at, end - at)), &number)) {
      plain += name[at++];
      continue;
    }
    runtime::AppendNumber(number, &plain);
    at = end;
  }
  return plain;
}

}  // namespace yard
