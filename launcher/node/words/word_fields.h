#ifndef LAUNCHER_NODE_WORDS_WORD_FIELDS_H_
#define LAUNCHER_NODE_WORDS_WORD_FIELDS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "launcher/wire/record.h"

namespace launcher {

// Fields of words (node_words.h, file_words.h) in their records. Any thread.

// The enumerator whose name stands at its place in `names`. Nothing: no enumerator has that name.
template <typename Enum, std::size_t N>
std::optional<Enum> NamedIn(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

// A number without a sign, as a record has it, and back.
inline std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
inline std::uint64_t Unsigned(const Record& record, std::string_view key) {
  return static_cast<std::uint64_t>(record.GetNumber(key));
}

// A whole record of this kind.
inline std::optional<Record> ParseWord(std::string_view bytes, std::string_view kind) {
  auto record = Record::Parse(bytes);
  return record && record->kind() == kind ? record : std::nullopt;
}

}  // namespace launcher

#endif  // LAUNCHER_NODE_WORDS_WORD_FIELDS_H_
