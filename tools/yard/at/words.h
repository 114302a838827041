#ifndef TOOLS_YARD_AT_WORDS_H_
#define TOOLS_YARD_AT_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// Encodes words of any bytes as one word that every shell (sh, bash, zsh, fish, csh) leaves
// unchanged: letters, digits and "-_./" stay, other bytes become %XX, and each word ends with a
// comma. Lossless, also for empty words, newlines and invalid UTF-8.
std::string EncodeWords(const std::vector<std::string>& words);
// InvalidArgument if `text` cannot be the result of EncodeWords().
absl::StatusOr<std::vector<std::string>> DecodeWords(std::string_view text);

}  // namespace yard

#endif  // TOOLS_YARD_AT_WORDS_H_
