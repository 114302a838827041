#include "tuning/space/constraint.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace tuning {
namespace {

constexpr int kDeepest = 50;  // Greatest nesting of parentheses.

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Excess of a comparison that only just fails, such as 2 < 2.
constexpr double kLeast = 1e-12;

// The value of an expression: a number or a string.
struct Value {
  double number = 0;
  std::optional<std::string> text = std::nullopt;
  // For a truth value: how far it is from being true, if known.
  std::optional<double> excess = std::nullopt;
};

Value Truth(bool is_true) { return {.number = is_true ? 1.0 : 0.0}; }
bool IsTrue(const Value& value) { return !value.text && value.number != 0; }
double ExcessOf(const Value& value) { return value.excess.value_or(IsTrue(value) ? -1.0 : 1.0); }

// Returns a truth value with an excess of at most 0 if it is true, and above 0 if not.
Value TruthWith(bool is_true, double excess) {
  Value value = Truth(is_true);
  if (std::isnan(excess)) excess = is_true ? 0 : kInfinity;  // (From infinity minus infinity.)
  value.excess = is_true ? std::min(excess, 0.0) : std::max(excess, kLeast);
  return value;
}

Value ValueOf(const std::string& json_text) {
  const auto json = nlohmann::json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (json.is_number()) return {.number = json.get<double>()};
  if (json.is_boolean()) return Truth(json.get<bool>());
  return {.text = json.is_string() ? json.get<std::string>() : json_text};
}

}  // namespace

// The values that names refer to.
struct Constraint::Names {
  const Config& config;
  std::span<const MetricValue> metrics;
};

// An expression; its value is nullopt if a name is unknown.
struct Constraint::Node {
  std::function<std::optional<Value>(const Names&)> value;
};

