#include "runtime/query/query_error.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace runtime {
namespace {

constexpr std::size_t kShown = 72;   // Characters of a query.
constexpr std::size_t kBefore = 48;  // How many of them may precede the column.
constexpr std::size_t kWord = 40;    // Characters of a quoted word.

// Splits `text` into characters, one column each.
std::vector<std::string_view> Characters(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    // (A byte that is not UTF-8 counts as a character.)
    const std::size_t bytes = std::max<std::size_t>(Utf8Bytes(text), 1);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool space = first == '\n' || first == '\t' || first == '\r';
    const bool strange = bytes == 1 && (first < 0x20 || first >= 0x7F);
    characters.push_back(space ? " " : strange ? "?" : text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return characters;
}

}  // namespace

absl::Status QueryError(std::string_view kind, std::string_view text, std::size_t offset,
                        std::string_view message) {
  const std::size_t column = Characters(text.substr(0, offset)).size();
  const std::vector<std::string_view> characters = Characters(text);
  const std::size_t begin = characters.size() <= kShown || column <= kBefore
                                ? 0
                                : std::min(column - kBefore, characters.size() - kShown);
  const std::size_t end = std::min(begin + kShown, characters.size());
  std::string shown = begin > 0 ? "  ..." : "  ";
  const std::string caret(shown.size() + column - begin, ' ');
  for (std::size_t i = begin; i < end; ++i) shown += characters[i];
  if (end < characters.size()) shown += "...";
  std::string why;  // Sanitised, because it may quote the query or a pattern's error.
  for (const std::string_view character : Characters(message)) why += character;
  return absl::InvalidArgumentError(
      absl::StrCat(Absl(kind), ", column ", column + 1, ": ", why, "\n", shown, "\n", caret, "^"));
}

std::string QuotedWord(std::string_view word) {
  const std::vector<std::string_view> characters = Characters(word);
  std::string quoted = "\"";
  for (std::size_t i = 0; i < std::min(characters.size(), kWord); ++i) quoted += characters[i];
  return quoted + (characters.size() > kWord ? "...\"" : "\"");
}

}  // namespace runtime
