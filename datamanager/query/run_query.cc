#include "datamanager/query/run_query.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/find/name_pattern.h"
#include "datamanager/query/query_error.h"
#include "datamanager/query/query_numbers.h"
#include "runtime/text/string_view.h"

namespace datamanager {
namespace {

using runtime::Absl;

enum class Subject {
  kAll,
  kAny,
  kNot,
  // Compared with a number.
  kLast,
  kMin,
  kMax,
  kSteps,
  kPoints,
  kTags,
  kFiles,
  kBytes,
  kFaults,
  kAge,
  // Compared with a number or a text.
  kConfig,
  // Looked for.
  kLabel,
  kName,
  kTag,
  kPlugin,
  kState,
};

enum class Comparison { kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kEqual, kNotEqual };

template <typename Meaning>
struct Word {
  std::string_view text;
  Meaning meaning;
};

constexpr Word<Subject> kCounts[] = {{"steps", Subject::kSteps}, {"points", Subject::kPoints},
                                     {"tags", Subject::kTags},   {"files", Subject::kFiles},
                                     {"bytes", Subject::kBytes}, {"faults", Subject::kFaults},
                                     {"age", Subject::kAge}};

constexpr Word<Subject> kFields[] = {{"label", Subject::kLabel}, {"name", Subject::kName},
                                     {"tag", Subject::kTag},     {"plugin", Subject::kPlugin},
                                     {"state", Subject::kState}, {"last", Subject::kLast},
                                     {"min", Subject::kMin},     {"max", Subject::kMax}};

constexpr Word<CacheState> kStates[] = {{"not-cached", CacheState::kNotCached},
                                        {"caching", CacheState::kCaching},
                                        {"cached", CacheState::kCached},
                                        {"failed", CacheState::kFailed}};

// Two characters before one.
constexpr Word<Comparison> kComparisons[] = {
    {"<=", Comparison::kLessOrEqual},    {"<", Comparison::kLess},
    {">=", Comparison::kGreaterOrEqual}, {">", Comparison::kGreater},
    {"==", Comparison::kEqual},          {"=", Comparison::kEqual},
    {"!=", Comparison::kNotEqual}};

template <typename Meaning, std::size_t N>
std::optional<Meaning> Find(const Word<Meaning> (&words)[N], std::string_view text) {
  for (const Word<Meaning>& word : words) {
    if (word.text == text) return word.meaning;
  }
  return std::nullopt;
}

bool IsOrder(Comparison comparison) {
  return comparison != Comparison::kEqual && comparison != Comparison::kNotEqual;
}

bool Holds(Comparison comparison, double value, double number) {
  const bool equal = value == number || (std::isnan(value) && std::isnan(number));
  switch (comparison) {
    case Comparison::kLess:
      return value < number;
    case Comparison::kLessOrEqual:
      return value <= number;
    case Comparison::kGreater:
      return value > number;
    case Comparison::kGreaterOrEqual:
      return value >= number;
    case Comparison::kEqual:
      return equal;
    case Comparison::kNotEqual:
      return !equal;
  }
  return false;
}

// Most writers store 32 bits: the 0.1 of a query means also the float nearest to it, so that
// "loss=0.1" and "loss<=0.1" find a stored 0.1f.
double AsStored(double number, double value) {
  const double magnitude = std::fabs(number);
  if (!(magnitude >= FLT_MIN && magnitude <= FLT_MAX)) return number;
  const double nearest = static_cast<float>(number);
  return value == nearest ? nearest : number;
}

Answer Of(bool yes) { return yes ? Answer::kYes : Answer::kNo; }

Answer Not(Answer answer) {
  return static_cast<Answer>(static_cast<int>(Answer::kYes) - static_cast<int>(answer));
}

// By name, in a sorted list.
template <typename Facts>
const Facts* FindNamed(std::span<const Facts> all, std::string_view name) {
  const auto found =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const Facts& one, std::string_view wanted) { return one.name < wanted; });
  return found == all.end() || found->name != name ? nullptr : &*found;
}

