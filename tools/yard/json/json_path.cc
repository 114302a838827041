#include "tools/yard/json/json_path.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "bus/json/exact_json.h"
#include "bus/json/trial_and_job_json.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

// Returns true for a byte that needs no quotes in a name.
bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '/' || c == '$';
}

// Parses the text if it is an object or a list; otherwise returns a value that is neither.
nlohmann::json InsideOf(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return nullptr;
  // Metrics and parameters may contain NaN, which is not valid JSON.
  if (text[first] == '{') return bus::MetricsToJson(text);
  return text[first] == '[' ? bus::ParseExactJson(text) : nlohmann::json();
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
    } else if (rest.starts_with("[*]")) {
      path.steps_.emplace_back(Every());
      rest.remove_prefix(3);
    } else if (rest.starts_with('[')) {
      std::size_t index = 0;
      const char* const digits = rest.data() + 1;
      const auto read = std::from_chars(digits, rest.data() + rest.size(), index);
      if (read.ec != std::errc() || read.ptr == rest.data() + rest.size() || *read.ptr != ']') {
        return Bad(all, rest, "a number or a name in quotes, or *, belongs in [ ]");
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

bool JsonPath::AnyFrom(std::size_t step, const nlohmann::json& value,
                       const std::function<bool(const nlohmann::json&)>& visit) const {
  if (step == steps_.size()) return visit(value);
  if (value.is_string()) {
    const nlohmann::json inside = InsideOf(value.get_ref<const std::string&>());
    return inside.is_structured() && AnyFrom(step, inside, visit);
  }
  if (const auto* const name = std::get_if<std::string>(&steps_[step])) {
    const auto found = value.is_object() ? value.find(*name) : value.end();
    return found != value.end() && AnyFrom(step + 1, *found, visit);
  }
  if (!value.is_array()) return false;
  if (const auto* const index = std::get_if<std::size_t>(&steps_[step])) {
    return *index < value.size() && AnyFrom(step + 1, value[*index], visit);
  }
  return std::any_of(value.begin(), value.end(), [&](const nlohmann::json& element) {
    return AnyFrom(step + 1, element, visit);
  });
}

bool JsonPath::AnyOf(const nlohmann::json& value,
                     const std::function<bool(const nlohmann::json&)>& visit) const {
  return AnyFrom(0, value, visit);
}

bool JsonPath::IsIn(const nlohmann::json& value) const {
  return AnyOf(value, [](const nlohmann::json&) { return true; });
}

std::optional<nlohmann::json> JsonPath::Find(const nlohmann::json& value) const {
  nlohmann::json all = nlohmann::json::array();
  AnyOf(value, [&](const nlohmann::json& found) {
    all.push_back(found);
    return false;
  });
  const bool is_list = std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return std::holds_alternative<Every>(step);
  });
  if (all.empty()) return std::nullopt;
  return is_list ? all : std::move(all[0]);
}

}  // namespace yard
