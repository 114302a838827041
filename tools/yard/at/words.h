#ifndef TOOLS_YARD_AT_WORDS_H_
#define TOOLS_YARD_AT_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// Words of any bytes as one word that every shell (sh, bash, zsh, fish, csh) takes as it is:
// letters, digits and "-_./" stay, any other byte is %XX, and each word ends with a comma. Nothing
// is lost: not empty words, newlines, or bytes that are no UTF-8.
std::string EncodeWords(const std::vector<std::string>& words);
// InvalidArgument if EncodeWords() cannot have made `text`.
absl::StatusOr<std::vector<std::string>> DecodeWords(std::string_view text);

}  // namespace yard

#endif  // TOOLS_YARD_AT_WORDS_H_