// A number of a run; nothing: it has none. Only of what is known.
std::optional<double> NumberOf(Subject subject, const std::string& tag_name, const RunFacts& run,
                               std::int64_t now_us) {
  switch (subject) {
    case Subject::kFiles:
      return static_cast<double>(run.files);
    case Subject::kBytes:
      return static_cast<double>(run.bytes);
    case Subject::kAge:  // A clock that is behind makes nothing younger than new.
      return std::max((static_cast<double>(now_us) - static_cast<double>(run.update_us)) * 1e-6,
                      0.0);
    case Subject::kPoints:
      return static_cast<double>(run.points);
    case Subject::kTags:
      return static_cast<double>(run.tags.size());
    case Subject::kFaults:
      return static_cast<double>(run.faults);
    case Subject::kSteps:
      if (!run.last_step.has_value()) return std::nullopt;
      return static_cast<double>(*run.last_step);
    default:
      break;
  }
  const TagFacts* tag = FindNamed(run.tags, tag_name);
  if (tag == nullptr || !tag->scalar) return std::nullopt;
  if (subject == Subject::kLast) return tag->last;
  const double extreme = subject == Subject::kMin ? tag->min : tag->max;
  if (std::isnan(extreme)) return std::nullopt;
  return extreme;
}

// What only the files tell.
bool IsInFiles(Subject subject) {
  switch (subject) {
    case Subject::kLast:
    case Subject::kMin:
    case Subject::kMax:
    case Subject::kSteps:
    case Subject::kPoints:
    case Subject::kTags:
    case Subject::kFaults:
    case Subject::kTag:
    case Subject::kPlugin:
      return true;
    default:
      return false;
  }
}

bool IsOfATag(Subject subject) {
  return subject == Subject::kLast || subject == Subject::kMin || subject == Subject::kMax;
}

}  // namespace

struct RunQuery::Node {
  Subject subject = Subject::kAll;
  std::vector<Node> children;  // kAll, kAny: two or more; kNot: one.

  // A condition.
  Comparison comparison = Comparison::kEqual;
  std::string name;                    // Of a tag or of a configured value.
  std::optional<double> number;        // What it is compared with; kConfig: if it looks like one.
  std::string text;                    // kConfig: as written. kLabel, kPlugin: what is looked for.
  std::optional<NamePattern> pattern;  // kName, kTag.
  CacheState state = CacheState::kNotCached;  // kState.
};

