#include "tools/yard/cli/node_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"
#include "tools/yard/text/quantities.h"

namespace yard {
namespace {

constexpr std::size_t kMaxFaults = 20;
constexpr std::size_t kMaxShown = 60;

std::string Quoted(std::string_view text) {
  const bool is_long = text.size() > kMaxShown;
  return absl::StrCat("\"", runtime::Printable(text.substr(0, kMaxShown)),
                      is_long ? "...\"" : "\"");
}

// Describes a value of the file in words.
std::string Describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kText:
      break;
  }
  return absl::StrCat(node.quoted ? "the text " : "", Quoted(node.text));
}

}  // namespace

void NodeReader::Wrong(const YamlNode& at, std::string_view what) {
  std::string text = source_;
  if (at.line > 0) absl::StrAppend(&text, ":", at.line, ":", at.column);
  absl::StrAppend(&text, ": ");
  if (!path_.empty()) absl::StrAppend(&text, runtime::Printable(absl::StrJoin(path_, ".")), ": ");
  absl::StrAppend(&text, runtime::Absl(what));
  faults_.push_back({at.line, at.column, std::move(text)});
}

absl::Status NodeReader::status() const {
  if (faults_.empty()) return absl::OkStatus();
  std::vector<Fault> sorted = faults_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Fault& a, const Fault& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < kMaxFaults; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "\n", sorted[i].text);
  }
  if (sorted.size() > kMaxFaults) {
    absl::StrAppend(&text, "\nand ", sorted.size() - kMaxFaults, " more");
  }
  return absl::InvalidArgumentError(text);
}

void NodeReader::Expected(const YamlNode& node, std::string_view form) {
  Wrong(node, absl::StrCat("expected ", std::string(form), ", not ", Describe(node)));
}

void NodeReader::Unknown(const YamlNode& key, const std::vector<std::string_view>& known) {
  const std::string_view nearest =
      key.text.size() > kMaxShown ? std::string_view() : runtime::NearestWord(key.text, known);
  std::string text = absl::StrCat("unknown key ", Quoted(key.text), "; ");
  if (!nearest.empty()) {
    absl::StrAppend(&text, "do you mean \"", std::string(nearest), "\"?");
  } else {
    std::vector<std::string> names(known.begin(), known.end());
    absl::StrAppend(&text, "there are: ", absl::StrJoin(names, ", "));
  }
  Wrong(key, text);
}

const std::string* NodeReader::Scalar(const YamlNode& node, std::string_view form) {
  if (node.kind == YamlNode::Kind::kText) return &node.text;
  Expected(node, form);
  return nullptr;
}

bool NodeReader::IsMap(const YamlNode& node, std::string_view expected) {
  if (node.kind == YamlNode::Kind::kMap) return true;
  Expected(node, expected);
  return false;
}

bool NodeReader::IsList(const YamlNode& node, std::string_view expected) {
  if (node.kind == YamlNode::Kind::kList) return true;
  Expected(node, expected);
  return false;
}

bool NodeReader::Text(const YamlNode& node, std::string* value) {
  const std::string* const text = Scalar(node, "a text");
  if (text == nullptr) return false;
  *value = *text;
  return true;
}

bool NodeReader::Path(const YamlNode& node, std::string* value) {
  const std::string* const text = Scalar(node, "a path");
  if (text == nullptr) return false;
  if (text->empty()) {
    Wrong(node, "expected a path, not an empty text");
    return false;
  }
  if (text->front() == '~') {
    Wrong(node, "~ stands for no directory here; write the whole path");
    return false;
  }
  auto path = (std::filesystem::path(directory_) / *text).lexically_normal();
  if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();
  *value = path.string();
  return true;
}

bool NodeReader::Bool(const YamlNode& node, bool* value) {
  const std::string* const text = Scalar(node, "true or false");
  if (text == nullptr) return false;
  const bool is_true = *text == "true" || *text == "True" || *text == "TRUE";
  const bool is_false = *text == "false" || *text == "False" || *text == "FALSE";
  if (node.quoted || is_true == is_false) {
    Expected(node, "true or false");
    return false;
  }
  *value = is_true;
  return true;
}

