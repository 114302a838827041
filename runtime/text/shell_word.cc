#include "runtime/text/shell_word.h"

namespace runtime {

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
  // (zsh expands a leading "=".)
  const bool is_plain =
      !text.empty() && text[0] != '=' && text.find_first_not_of(kPlain) == std::string_view::npos;
  if (is_plain) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace runtime