// Recursive descent. A method that reads something returns false when it has noted an error.
class RunQuery::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<RunQuery> Parse() {
    if (text_.size() > kMaxSize) {
      return QueryError(text_.substr(0, kMaxSize), kMaxSize,
                        absl::StrCat("a query has at most ", kMaxSize, " bytes"));
    }
    auto root = std::make_shared<Node>();
    SkipSpaces();
    if (at_ == text_.size()) return QueryError(text_, 0, "expected a query, not nothing");
    if (!ReadAny(0, root.get())) return error_;
    if (at_ == text_.size()) return RunQuery(std::move(root));
    return QueryError(text_, at_,
                      text_[at_] == ')' ? "this ) closes nothing" : "expected & or | here");
  }

 private:
  bool Fail(std::size_t offset, std::string_view message) {
    error_ = QueryError(text_, offset, message);
    return false;
  }

  // Of several parts one with `subject`.
  static Node Join(Subject subject, std::vector<Node> parts) {
    if (parts.size() == 1) return std::move(parts.front());
    Node node;
    node.subject = subject;
    node.children = std::move(parts);
    return node;
  }

  bool ReadAny(int depth, Node* node) {
    std::vector<Node> parts;
    do {
      parts.emplace_back();
      if (!ReadAll(depth, &parts.back())) return false;
    } while (SkipSign('|'));
    *node = Join(Subject::kAny, std::move(parts));
    return true;
  }

  bool ReadAll(int depth, Node* node) {
    std::vector<Node> parts;
    do {
      parts.emplace_back();
      if (!ReadOne(depth, &parts.back())) return false;
    } while (SkipSign('&'));
    *node = Join(Subject::kAll, std::move(parts));
    return true;
  }

  bool ReadOne(int depth, Node* node) {
    SkipSpaces();
    const std::size_t start = at_;
    const char sign = at_ < text_.size() ? text_[at_] : '\0';
    if (sign != '!' && sign != '(') return ReadCondition(node);
    if (depth == kMaxDepth) return Fail(start, "too many ( and ! within each other");
    ++at_;
    if (sign == '!') {
      node->subject = Subject::kNot;
      return ReadOne(depth + 1, &node->children.emplace_back());
    }
    if (!ReadAny(depth + 1, node)) return false;
    SkipSpaces();
    if (at_ < text_.size() && text_[at_] == ')') {
      ++at_;
      return true;
    }
    return Fail(at_, absl::StrCat("expected & or |, or a ) for the ( of column ", ColumnOf(start)));
  }

  bool ReadCondition(Node* node) {
    const std::size_t start = at_;
    if (++conditions_ > kMaxConditions) {
      return Fail(start, absl::StrCat("a query has at most ", kMaxConditions, " conditions"));
    }
    std::string word;
    if (IsQuote()) {
      if (!ReadQuoted(&word)) return false;
      if (word.empty()) return Fail(start, "a tag has a name");
      return ReadNumberCondition(Subject::kLast, std::move(word), node);
    }
    word = ReadBare();
    if (word.empty()) return Fail(start, "expected a condition like loss<0.1 or label:base");
    constexpr std::string_view kConfig = "config.";
    if (word.compare(0, kConfig.size(), kConfig) == 0) {
      return ReadConfigCondition(word.substr(kConfig.size()), node);
    }
    if (const std::size_t colon = word.find(':'); colon != std::string::npos) {
      return ReadField(start, word.substr(0, colon), word.substr(colon + 1), node);
    }
    const auto count = Find(kCounts, word);
    if (count.has_value()) return ReadNumberCondition(*count, word, node);
    return ReadNumberCondition(Subject::kLast, std::move(word), node);
  }

  // Behind "field:rest"; an empty rest stands in quotes, or behind spaces.
  bool ReadField(std::size_t start, const std::string& field, std::string rest, Node* node) {
    const auto subject = Find(kFields, field);
    if (!subject.has_value()) {
      return Fail(start, absl::StrCat(QuotedWord(field + ":"),
                                      " is none of label: name: tag: plugin: state: last: min: "
                                      "max: (a tag with a colon stands in quotes)"));
    }
    if (rest.empty()) SkipSpaces();
    const std::size_t rest_start = at_ - rest.size();
    if (rest.empty() && !ReadWord(&rest)) return false;
    if (rest.empty()) return Fail(rest_start, absl::StrCat("expected a word behind ", field, ":"));
    if (IsOfATag(*subject)) return ReadNumberCondition(*subject, std::move(rest), node);
    node->subject = *subject;
    if (*subject == Subject::kName || *subject == Subject::kTag) {
      auto pattern = NamePattern::Compile(rest);
      if (!pattern.ok()) {
        return Fail(rest_start, absl::StrCat("bad pattern: ", pattern.status().message()));
      }
      node->pattern = *std::move(pattern);
    } else if (*subject == Subject::kState) {
      const auto state = Find(kStates, rest);
      if (!state.has_value()) {
        return Fail(rest_start, absl::StrCat(QuotedWord(rest),
                                             " is none of not-cached, caching, cached, failed"));
      }
      node->state = *state;
    }
    node->text = std::move(rest);
    return true;
  }

  bool ReadNumberCondition(Subject subject, std::string name, Node* node) {
    node->subject = subject;
    node->name = std::move(name);
    std::string_view sign;
    if (!ReadComparison(node->name, &node->comparison, &sign)) return false;
    SkipSpaces();
    const std::size_t start = at_;
    const std::string word = ReadBare();
    const char* const kind = subject == Subject::kAge     ? "a time like 90s, 1h30m or 2d"
                             : subject == Subject::kBytes ? "a size like 512MiB or 4k"
                                                          : "a number";
    if (word.empty()) return Fail(start, absl::StrCat("expected ", kind, " behind ", Absl(sign)));
    node->number = subject == Subject::kAge     ? ParseAge(word)
                   : subject == Subject::kBytes ? ParseBytes(word)
                                                : ParseNumber(word);
    if (!node->number.has_value()) {
      return Fail(start, absl::StrCat(QuotedWord(word), " is not ", kind));
    }
    return CheckOrder(start, *node);
  }

  bool ReadConfigCondition(std::string name, Node* node) {
    node->subject = Subject::kConfig;
    const std::size_t name_start = at_;
    if (name.empty() && !ReadWord(&name)) return false;
    if (name.empty()) return Fail(name_start, "expected a name behind config.");
    node->name = std::move(name);
    std::string_view sign;
    if (!ReadComparison("config." + node->name, &node->comparison, &sign)) return false;
    SkipSpaces();
    const std::size_t start = at_;
    const bool quoted = IsQuote();
    if (!ReadWord(&node->text)) return false;
    if (node->text.empty() && !quoted) {
      return Fail(start, absl::StrCat("expected a value behind ", Absl(sign)));
    }
    if (!quoted) node->number = ParseNumber(node->text);
    if (IsOrder(node->comparison) && !node->number.has_value()) {
      return Fail(start, absl::StrCat(Absl(sign), " needs a number, not ", QuotedWord(node->text)));
    }
    return CheckOrder(start, *node);
  }

  bool CheckOrder(std::size_t start, const Node& node) {
    if (!IsOrder(node.comparison) || !std::isnan(*node.number)) return true;
    return Fail(start, "nan is neither less nor greater: use = or !=");
  }

  bool ReadComparison(std::string_view behind, Comparison* comparison, std::string_view* sign) {
    SkipSpaces();
    for (const Word<Comparison>& word : kComparisons) {
      if (text_.substr(at_, word.text.size()) != word.text) continue;
      at_ += word.text.size();
      *comparison = word.meaning;
      *sign = word.text;
      return true;
    }
    return Fail(at_, absl::StrCat("expected one of < <= > >= = != behind ", QuotedWord(behind)));
  }

  // Words.

  bool IsQuote() const { return at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\''); }

  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  static bool IsBare(char c) {
    return !IsSpace(c) && std::string_view("<>=!&|()\"'").find(c) == std::string_view::npos;
  }

  void SkipSpaces() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }

  // Once or twice.
  bool SkipSign(char sign) {
    SkipSpaces();
    if (at_ == text_.size() || text_[at_] != sign) return false;
    ++at_;
    if (at_ < text_.size() && text_[at_] == sign) ++at_;
    return true;
  }

  // Empty: there is none.
  std::string ReadBare() {
    const std::size_t start = at_;
    while (at_ < text_.size() && IsBare(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  bool ReadWord(std::string* word) {
    if (IsQuote()) return ReadQuoted(word);
    *word = ReadBare();
    return true;
  }

  bool ReadQuoted(std::string* word) {
    const std::size_t start = at_;
    const char quote = text_[at_++];
    for (; at_ < text_.size(); ++at_) {
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (text_[at_] == quote) {
        ++at_;
        return true;
      }
      // Any other backslash is one: patterns are full of them.
      if (text_[at_] == '\\' && (next == quote || next == '\\')) ++at_;
      *word += text_[at_];
    }
    return Fail(start, "this quote is not closed");
  }

  // Characters, from 1.
  std::size_t ColumnOf(std::size_t offset) const {
    return 1 + static_cast<std::size_t>(std::count_if(
                   text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset),
                   [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t conditions_ = 0;
  absl::Status error_;
};

RunQuery::RunQuery(std::shared_ptr<const Node> root) : root_(std::move(root)) {}

absl::StatusOr<RunQuery> RunQuery::Parse(std::string_view text) { return Parser(text).Parse(); }

Answer RunQuery::Ask(const RunFacts& run, std::int64_t now_us) const {
  return Evaluate(*root_, run, now_us);
}

// Kleene's logic: "and" is the least of its parts, "or" the greatest.
Answer RunQuery::Evaluate(const Node& node, const RunFacts& run, std::int64_t now_us) {
  if (IsInFiles(node.subject) && !run.counted) return Answer::kUnknown;
  switch (node.subject) {
    case Subject::kAll: {
      Answer least = Answer::kYes;
      for (const Node& child : node.children) {
        least = std::min(least, Evaluate(child, run, now_us));
        if (least == Answer::kNo) break;
      }
      return least;
    }
    case Subject::kAny: {
      Answer greatest = Answer::kNo;
      for (const Node& child : node.children) {
        greatest = std::max(greatest, Evaluate(child, run, now_us));
        if (greatest == Answer::kYes) break;
      }
      return greatest;
    }
    case Subject::kNot:
      return Not(Evaluate(node.children.front(), run, now_us));
    case Subject::kConfig: {
      if (!run.config.has_value()) return Answer::kUnknown;
      const ConfigFacts* fact = FindNamed(*run.config, node.name);
      if (fact == nullptr) fact = FindNamed(run.hparams, node.name);
      if (fact == nullptr) {
        return run.counted && !run.may_have_more_hparams ? Answer::kNo : Answer::kUnknown;
      }
      if (node.number.has_value() && fact->number.has_value()) {
        return Of(Holds(node.comparison, *fact->number, *node.number));
      }
      if (IsOrder(node.comparison)) return Answer::kNo;
      return Of((fact->text == node.text) == (node.comparison == Comparison::kEqual));
    }
    case Subject::kLabel:
      if (!run.labels.has_value()) return Answer::kUnknown;
      return Of(std::find(run.labels->begin(), run.labels->end(), node.text) != run.labels->end());
    case Subject::kName:
      return Of(node.pattern->Matches(run.name));
    case Subject::kTag:
      return Of(std::any_of(run.tags.begin(), run.tags.end(),
                            [&](const TagFacts& tag) { return node.pattern->Matches(tag.name); }));
    case Subject::kPlugin:
      return Of(std::any_of(run.tags.begin(), run.tags.end(),
                            [&](const TagFacts& tag) { return tag.plugin == node.text; }));
    case Subject::kState:
      return Of(run.state == node.state);
    default:
      break;
  }
  const std::optional<double> value = NumberOf(node.subject, node.name, run, now_us);
  if (!value.has_value()) return Answer::kNo;
  const double number = IsOfATag(node.subject) ? AsStored(*node.number, *value) : *node.number;
  return Of(Holds(node.comparison, *value, number));
}

template <typename Visit>
void RunQuery::ForEach(const Visit& visit) const {
  std::vector<const Node*> nodes = {root_.get()};
  while (!nodes.empty()) {
    const Node& node = *nodes.back();
    nodes.pop_back();
    visit(node);
    for (const Node& child : node.children) nodes.push_back(&child);
  }
}

bool RunQuery::LooksIntoFiles() const {
  bool looks = false;
  ForEach([&](const Node& node) {
    looks |= IsInFiles(node.subject) || node.subject == Subject::kConfig;
  });
  return looks;
}

bool RunQuery::LooksAtParameters() const {
  bool looks = false;
  ForEach([&](const Node& node) { looks |= node.subject == Subject::kConfig; });
  return looks;
}

std::vector<RunQuery::Term> RunQuery::Terms() const {
  std::set<std::pair<Term::Kind, std::string>> terms;
  ForEach([&](const Node& node) {
    if (IsOfATag(node.subject)) terms.insert({Term::Kind::kTag, node.name});
    if (node.subject == Subject::kConfig) terms.insert({Term::Kind::kParameter, node.name});
    if (node.subject == Subject::kLabel) terms.insert({Term::Kind::kLabel, node.text});
  });
  std::vector<Term> result;
  for (const auto& [kind, name] : terms) result.push_back({kind, name});
  return result;
}

}  // namespace datamanager