namespace {

using Names = Constraint::Names;
using NodePtr = std::shared_ptr<const Constraint::Node>;
using Operation = std::function<Value(const Value&, const Value&)>;

NodePtr Leaf(Value value) {
  return std::make_shared<Constraint::Node>(
      Constraint::Node{[value = std::move(value)](const Names&) { return std::optional(value); }});
}

NodePtr Name(std::string name) {
  const auto find = [name = std::move(name)](const Names& names) -> std::optional<Value> {
    for (const auto& [key, json] : names.config) {
      if (key == name) return ValueOf(json);
    }
    for (const auto& [key, number] : names.metrics) {
      if (key == name) return Value{.number = number};
    }
    return std::nullopt;
  };
  return std::make_shared<Constraint::Node>(Constraint::Node{find});
}

NodePtr Both(NodePtr left, NodePtr right, Operation operation) {
  const auto value = [left = std::move(left), right = std::move(right),
                      operation =
                          std::move(operation)](const Names& names) -> std::optional<Value> {
    const auto a = left->value(names), b = right->value(names);
    if (!a || !b) return std::nullopt;
    return operation(*a, *b);
  };
  return std::make_shared<Constraint::Node>(Constraint::Node{value});
}

// A recursive-descent parser; `or` has the lowest precedence.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<NodePtr> Parse() {
    NodePtr whole = Or();
    Skip();
    if (error_.empty() && at_ < text_.size()) Expect("an operator");
    if (!error_.empty()) return absl::InvalidArgumentError(error_);
    return whole;
  }
  std::vector<std::string> names() const { return names_; }

 private:
  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  static bool IsOfName(char c) {
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  }
  std::string_view WordHere() {
    Skip();
    std::size_t end = at_;
    while (end < text_.size() && IsOfName(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool TakeWord(std::string_view word) {
    if (WordHere() != word) return false;
    at_ += word.size();
    return true;
  }
  bool Take(std::string_view sign) {
    Skip();
    if (text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }
  NodePtr Expect(std::string_view what) {
    if (error_.empty()) {
      error_ = absl::StrCat("expected ", std::string(what), " at byte ", at_ + 1, " of \"",
                            std::string(text_), "\"");
    }
    at_ = text_.size();
    return Leaf({});
  }

  NodePtr Or() {
    NodePtr left = And();
    while (TakeWord("or")) {
      left = Both(left, And(), [](const Value& a, const Value& b) {
        return TruthWith(IsTrue(a) || IsTrue(b), std::min(ExcessOf(a), ExcessOf(b)));
      });
    }
    return left;
  }
  NodePtr And() {
    NodePtr left = Not();
    while (TakeWord("and")) {
      left = Both(left, Not(), [](const Value& a, const Value& b) {
        return TruthWith(IsTrue(a) && IsTrue(b), std::max(ExcessOf(a), ExcessOf(b)));
      });
    }
    return left;
  }
  NodePtr Not() {
    if (++depth_ > kDeepest) return Expect("less within each other");
    NodePtr node =
        TakeWord("not")
            ? Both(Not(), Leaf({}),
                   [](const Value& a, const Value&) { return TruthWith(!IsTrue(a), -ExcessOf(a)); })
            : Comparison();
    --depth_;
    return node;
  }
  NodePtr Comparison() {
    const NodePtr left = Sum();
    const auto compare = [&](bool less, bool equal, bool greater) {
      return Both(left, Sum(), [=](const Value& a, const Value& b) {
        if (a.text.has_value() != b.text.has_value()) return Truth(less && greater);
        const int order =
            a.text ? a.text->compare(*b.text) : (a.number > b.number) - (a.number < b.number);
        if (!a.text && (std::isnan(a.number) || std::isnan(b.number))) {
          return TruthWith(false, kInfinity);
        }
        const bool holds = order < 0 ? less : order > 0 ? greater : equal;
        if (a.text) return TruthWith(holds, holds ? -1 : 1);
        if (less == greater) {
          const double apart = std::abs(a.number - b.number);
          return TruthWith(holds, equal ? apart : -apart);
        }
        return TruthWith(holds, less ? a.number - b.number : b.number - a.number);
      });
    };
    if (Take("<=")) return compare(true, true, false);
    if (Take(">=")) return compare(false, true, true);
    if (Take("==")) return compare(false, true, false);
    if (Take("!=")) return compare(true, false, true);
    if (Take("<")) return compare(true, false, false);
    if (Take(">")) return compare(false, false, true);
    return left;
  }
  // (An arithmetic operation on a string is NaN.)
  static Operation OnNumbers(double (*operation)(double, double)) {
    return [operation](const Value& a, const Value& b) {
      const bool good = !a.text && !b.text;
      return Value{.number = good ? operation(a.number, b.number) : std::nan("")};
    };
  }
  NodePtr Sum() {
    NodePtr left = Product();
    for (;;) {
      if (Take("+")) {
        left = Both(left, Product(), OnNumbers([](double a, double b) { return a + b; }));
      } else if (Take("-")) {
        left = Both(left, Product(), OnNumbers([](double a, double b) { return a - b; }));
      } else {
        return left;
      }
    }
  }
  NodePtr Product() {
    NodePtr left = Factor();
    for (;;) {
      if (Take("*")) {
        left = Both(left, Factor(), OnNumbers([](double a, double b) { return a * b; }));
      } else if (Take("/")) {
        left = Both(left, Factor(), OnNumbers([](double a, double b) { return a / b; }));
      } else {
        return left;
      }
    }
  }
  NodePtr Factor() {
    if (++depth_ > kDeepest) return Expect("less within each other");
    NodePtr node = Atom();
    --depth_;
    return node;
  }
  NodePtr Atom() {
    Skip();
    if (Take("-")) {
      return Both(Leaf({}), Factor(), OnNumbers([](double a, double b) { return a - b; }));
    }
    if (Take("(")) {
      NodePtr inside = Or();
      return Take(")") ? inside : Expect("a )");
    }
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      auto text = Quoted("a text that ends");
      return text ? Leaf({.text = std::move(text)}) : Leaf({});
    }
    if (at_ < text_.size() && text_[at_] == '`') {
      const auto name = Quoted("a name that ends");
      return name ? NameOf(*name) : Leaf({});
    }
    double number = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    const bool is_number = at_ < text_.size() && (text_[at_] == '.' || std::isdigit(text_[at_]));
    if (is_number && read.ec == std::errc()) {
      at_ = static_cast<std::size_t>(read.ptr - text_.data());
      return Leaf({.number = number});
    }
    const std::string word(WordHere());
    if (word.empty() || word == "and" || word == "or" || word == "not") {
      return Expect("a number, a name or a (");
    }
    at_ += word.size();
    if (word == "true" || word == "false") return Leaf(Truth(word == "true"));
    return NameOf(word);
  }
  NodePtr NameOf(const std::string& name) {
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
    return Name(name);
  }
  // Returns nullopt after it reported that `expected` is missing.
  std::optional<std::string> Quoted(std::string_view expected) {
    const char quote = text_[at_];
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      Expect(expected);
      return std::nullopt;
    }
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string error_;
  std::vector<std::string> names_;
};

}  // namespace

absl::StatusOr<Constraint> Constraint::Parse(std::string_view text) {
  Parser parser(text);
  auto root = parser.Parse();
  if (!root.ok()) return root.status();
  Constraint constraint;
  constraint.text_ = std::string(text);
  constraint.names_ = parser.names();
  constraint.root_ = *std::move(root);
  return constraint;
}

bool Constraint::Holds(const Config& config) const {
  const auto value = root_->value({config, {}});
  return !value || IsTrue(*value);
}

std::optional<double> Constraint::Excess(const Config& config,
                                         std::span<const MetricValue> metrics) const {
  const auto value = root_->value({config, metrics});
  if (!value) return std::nullopt;
  return ExcessOf(*value);
}

const Constraint* FindBroken(const std::vector<Constraint>& constraints, const Config& config) {
  const auto broken = std::find_if(constraints.begin(), constraints.end(),
                                   [&](const Constraint& one) { return !one.Holds(config); });
  return broken == constraints.end() ? nullptr : &*broken;
}

}  // namespace tuning
