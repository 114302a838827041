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

// Helpers for the fields of messages (node_words.h, file_words.h) in their records. Thread-safe.

// Returns the enumerator whose name is at its index in `names`; nullopt if no enumerator has that
// name.
template <typename Enum, std::size_t N>
std::optional<Enum> NamedIn(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

// Convert an unsigned number to the form in which a record has it, and back.
inline std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
inline std::uint64_t Unsigned(const Record& record, std::string_view key) {
  return static_cast<std::uint64_t>(record.GetNumber(key));
}

// Parses a record of this kind; nullopt for others.
inline std::optional<Record> ParseWord(std::string_view bytes, std::string_view kind) {
  auto record = Record::Parse(bytes);
  return record && record->kind() == kind ? record : std::nullopt;
}

}  // namespace launcher

#endif  // LAUNCHER_NODE_WORDS_WORD_FIELDS_H_
