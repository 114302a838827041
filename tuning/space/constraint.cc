#include "tuning/space/constraint.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace tuning {
namespace {

constexpr int kDeepest = 50;  // Parentheses within each other.

// A value of an expression is a number or a text.
struct Value {
  double number = 0;
  std::optional<std::string> text = std::nullopt;
};

Value Truth(bool is_true) { return {.number = is_true ? 1.0 : 0.0}; }
bool IsTrue(const Value& value) { return !value.text && value.number != 0; }

Value ValueOf(const std::string& json_text) {
  const auto json = nlohmann::json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (json.is_number()) return {.number = json.get<double>()};
  if (json.is_boolean()) return Truth(json.get<bool>());
  return {.text = json.is_string() ? json.get<std::string>() : json_text};
}

}  // namespace

// Its value in a configuration; nothing: the configuration lacks a parameter.
struct Constraint::Node {
  std::function<std::optional<Value>(const Config&)> value;
};

namespace {

using NodePtr = std::shared_ptr<const Constraint::Node>;
using Operation = std::function<Value(const Value&, const Value&)>;

NodePtr Leaf(Value value) {
  return std::make_shared<Constraint::Node>(
      Constraint::Node{[value = std::move(value)](const Config&) { return std::optional(value); }});
}

NodePtr Name(std::string name) {
  const auto find = [name = std::move(name)](const Config& config) -> std::optional<Value> {
    for (const auto& [key, json] : config) {
      if (key == name) return ValueOf(json);
    }
    return std::nullopt;
  };
  return std::make_shared<Constraint::Node>(Constraint::Node{find});
}

NodePtr Both(NodePtr left, NodePtr right, Operation operation) {
  const auto value = [left = std::move(left), right = std::move(right),
                      operation =
                          std::move(operation)](const Config& config) -> std::optional<Value> {
    const auto a = left->value(config), b = right->value(config);
    if (!a || !b) return std::nullopt;
    return operation(*a, *b);
  };
  return std::make_shared<Constraint::Node>(Constraint::Node{value});
}

// By recursive descent; `or` binds least.
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
      left = Both(left, And(),
                  [](const Value& a, const Value& b) { return Truth(IsTrue(a) || IsTrue(b)); });
    }
    return left;
  }
  NodePtr And() {
    NodePtr left = Not();
    while (TakeWord("and")) {
      left = Both(left, Not(),
                  [](const Value& a, const Value& b) { return Truth(IsTrue(a) && IsTrue(b)); });
    }
    return left;
  }
  NodePtr Not() {
    if (++depth_ > kDeepest) return Expect("less within each other");
    NodePtr node =
        TakeWord("not")
            ? Both(Not(), Leaf({}), [](const Value& a, const Value&) { return Truth(!IsTrue(a)); })
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
        if (!a.text && (std::isnan(a.number) || std::isnan(b.number))) return Truth(false);
        return Truth(order < 0 ? less : order > 0 ? greater : equal);
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
  // (An operation on a text is not a number.)
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
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) return Text();
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
    if (std::find(names_.begin(), names_.end(), word) == names_.end()) names_.push_back(word);
    return Name(word);
  }
  NodePtr Text() {
    const char quote = text_[at_];
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return Expect("a text that ends");
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return Leaf({.text = std::move(text)});
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
  const auto value = root_->value(config);
  return !value || IsTrue(*value);
}

const Constraint* FindBroken(const std::vector<Constraint>& constraints, const Config& config) {
  const auto broken = std::find_if(constraints.begin(), constraints.end(),
                                   [&](const Constraint& one) { return !one.Holds(config); });
  return broken == constraints.end() ? nullptr : &*broken;
}

}  // namespace tuning