bool NodeReader::WholeNumber(const YamlNode& node, std::uint64_t least, std::uint64_t most,
                             std::uint64_t* value) {
  const std::string form = absl::StrCat("a whole number from ", least, " to ", most);
  const std::string* const text = Scalar(node, form);
  if (text == nullptr) return false;
  std::uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (node.quoted || error != std::errc() || stop != end || number < least || number > most) {
    Expected(node, form);
    return false;
  }
  *value = number;
  return true;
}

bool NodeReader::Milliseconds(const YamlNode& node, std::uint64_t most, std::uint64_t* value) {
  const std::string* const text = Scalar(node, kTimeForm);
  if (text == nullptr) return false;
  const auto time = ParseTime(*text);
  if (!time.has_value()) {
    Expected(node, kTimeForm);
    return false;
  }
  const auto up = static_cast<std::uint64_t>(
      absl::ToInt64Milliseconds(*time + absl::Milliseconds(1) - absl::Nanoseconds(1)));
  if (up > most) {
    const auto limit = absl::Milliseconds(static_cast<std::int64_t>(most));
    Expected(node,
             absl::StrCat("a time of at most ", FormatTime(absl::Trunc(limit, absl::Seconds(1)))));
    return false;
  }
  *value = up;
  return true;
}

bool NodeReader::Size(const YamlNode& node, std::uint64_t* value) {
  const std::string* const text = Scalar(node, kSizeForm);
  if (text == nullptr) return false;
  const auto size = ParseSize(*text);
  if (!size.has_value()) {
    Expected(node, kSizeForm);
    return false;
  }
  *value = *size;
  return true;
}

bool NodeReader::Decimal(const YamlNode& node, double least, double most, double* value) {
  const std::string form = absl::StrCat("a number from ", least, " to ", most);
  const std::string* const text = Scalar(node, form);
  if (text == nullptr) return false;
  double number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  const bool in_range = number >= least && number <= most;  // False for NaN.
  if (node.quoted || error != std::errc() || stop != end || !in_range) {
    Expected(node, form);
    return false;
  }
  *value = number;
  return true;
}

bool NodeReader::OneOf(const YamlNode& node, std::span<const std::string_view> words,
                       std::size_t* value) {
  std::string form;
  for (std::size_t i = 0; i < words.size(); ++i) {
    absl::StrAppend(&form,
                    i == 0                 ? ""
                    : i + 1 < words.size() ? ", "
                                           : " or ",
                    std::string(words[i]));
  }
  const std::string* const text = Scalar(node, form);
  if (text == nullptr) return false;
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found == words.end()) {
    Expected(node, form);
    return false;
  }
  *value = static_cast<std::size_t>(found - words.begin());
  return true;
}

bool NodeReader::Texts(const YamlNode& node, std::vector<std::string>* values) {
  if (!IsList(node, "a list of texts: [first, second]")) return false;
  std::vector<std::string> texts(node.items.size());
  bool good = true;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Under(absl::StrCat(i), [&] { good = Text(node.items[i], &texts[i]) && good; });
  }
  if (good) *values = std::move(texts);
  return good;
}

bool NodeReader::Assignments(const YamlNode& node, std::vector<std::string>* values) {
  if (!IsMap(node, "a map from names to texts: {NAME: value}")) return false;
  std::vector<std::string> assignments;
  bool good = true;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string& name = node.keys[i].text;
    if (name.empty() || name.find('=') != std::string::npos) {
      Wrong(node.keys[i], "expected a name that is not empty and has no =");
      good = false;
      continue;
    }
    std::string text;
    Under(name, [&] { good = Text(node.items[i], &text) && good; });
    assignments.push_back(absl::StrCat(name, "=", text));
  }
  if (good) *values = std::move(assignments);
  return good;
}

}  // namespace yard
