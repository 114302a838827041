#ifndef RUNTIME_QUERY_QUERY_TREE_H_
#define RUNTIME_QUERY_QUERY_TREE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/query/query_error.h"
#include "runtime/query/query_text.h"
#include "runtime/text/string_view.h"

namespace runtime {

// The connectives that all query languages share, whatever their conditions are:
//
//   query = all {"|" all}     all = one {"&" one}     one = "!" one | "(" query ")" | condition
//
// "&&" and "||" are the same as "&" and "|".
struct QueryLimits {
  static constexpr std::size_t kMaxSize = 4096;      // Bytes of the text.
  static constexpr std::size_t kMaxConditions = 64;  // In one query.
  static constexpr int kMaxDepth = 64;               // Nesting of "(" and "!".
};

// kUnknown: the data about which the query asks is not known yet.
enum class Answer : std::uint8_t { kNo, kUnknown, kYes };

inline Answer AnswerOf(bool yes) { return yes ? Answer::kYes : Answer::kNo; }

template <typename Condition>
struct QueryNode {
  enum class Kind : std::uint8_t { kCondition, kAll, kAny, kNot };

  Kind kind = Kind::kCondition;
  std::vector<QueryNode> children = {};  // kAll and kAny have two or more, kNot has one.
  Condition condition = {};              // For kCondition.

  // Evaluates by Kleene's logic: "and" is the minimum of its parts, "or" the maximum.
  // `ask(condition)` evaluates one condition; conditions that cannot change the answer are skipped.
  template <typename Ask>
  Answer Evaluate(const Ask& ask) const {
    switch (kind) {
      case Kind::kCondition:
        return ask(condition);
      case Kind::kNot:
        return static_cast<Answer>(static_cast<int>(Answer::kYes) -
                                   static_cast<int>(children.front().Evaluate(ask)));
      case Kind::kAll: {
        Answer least = Answer::kYes;
        for (const QueryNode& child : children) {
          least = std::min(least, child.Evaluate(ask));
          if (least == Answer::kNo) break;
        }
        return least;
      }
      case Kind::kAny: {
        Answer greatest = Answer::kNo;
        for (const QueryNode& child : children) {
          greatest = std::max(greatest, child.Evaluate(ask));
          if (greatest == Answer::kYes) break;
        }
        return greatest;
      }
    }
    return Answer::kUnknown;
  }

  // Calls `visit(condition)` for every condition.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    if (kind == Kind::kCondition) visit(condition);
    for (const QueryNode& child : children) child.ForEach(visit);
  }
};

// Parses a whole query by recursive descent. `read(condition)` parses the condition that starts at
// the position of `text`; it returns false when it has noted an error there.
template <typename Condition, typename Read>
class QueryParser {
 public:
  using Node = QueryNode<Condition>;

  QueryParser(QueryText* text, Read read) : text_(*text), read_(std::move(read)) {}

  // InvalidArgument is a QueryError().
  absl::StatusOr<Node> Parse() {
    if (text_.text().size() > QueryLimits::kMaxSize) {
      return QueryError(
          text_.kind(), text_.text().substr(0, QueryLimits::kMaxSize), QueryLimits::kMaxSize,
          absl::StrCat("a ", Absl(text_.kind()), " has at most ", QueryLimits::kMaxSize, " bytes"));
    }
    text_.SkipSpaces();
    Node root;
    if (text_.at_end()) {
      text_.Fail(0, absl::StrCat("expected a ", Absl(text_.kind()), ", not nothing"));
    } else if (ReadAny(0, &root) && !text_.at_end()) {
      text_.Fail(text_.at(),
                 text_.next() == ')' ? "this ) closes nothing" : "expected & or | here");
    }
    if (!text_.error().ok()) return text_.error();
    return root;
  }

 private:
  // Returns a single part unchanged; makes several the children of a node of `kind`.
  static Node Join(typename Node::Kind kind, std::vector<Node> parts) {
    if (parts.size() == 1) return std::move(parts.front());
    return {.kind = kind, .children = std::move(parts)};
  }

  bool ReadAny(int depth, Node* node) {
    std::vector<Node> parts;
    do {
      if (!ReadAll(depth, &parts.emplace_back())) return false;
    } while (text_.TakeSign('|'));
    *node = Join(Node::Kind::kAny, std::move(parts));
    return true;
  }

  bool ReadAll(int depth, Node* node) {
    std::vector<Node> parts;
    do {
      if (!ReadOne(depth, &parts.emplace_back())) return false;
    } while (text_.TakeSign('&'));
    *node = Join(Node::Kind::kAll, std::move(parts));
    return true;
  }

  bool ReadOne(int depth, Node* node) {
    text_.SkipSpaces();
    const std::size_t start = text_.at();
    const char sign = text_.next();
    if (sign != '!' && sign != '(') return ReadCondition(node);
    if (depth == QueryLimits::kMaxDepth) {
      return text_.Fail(start, "too many ( and ! within each other");
    }
    text_.Skip(1);
    if (sign == '!') {
      node->kind = Node::Kind::kNot;
      return ReadOne(depth + 1, &node->children.emplace_back());
    }
    if (!ReadAny(depth + 1, node)) return false;
    text_.SkipSpaces();
    if (text_.next() == ')') {
      text_.Skip(1);
      return true;
    }
    return text_.Fail(text_.at(), absl::StrCat("expected & or |, or a ) for the ( of column ",
                                               text_.ColumnOf(start)));
  }

  bool ReadCondition(Node* node) {
    if (++conditions_ > QueryLimits::kMaxConditions) {
      return text_.Fail(text_.at(), absl::StrCat("a ", Absl(text_.kind()), " has at most ",
                                                 QueryLimits::kMaxConditions, " conditions"));
    }
    return read_(node->condition);
  }

  QueryText& text_;
  Read read_;
  std::size_t conditions_ = 0;
};

template <typename Condition, typename Read>
absl::StatusOr<QueryNode<Condition>> ParseQuery(QueryText* text, Read read) {
  return QueryParser<Condition, Read>(text, std::move(read)).Parse();
}

}  // namespace runtime

#endif  // RUNTIME_QUERY_QUERY_TREE_H_
