#include "datamanager/brief/run_config.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace datamanager {
namespace {

using nlohmann::json;

// Returns the nesting depth of a JSON text, before anything recurses into it.
std::size_t Depth(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return deepest;
}

}  // namespace

class RunConfig::Flattening {
 public:
  void Add(const std::string& name, const json& value) {
    if (value.is_object() && !value.empty()) {
      for (const auto& member : value.items()) {
        Add(name.empty() ? member.key() : absl::StrCat(name, "/", member.key()), member.value());
      }
      return;
    }
    Value flat{.name = name, .text = Text(value), .number = {}, .is_text = value.is_string()};
    if (value.is_number()) flat.number = value.get<double>();
    values_.push_back(std::move(flat));
  }

  // Returns the values sorted by name, without duplicates.
  std::vector<Value> Take() {
    std::stable_sort(values_.begin(), values_.end(),
                     [](const Value& a, const Value& b) { return a.name < b.name; });
    values_.erase(std::unique(values_.begin(), values_.end(),
                              [](const Value& a, const Value& b) { return a.name == b.name; }),
                  values_.end());
    return std::move(values_);
  }

 private:
  static std::string Text(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  std::vector<Value> values_;
};

RunConfig::RunConfig(std::vector<Value> values) : values_(std::move(values)) {
  facts_.reserve(values_.size());
  for (const Value& value : values_) {
    facts_.push_back(
        {.name = value.name, .text = value.text, .number = value.number, .is_text = value.is_text});
  }
}

RunConfig RunConfig::Of(const std::map<std::string, std::string>& values) {
  Flattening flattening;
  for (const auto& [name, text] : values) {
    const json parsed =
        Depth(text) > kMaxDepth ? json(text) : json::parse(text, nullptr, /*exceptions=*/false);
    flattening.Add(name, parsed.is_discarded() ? json(text) : parsed);
  }
  return RunConfig(flattening.Take());
}

absl::StatusOr<RunConfig> RunConfig::Parse(std::string_view text) {
  if (text.size() > kMaxSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a configuration of ", text.size(), " bytes, more than ", kMaxSize));
  }
  if (Depth(text) > kMaxDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("a configuration of more than ", kMaxDepth, " levels"));
  }
  const json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) {
    return absl::InvalidArgumentError("a configuration that is no JSON object");
  }
  Flattening flattening;
  if (!parsed.empty()) flattening.Add("", parsed);
  return RunConfig(flattening.Take());
}

}  // namespace datamanager
