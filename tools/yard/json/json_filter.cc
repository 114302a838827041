#include "tools/yard/json/json_filter.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "re2/re2.h"
#include "runtime/query/comparison.h"
#include "runtime/query/query_text.h"
#include "runtime/query/query_tree.h"
#include "tools/yard/json/json_path.h"

namespace yard {
namespace {

using nlohmann::json;

using runtime::Comparison;

constexpr std::int64_t kPatternMemory = 1 << 20;

std::optional<double> NumberOf(const std::string& text) {
  double number = 0;
  if (text.empty() || !absl::SimpleAtod(text, &number)) return std::nullopt;
  return number;
}

std::optional<double> NumberOf(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return NumberOf(value.get_ref<const std::string&>());
  return std::nullopt;
}

// Returns nothing for lists and objects.
std::optional<std::string> TextOf(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_structured()) return std::nullopt;
  return value.dump();
}

bool IsSomething(const json& value) {
  return !(value.is_null() || value == false || value == "" || NumberOf(value) == 0.0);
}

}  // namespace

struct JsonFilter::Condition {
  // Returns true if the condition holds for a value at its path.
  bool Holds(const json& found) const;

  std::string text = {};  // Text of the path.
  std::optional<JsonPath> place = {};
  // With neither of the next two, the condition is that the value exists and is truthy.
  std::optional<Comparison> comparison = {};
  std::shared_ptr<const RE2> pattern = {};
  std::string value = {};
  std::optional<double> number = {};
};

bool JsonFilter::Condition::Holds(const json& found) const {
  if (!comparison && pattern == nullptr) return IsSomething(found);
  const auto found_number = number ? NumberOf(found) : std::nullopt;
  if (comparison && found_number) return runtime::Holds(*comparison, *found_number, *number);
  const auto text = TextOf(found);
  if (!text) return false;
  if (pattern != nullptr) return RE2::PartialMatch(*text, *pattern);
  return (comparison == Comparison::kEqual && *text == value) ||
         (comparison == Comparison::kNotEqual && *text != value);
}

// Parses conditions. Methods return false after they have recorded an error.
class JsonFilter::Parser {
 public:
  explicit Parser(std::string_view text) : text_("filter", text, "<>=!&|()~\"'") {}

  absl::StatusOr<Node> Parse() {
    return runtime::ParseQuery<Condition>(
        &text_, [this](Condition& condition) { return Read(&condition); });
  }

 private:
  bool Read(Condition* condition) {
    const std::string_view before = text_.rest();
    std::string_view rest = before;
    auto place = JsonPath::Take(&rest);
    if (!place.ok()) return text_.Fail(text_.at(), "expected a place, as row.step, ! or (");
    condition->place = *std::move(place);
    condition->text = before.substr(0, before.size() - rest.size());
    text_.Skip(condition->text.size());
    text_.SkipSpaces();
    const bool is_pattern = text_.next() == '~';
    if (is_pattern) {
      text_.Skip(1);
    } else {
      const auto sign = text_.TakeComparison();
      if (!sign) return true;
      condition->comparison = sign->comparison;
    }
    text_.SkipSpaces();
    const std::size_t start = text_.at();
    const bool is_quoted = text_.IsQuote();
    if (!text_.ReadWord(&condition->value)) return false;
    if (condition->value.empty() && !is_quoted) return text_.Fail(start, "expected a value");
    condition->number = NumberOf(condition->value);
    return !is_pattern || Compile(start, condition);
  }

  bool Compile(std::size_t start, Condition* condition) {
    RE2::Options options(RE2::Quiet);
    options.set_max_mem(kPatternMemory);
    auto pattern = std::make_shared<const RE2>(condition->value, options);
    if (!pattern->ok()) {
      return text_.Fail(start, absl::StrCat("not a regular expression: ", pattern->error()));
    }
    condition->pattern = std::move(pattern);
    return true;
  }

  runtime::QueryText text_;
};

absl::StatusOr<JsonFilter> JsonFilter::Parse(std::string_view text) {
  auto root = Parser(text).Parse();
  if (!root.ok()) return root.status();
  return JsonFilter(std::make_shared<const Node>(*std::move(root)));
}

bool JsonFilter::Matches(const json& value) const {
  return root_->Evaluate([&](const Condition& condition) {
    return runtime::AnswerOf(
        condition.place->AnyOf(value, [&](const json& found) { return condition.Holds(found); }));
  }) == runtime::Answer::kYes;
}

void JsonFilter::AddPlaces(std::set<std::string>* places) const {
  root_->ForEach([&](const Condition& condition) { places->insert(condition.text); });
}

}  // namespace yard
