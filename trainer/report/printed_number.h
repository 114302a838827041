#ifndef TRAINER_REPORT_PRINTED_NUMBER_H_
#define TRAINER_REPORT_PRINTED_NUMBER_H_

#include <optional>
#include <string>
#include <string_view>

namespace trainer {

// Helpers to parse the output of programs. Pure; any thread.

inline constexpr std::string_view kPrintedSpaces = " \t";

inline bool IsIn(std::string_view set, char c) { return set.find(c) != set.npos; }
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
// True for a character of a metric's name.
inline bool IsOfName(char c) {
  return IsLetter(c) || IsDigit(c) || c == '-' || c == '.' || c == '/';
}

std::string_view TrimmedSpaces(std::string_view text);

// Returns a number or boolean as JSON: unchanged if it is JSON already, otherwise (".5", "+1",
// "nan", "True") converted. Nullopt for other text, and for more than 64 characters.
std::optional<std::string> NumberIn(std::string_view text);

}  // namespace trainer

#endif  // TRAINER_REPORT_PRINTED_NUMBER_H_
