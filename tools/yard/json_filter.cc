#include "tools/yard/json_filter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "re2/re2.h"
#include "runtime/text/string_view.h"
#include "tools/yard/json_path.h"

namespace yard {
namespace {

using nlohmann::json;

constexpr std::string_view kNotInWords = " \t\r\n<>=!&|()~\"'";
constexpr std::int64_t kPatternMemory = 1 << 20;

enum class Operator {
  kIsThere,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kEqual,
  kNotEqual,
  kMatches
};

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

// Nothing for lists and objects.
std::optional<std::string> TextOf(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_structured()) return std::nullopt;
  return value.dump();
}

bool Holds(Operator op, double a, double b) {
  switch (op) {
    case Operator::kLess:
      return a < b;
    case Operator::kLessOrEqual:
      return a <= b;
    case Operator::kGreater:
      return a > b;
    case Operator::kGreaterOrEqual:
      return a >= b;
    case Operator::kEqual:
      return a == b || (std::isnan(a) && std::isnan(b));
    case Operator::kNotEqual:
      return a != b && !(std::isnan(a) && std::isnan(b));
    default:
      return false;
  }
}

using NodePointer = std::unique_ptr<JsonFilter>;

class Condition : public JsonFilter {
 public:
  Condition(std::string text, JsonPath place, Operator op, std::string value)
      : text_(std::move(text)),
        place_(std::move(place)),
        op_(op),
        value_(std::move(value)),
        number_(NumberOf(value_)) {}
  void AddPlaces(std::set<std::string>* places) const override { places->insert(text_); }
  // InvalidArgument: `value` is no regular expression.
  absl::Status CompilePattern() {
    RE2::Options options(RE2::Quiet);
    options.set_max_mem(kPatternMemory);
    pattern_ = std::make_unique<RE2>(value_, options);
    return pattern_->ok() ? absl::OkStatus() : absl::InvalidArgumentError(pattern_->error());
  }

  bool Matches(const json& value) const override {
    const json* const found = place_.Find(value);
    if (found == nullptr) return false;
    if (op_ == Operator::kIsThere) {
      const auto number = NumberOf(*found);
      return !(found->is_null() || *found == false || *found == "" || number == 0.0);
    }
    if (op_ != Operator::kMatches && number_.has_value()) {
      if (const auto number = NumberOf(*found); number.has_value()) {
        return Holds(op_, *number, *number_);
      }
    }
    const auto text = TextOf(*found);
    if (!text.has_value()) return false;
    if (op_ == Operator::kMatches) return RE2::PartialMatch(*text, *pattern_);
    return (op_ == Operator::kEqual && *text == value_) ||
           (op_ == Operator::kNotEqual && *text != value_);
  }

 private:
  const std::string text_;  // Of the place.
  const JsonPath place_;
  const Operator op_;
  const std::string value_;
  const std::optional<double> number_;
  std::unique_ptr<RE2> pattern_;
};

class Not : public JsonFilter {
 public:
  explicit Not(NodePointer of) : of_(std::move(of)) {}
  bool Matches(const json& value) const override { return !of_->Matches(value); }
  void AddPlaces(std::set<std::string>* places) const override { of_->AddPlaces(places); }

 private:
  const NodePointer of_;
};

class Several : public JsonFilter {
 public:
  // Of all of them, or of any.
  Several(std::vector<NodePointer> of, bool all) : of_(std::move(of)), all_(all) {}
  bool Matches(const json& value) const override {
    for (const NodePointer& one : of_) {
      if (one->Matches(value) != all_) return !all_;
    }
    return all_;
  }
  void AddPlaces(std::set<std::string>* places) const override {
    for (const NodePointer& one : of_) one->AddPlaces(places);
  }

 private:
  const std::vector<NodePointer> of_;
  const bool all_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : all_(text), rest_(text) {}

  absl::StatusOr<NodePointer> Parse() {
    if (all_.size() > JsonFilter::kMaxSize) {
      return absl::InvalidArgumentError(
          absl::StrCat("the filter has over ", JsonFilter::kMaxSize, " bytes"));
    }
    auto filter = Joined(/*all=*/false);
    if (!filter.ok()) return filter;
    SkipSpace();
    if (!rest_.empty()) return Bad("expected & or |, or the end");
    return filter;
  }

