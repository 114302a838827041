#include "tools/yard/json/json_path.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

// True for a byte of a name without quotes.
bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '/' || c == '$';
}

absl::Status Bad(std::string_view all, std::string_view rest, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", runtime::Absl(all), "\", column ",
                                                 all.size() - rest.size() + 1, ": ", what));
}

}  // namespace

absl::StatusOr<JsonPath> JsonPath::Take(std::string_view* text) {
  const std::string_view all = *text;
  std::string_view rest = all;
  JsonPath path;
  for (bool first = true;; first = false) {
    if (rest.starts_with("[\"")) {
      const std::size_t end = rest.find("\"]", 2);
      if (end == rest.npos) return Bad(all, rest, "a [\" without its \"]");
      path.steps_.emplace_back(std::string(rest.substr(2, end - 2)));
      rest.remove_prefix(end + 2);
    } else if (rest.starts_with('[')) {
      std::size_t index = 0;
      const char* const digits = rest.data() + 1;
      const auto read = std::from_chars(digits, rest.data() + rest.size(), index);
      if (read.ec != std::errc() || read.ptr == rest.data() + rest.size() || *read.ptr != ']') {
        return Bad(all, rest, "a number or a name in quotes belongs in [ ]");
      }
      path.steps_.emplace_back(index);
      rest.remove_prefix(static_cast<std::size_t>(read.ptr - rest.data()) + 1);
    } else if (first || rest.starts_with('.')) {
      if (!first) rest.remove_prefix(1);
      std::size_t size = 0;
      while (size < rest.size() && IsNameByte(rest[size])) ++size;
      if (size == 0) return Bad(all, rest, "a name belongs here");
      path.steps_.emplace_back(std::string(rest.substr(0, size)));
      rest.remove_prefix(size);
    } else {
      *text = rest;
      return path;
    }
  }
}

absl::StatusOr<JsonPath> JsonPath::Parse(std::string_view text) {
  std::string_view rest = text;
  auto path = Take(&rest);
  if (path.ok() && !rest.empty()) return Bad(text, rest, "a \".\" or a \"[\" belongs here");
  return path;
}

const nlohmann::json* JsonPath::Find(const nlohmann::json& value) const {
  const nlohmann::json* at = &value;
  for (const auto& step : steps_) {
    if (const auto* const name = std::get_if<std::string>(&step); name != nullptr) {
      if (!at->is_object()) return nullptr;
      const auto found = at->find(*name);
      if (found == at->end()) return nullptr;
      at = &*found;
    } else {
      const std::size_t index = std::get<std::size_t>(step);
      if (!at->is_array() || index >= at->size()) return nullptr;
      at = &(*at)[index];
    }
  }
  return at;
}

}  // namespace yard
