#include "tools/yard/sweep/sweep_node.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/text/printable.h"

namespace yard {
namespace {

using Kind = tuning::PlanNode::Kind;

std::size_t Digits(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  return end == std::string_view::npos ? text.size() : end;
}

// Returns `text` as a JSON number; nothing if it is not a number.
std::optional<std::string> JsonNumber(std::string_view text) {
  std::string number;
  if (text.starts_with('-')) number = "-";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t whole = Digits(text);
  if (whole > 1 && text[0] == '0') return std::nullopt;
  absl::StrAppend(&number, whole == 0 ? "0" : std::string(text.substr(0, whole)));
  text.remove_prefix(whole);
  std::size_t part = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    part = Digits(text);
    absl::StrAppend(&number, ".", part == 0 ? "0" : std::string(text.substr(0, part)));
    text.remove_prefix(part);
  }
  if (whole + part == 0) return std::nullopt;
  if (text.empty()) return number;
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  const std::string exponent(text);
  text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || Digits(text) != text.size()) return std::nullopt;
  return number + exponent;
}

void SetScalar(const YamlNode& yaml, tuning::PlanNode* node) {
  const std::string& text = yaml.text;
  node->kind = Kind::kText;
  node->json = nlohmann::json(text).dump();
  if (yaml.quoted) return;
  const bool is_true = text == "true" || text == "True" || text == "TRUE";
  const bool is_false = text == "false" || text == "False" || text == "FALSE";
  if (is_true || is_false) {
    node->kind = Kind::kBool;
    node->json = is_true ? "true" : "false";
  } else if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    node->kind = Kind::kNull;
    node->json = "null";
  } else if (auto number = JsonNumber(text)) {
    node->kind = Kind::kNumber;
    node->json = *std::move(number);
  }
}

void Nowhere(YamlNode* node) {
  node->line = node->column = 0;
  for (YamlNode& key : node->keys) Nowhere(&key);
  for (YamlNode& item : node->items) Nowhere(&item);
}

// Returns the index of the longest key that equals `path` or is a prefix of it up to a dot; nothing
// if there is no such key.
std::optional<std::size_t> KeyOf(const YamlNode& map, std::string_view path) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const std::string& key = map.keys[i].text;
    const bool fits =
        path.starts_with(key) && (path.size() == key.size() || path[key.size()] == '.');
    if (fits && (!found || key.size() > map.keys[*found].text.size())) found = i;
  }
  return found;
}

}  // namespace

tuning::PlanNode NodeOf(const YamlNode& yaml) {
  tuning::PlanNode node;
  node.line = yaml.line;
  node.column = yaml.column;
  switch (yaml.kind) {
    case YamlNode::Kind::kNull:
      break;
    case YamlNode::Kind::kText:
      SetScalar(yaml, &node);
      break;
    case YamlNode::Kind::kList:
      node.kind = Kind::kList;
      for (const YamlNode& item : yaml.items) node.items.push_back(NodeOf(item));
      break;
    case YamlNode::Kind::kMap:
      node.kind = Kind::kMap;
      for (std::size_t i = 0; i < yaml.items.size(); ++i) {
        tuning::PlanNode value = NodeOf(yaml.items[i]);
        value.line = yaml.keys[i].line;
        value.column = yaml.keys[i].column;
        node.entries.emplace_back(yaml.keys[i].text, std::move(value));
      }
      break;
  }
  return node;
}

absl::Status SetByPath(const std::string& assignment, YamlNode* root) {
  const std::size_t equals = assignment.find('=');
  const std::string path = assignment.substr(0, equals);
  const std::string shown = absl::StrCat("--set ", runtime::Printable(path));
  if (equals == std::string::npos || path.empty() || path.front() == '.' || path.back() == '.' ||
      path.find("..") != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("--set: expected KEY=VALUE like parameters.lr.max=0.1, not \"",
                     runtime::Printable(assignment), "\""));
  }
  YamlNode value;
  if (equals + 1 < assignment.size()) {
    auto parsed = ParseYaml(assignment.substr(equals + 1), shown);
    if (!parsed.ok()) return parsed.status();
    value = *std::move(parsed);
  }
  Nowhere(&value);
  YamlNode* at = root;
  std::string_view left = path;
  while (!left.empty()) {
    if (at->kind == YamlNode::Kind::kNull) at->kind = YamlNode::Kind::kMap;
    if (at->kind != YamlNode::Kind::kMap) {
      return absl::InvalidArgumentError(
          absl::StrCat(shown, ": ", runtime::Printable(path.substr(0, path.size() - left.size())),
                       " has no keys"));
    }
    auto place = KeyOf(*at, left);
    if (!place) {
      place = at->keys.size();
      YamlNode key;
      key.kind = YamlNode::Kind::kText;
      key.text = std::string(left.substr(0, left.find('.')));
      at->keys.push_back(std::move(key));
      at->items.emplace_back();
    }
    const std::string& key = at->keys[*place].text;
    left.remove_prefix(std::min(key.size() + 1, left.size()));
    if (left.empty()) at->keys[*place].line = at->keys[*place].column = 0;
    at = &at->items[*place];
  }
  *at = std::move(value);
  return absl::OkStatus();
}

}  // namespace yard
