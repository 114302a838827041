#include "trainer/report/newest_metrics.h"

#include <cstddef>

#include "runtime/text/json_value.h"

namespace trainer {
namespace {

using runtime::JsonValue;

// Returns the end of the string that begins at `at`.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

// Returns the end of the non-object value that begins at `at`.
std::size_t EndOfValue(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = EndOfString(text, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}')) return at;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    ++at;
  }
  return at;
}

// Appends a member to an object that is not closed yet.
void AppendMember(std::string_view name, std::string_view value, std::string& object) {
  if (object.size() > 1) object += ',';
  object += runtime::Quote(name);
  object += ':';
  object += value;
}

std::string Merged(const JsonValue& older, const JsonValue& newer) {
  std::string merged = "{";
  for (const auto& [name, value] : newer.members) {
    const JsonValue* const before = older.Find(name);
    const bool both = value.kind == JsonValue::Kind::kObject && before != nullptr &&
                      before->kind == JsonValue::Kind::kObject;
    AppendMember(name, both ? Merged(*before, value) : runtime::CompactJson(value), merged);
  }
  for (const auto& [name, value] : older.members) {
    if (newer.Find(name) == nullptr) AppendMember(name, runtime::CompactJson(value), merged);
  }
  return merged + "}";
}

}  // namespace

bool HaveSameNames(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i] != b[j]) return false;
    if (a[i] == '"') {
      const std::size_t end = EndOfString(a, i), other_end = EndOfString(b, j);
      if (a.substr(i, end - i) != b.substr(j, other_end - j)) return false;
      i = end;
      j = other_end;
    } else if (a[i] == ':') {
      const bool is_object = a.substr(i + 1, 1) == "{";
      if (is_object != (b.substr(j + 1, 1) == "{")) return false;
      i = is_object ? i + 1 : EndOfValue(a, i + 1);
      j = is_object ? j + 1 : EndOfValue(b, j + 1);
    } else {
      ++i;
      ++j;
    }
  }
  return i >= a.size() && j >= b.size();
}

std::string MergedMetrics(std::string_view older, std::string_view newer) {
  if (older.empty() || newer.empty() || older.size() > kMostEarlierMetrics)
    return std::string(newer);
  const auto before = runtime::ParseJson(older), after = runtime::ParseJson(newer);
  const bool are_objects = before.ok() && before->kind == JsonValue::Kind::kObject && after.ok() &&
                           after->kind == JsonValue::Kind::kObject;
  return are_objects ? Merged(*before, *after) : std::string(newer);
}

}  // namespace trainer