 private:
  // Alternatives of conjunctions, or, with `all`, such a conjunction.
  absl::StatusOr<NodePointer> Joined(bool all) {
    std::vector<NodePointer> parts;
    do {
      auto part = all ? One() : Joined(true);
      if (!part.ok()) return part;
      parts.push_back(*std::move(part));
    } while (TakeJoin(all ? '&' : '|'));
    if (parts.size() == 1) return std::move(parts.front());
    return std::make_unique<Several>(std::move(parts), all);
  }

  absl::StatusOr<NodePointer> One() {
    SkipSpace();
    const bool is_not = rest_.starts_with('!');
    if (!is_not && !rest_.starts_with('(')) return OneCondition();
    if (++depth_ > JsonFilter::kMaxDepth) return Bad("too many ( and ! within each other");
    rest_.remove_prefix(1);
    auto inner = is_not ? One() : Joined(/*all=*/false);
    --depth_;
    if (!inner.ok()) return inner;
    if (is_not) return std::make_unique<Not>(*std::move(inner));
    SkipSpace();
    if (!rest_.starts_with(')')) return Bad("expected &, | or )");
    rest_.remove_prefix(1);
    return inner;
  }

  absl::StatusOr<NodePointer> OneCondition() {
    if (++conditions_ > JsonFilter::kMaxConditions) return Bad("too many conditions");
    const std::string_view before = rest_;
    auto place = JsonPath::Take(&rest_);
    if (!place.ok()) return Bad("expected a place, as row.step, ! or (");
    std::string text(before.substr(0, before.size() - rest_.size()));
    const Operator op = TakeOperator();
    SkipSpace();
    const std::string_view begin = rest_;
    std::string value;
    if (op != Operator::kIsThere) {
      if (absl::Status taken = TakeValue(&value); !taken.ok()) return taken;
    }
    auto condition =
        std::make_unique<Condition>(std::move(text), *std::move(place), op, std::move(value));
    if (op == Operator::kMatches) {
      if (const absl::Status good = condition->CompilePattern(); !good.ok()) {
        rest_ = begin;
        return Bad(absl::StrCat("not a regular expression: ", good.message()));
      }
    }
    return condition;
  }

  Operator TakeOperator() {
    static constexpr std::pair<std::string_view, Operator> kOperators[] = {
        {"<=", Operator::kLessOrEqual}, {">=", Operator::kGreaterOrEqual},
        {"!=", Operator::kNotEqual},    {"==", Operator::kEqual},
        {"<", Operator::kLess},         {">", Operator::kGreater},
        {"=", Operator::kEqual},        {"~", Operator::kMatches}};
    SkipSpace();
    for (const auto& [text, op] : kOperators) {
      if (!rest_.starts_with(text)) continue;
      rest_.remove_prefix(text.size());
      return op;
    }
    return Operator::kIsThere;
  }

  absl::Status TakeValue(std::string* value) {
    if (rest_.empty()) return Bad("expected a value");
    const char quote = rest_.front();
    if (quote != '"' && quote != '\'') {
      *value = rest_.substr(0, rest_.find_first_of(kNotInWords));
      if (value->empty()) return Bad("expected a value");
      rest_.remove_prefix(value->size());
      return absl::OkStatus();
    }
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == quote) {
        rest_.remove_prefix(i + 1);
        return absl::OkStatus();
      }
      const bool escapes = rest_[i] == '\\' && i + 1 < rest_.size() &&
                           (rest_[i + 1] == quote || rest_[i + 1] == '\\');
      if (escapes) ++i;
      value->push_back(rest_[i]);
    }
    return Bad("a quote without its end");
  }

  // "&" or "&&".
  bool TakeJoin(char join) {
    SkipSpace();
    if (!rest_.starts_with(join)) return false;
    rest_.remove_prefix(1);
    if (rest_.starts_with(join)) rest_.remove_prefix(1);
    return true;
  }
  void SkipSpace() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  absl::Status Bad(std::string_view what) const {
    const std::size_t column = all_.size() - rest_.size();
    std::string shown;
    for (const char c : all_) shown += c >= ' ' && c != '\x7F' ? c : '?';
    return absl::InvalidArgumentError(absl::StrCat("filter, column ", column + 1, ": ",
                                                   runtime::Absl(what), "\n  ", shown, "\n  ",
                                                   std::string(column, ' '), "^"));
  }

  const std::string_view all_;
  std::string_view rest_;
  int depth_ = 0;
  std::size_t conditions_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JsonFilter>> JsonFilter::Parse(std::string_view text) {
  return Parser(text).Parse();
}

}  // namespace yard
