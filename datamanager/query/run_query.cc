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
#include "runtime/query/comparison.h"
#include "runtime/query/query_error.h"
#include "runtime/query/query_numbers.h"
#include "runtime/query/query_text.h"
#include "runtime/text/string_view.h"

namespace datamanager {
namespace {

using runtime::Absl;
using runtime::AnswerOf;
using runtime::Comparison;
using runtime::QueryText;
using runtime::QuotedWord;

enum class Subject {
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
  // Searched for.
  kLabel,
  kName,
  kNote,
  kTag,
  kPlugin,
  kState,
};

template <typename Meaning>
struct Word {
  std::string_view text;
  Meaning meaning;
};

constexpr Word<Subject> kCounts[] = {{"steps", Subject::kSteps}, {"points", Subject::kPoints},
                                     {"tags", Subject::kTags},   {"files", Subject::kFiles},
                                     {"bytes", Subject::kBytes}, {"faults", Subject::kFaults},
                                     {"age", Subject::kAge}};

constexpr Word<Subject> kFields[] = {
    {"label", Subject::kLabel}, {"name", Subject::kName},     {"note", Subject::kNote},
    {"tag", Subject::kTag},     {"plugin", Subject::kPlugin}, {"state", Subject::kState},
    {"last", Subject::kLast},   {"min", Subject::kMin},       {"max", Subject::kMax}};

constexpr Word<CacheState> kStates[] = {{"not-cached", CacheState::kNotCached},
                                        {"caching", CacheState::kCaching},
                                        {"cached", CacheState::kCached},
                                        {"failed", CacheState::kFailed}};

template <typename Meaning, std::size_t N>
std::optional<Meaning> Find(const Word<Meaning> (&words)[N], std::string_view text) {
  for (const Word<Meaning>& word : words) {
    if (word.text == text) return word.meaning;
  }
  return std::nullopt;
}

// Most writers store 32-bit floats, so the 0.1 of a query also means the nearest float: "loss=0.1"
// and "loss<=0.1" find a stored 0.1f.
double AsStored(double number, double value) {
  const double magnitude = std::fabs(number);
  if (!(magnitude >= FLT_MIN && magnitude <= FLT_MAX)) return number;
  const double nearest = static_cast<float>(number);
  return value == nearest ? nearest : number;
}

// Finds a name in a sorted list.
template <typename Facts>
const Facts* FindNamed(std::span<const Facts> all, std::string_view name) {
  const auto found =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const Facts& one, std::string_view wanted) { return one.name < wanted; });
  return found == all.end() || found->name != name ? nullptr : &*found;
}

// Returns a number of a run; null if it has none. Only for facts that are known.
std::optional<double> NumberOf(Subject subject, const std::string& tag_name, const RunFacts& run,
                               std::int64_t now_us) {
  switch (subject) {
    case Subject::kFiles:
      return static_cast<double>(run.files);
    case Subject::kBytes:
      return static_cast<double>(run.bytes);
    case Subject::kAge:  // A clock that is behind does not make ages negative.
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

// True if the answer requires reading the run's files.
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

struct RunQuery::Condition {
  Subject subject = Subject::kLast;
  Comparison comparison = Comparison::kEqual;
  std::string name;                    // Name of a tag or of a configured value.
  std::optional<double> number;        // Number to compare with; for kConfig only if the value
                                       // looks like one.
  std::string text;                    // kConfig: the value's text. kLabel, kPlugin: the word.
  std::optional<NamePattern> pattern;  // For kName, kNote and kTag.
  CacheState state = CacheState::kNotCached;  // For kState.
};

// Parses conditions. A method that reads returns false when it has noted an error.
class RunQuery::Parser {
 public:
  explicit Parser(std::string_view text) : text_("query", text) {}

  absl::StatusOr<Node> Parse() {
    return runtime::ParseQuery<Condition>(
        &text_, [this](Condition& condition) { return ReadCondition(&condition); });
  }

 private:
  bool ReadCondition(Condition* condition) {
    const std::size_t start = text_.at();
    std::string word;
    if (text_.IsQuote()) {
      if (!text_.ReadQuoted(&word)) return false;
      if (word.empty()) return text_.Fail(start, "a tag has a name");
      return ReadNumberCondition(Subject::kLast, std::move(word), condition);
    }
    word = text_.ReadBare();
    if (word.empty()) return text_.Fail(start, "expected a condition like loss<0.1 or label:base");
    constexpr std::string_view kConfig = "config.";
    if (word.compare(0, kConfig.size(), kConfig) == 0) {
      return ReadConfigCondition(word.substr(kConfig.size()), condition);
    }
    if (const std::size_t colon = word.find(':'); colon != std::string::npos) {
      return ReadField(start, word.substr(0, colon), word.substr(colon + 1), condition);
    }
    const auto count = Find(kCounts, word);
    if (count.has_value()) return ReadNumberCondition(*count, word, condition);
    return ReadNumberCondition(Subject::kLast, std::move(word), condition);
  }

  // Parses the part after "field:"; if `rest` is empty, quotes or spaces follow.
  bool ReadField(std::size_t start, const std::string& field, std::string rest,
                 Condition* condition) {
    const auto subject = Find(kFields, field);
    if (!subject.has_value()) {
      return text_.Fail(start,
                        absl::StrCat(QuotedWord(field + ":"),
                                     " is none of label: name: note: tag: plugin: state: last: "
                                     "min: max: (a tag with a colon stands in quotes)"));
    }
    if (rest.empty()) text_.SkipSpaces();
    const std::size_t rest_start = text_.at() - rest.size();
    if (rest.empty() && !text_.ReadWord(&rest)) return false;
    if (rest.empty())
      return text_.Fail(rest_start, absl::StrCat("expected a word behind ", field, ":"));
    if (IsOfATag(*subject)) return ReadNumberCondition(*subject, std::move(rest), condition);
    condition->subject = *subject;
    if (*subject == Subject::kName || *subject == Subject::kNote || *subject == Subject::kTag) {
      auto pattern = NamePattern::Compile(rest);
      if (!pattern.ok()) {
        return text_.Fail(rest_start, absl::StrCat("bad pattern: ", pattern.status().message()));
      }
      condition->pattern = *std::move(pattern);
    } else if (*subject == Subject::kState) {
      const auto state = Find(kStates, rest);
      if (!state.has_value()) {
        return text_.Fail(
            rest_start,
            absl::StrCat(QuotedWord(rest), " is none of not-cached, caching, cached, failed"));
      }
      condition->state = *state;
    }
    condition->text = std::move(rest);
    return true;
  }

  bool ReadNumberCondition(Subject subject, std::string name, Condition* condition) {
    condition->subject = subject;
    condition->name = std::move(name);
    std::string_view sign;
    if (!ReadComparison(condition->name, &condition->comparison, &sign)) return false;
    text_.SkipSpaces();
    const std::size_t start = text_.at();
    const std::string word = text_.ReadBare();
    const char* const kind = subject == Subject::kAge     ? "a time like 90s, 1h30m or 2d"
                             : subject == Subject::kBytes ? "a size like 512MiB or 4k"
                                                          : "a number";
    if (word.empty())
      return text_.Fail(start, absl::StrCat("expected ", kind, " behind ", Absl(sign)));
    condition->number = subject == Subject::kAge     ? runtime::ParseAge(word)
                        : subject == Subject::kBytes ? runtime::ParseBytes(word)
                                                     : runtime::ParseNumber(word);
    if (!condition->number.has_value()) {
      return text_.Fail(start, absl::StrCat(QuotedWord(word), " is not ", kind));
    }
    return CheckOrder(start, *condition);
  }

  bool ReadConfigCondition(std::string name, Condition* condition) {
    condition->subject = Subject::kConfig;
    const std::size_t name_start = text_.at();
    if (name.empty() && !text_.ReadWord(&name)) return false;
    if (name.empty()) return text_.Fail(name_start, "expected a name behind config.");
    condition->name = std::move(name);
    std::string_view sign;
    if (!ReadComparison("config." + condition->name, &condition->comparison, &sign)) return false;
    text_.SkipSpaces();
    const std::size_t start = text_.at();
    const bool quoted = text_.IsQuote();
    if (!text_.ReadWord(&condition->text)) return false;
    if (condition->text.empty() && !quoted) {
      return text_.Fail(start, absl::StrCat("expected a value behind ", Absl(sign)));
    }
    if (!quoted) condition->number = runtime::ParseNumber(condition->text);
    if (runtime::IsOrder(condition->comparison) && !condition->number.has_value()) {
      return text_.Fail(
          start, absl::StrCat(Absl(sign), " needs a number, not ", QuotedWord(condition->text)));
    }
    return CheckOrder(start, *condition);
  }

  bool CheckOrder(std::size_t start, const Condition& condition) {
    if (!runtime::IsOrder(condition.comparison) || !std::isnan(*condition.number)) return true;
    return text_.Fail(start, "nan is neither less nor greater: use = or !=");
  }

  bool ReadComparison(std::string_view behind, Comparison* comparison, std::string_view* sign) {
    const auto taken = text_.TakeComparison();
    if (!taken) {
      return text_.Fail(text_.at(),
                        absl::StrCat("expected one of < <= > >= = != behind ", QuotedWord(behind)));
    }
    *comparison = taken->comparison;
    *sign = taken->text;
    return true;
  }

  QueryText text_;
};

RunQuery::RunQuery(std::shared_ptr<const Node> root) : root_(std::move(root)) {}

absl::StatusOr<RunQuery> RunQuery::Parse(std::string_view text) {
  auto root = Parser(text).Parse();
  if (!root.ok()) return root.status();
  return RunQuery(std::make_shared<const Node>(*std::move(root)));
}

Answer RunQuery::Ask(const RunFacts& run, std::int64_t now_us) const {
  return root_->Evaluate(
      [&](const Condition& condition) { return AskOne(condition, run, now_us); });
}

Answer RunQuery::AskOne(const Condition& condition, const RunFacts& run, std::int64_t now_us) {
  if (IsInFiles(condition.subject) && !run.counted) return Answer::kUnknown;
  switch (condition.subject) {
    case Subject::kConfig: {
      if (!run.config.has_value()) return Answer::kUnknown;
      const ConfigFacts* fact = FindNamed(*run.config, condition.name);
      if (fact == nullptr) fact = FindNamed(run.hparams, condition.name);
      if (fact == nullptr) {
        return run.counted && !run.may_have_more_hparams ? Answer::kNo : Answer::kUnknown;
      }
      if (condition.number.has_value() && fact->number.has_value()) {
        return AnswerOf(runtime::Holds(condition.comparison, *fact->number, *condition.number));
      }
      if (runtime::IsOrder(condition.comparison)) return Answer::kNo;
      return AnswerOf((fact->text == condition.text) ==
                      (condition.comparison == Comparison::kEqual));
    }
    case Subject::kLabel:
      if (!run.labels.has_value()) return Answer::kUnknown;
      return AnswerOf(std::find(run.labels->begin(), run.labels->end(), condition.text) !=
                      run.labels->end());
    case Subject::kName:
      return AnswerOf(condition.pattern->Matches(run.name) ||
                      (!run.display_name.empty() && condition.pattern->Matches(run.display_name)));
    case Subject::kNote:
      return AnswerOf(!run.note.empty() && condition.pattern->Matches(run.note));
    case Subject::kTag:
      return AnswerOf(std::any_of(run.tags.begin(), run.tags.end(), [&](const TagFacts& tag) {
        return condition.pattern->Matches(tag.name);
      }));
    case Subject::kPlugin:
      return AnswerOf(std::any_of(run.tags.begin(), run.tags.end(), [&](const TagFacts& tag) {
        return tag.plugin == condition.text;
      }));
    case Subject::kState:
      return AnswerOf(run.state == condition.state);
    default:
      break;
  }
  const std::optional<double> value = NumberOf(condition.subject, condition.name, run, now_us);
  if (!value.has_value()) return Answer::kNo;
  const double number =
      IsOfATag(condition.subject) ? AsStored(*condition.number, *value) : *condition.number;
  return AnswerOf(runtime::Holds(condition.comparison, *value, number));
}

bool RunQuery::NeedsFiles() const {
  bool looks = false;
  root_->ForEach([&](const Condition& condition) {
    looks |= IsInFiles(condition.subject) || condition.subject == Subject::kConfig;
  });
  return looks;
}

bool RunQuery::NeedsParameters() const {
  bool looks = false;
  root_->ForEach(
      [&](const Condition& condition) { looks |= condition.subject == Subject::kConfig; });
  return looks;
}

std::vector<RunQuery::Term> RunQuery::Terms() const {
  std::set<std::pair<Term::Kind, std::string>> terms;
  root_->ForEach([&](const Condition& condition) {
    if (IsOfATag(condition.subject)) terms.insert({Term::Kind::kTag, condition.name});
    if (condition.subject == Subject::kConfig)
      terms.insert({Term::Kind::kParameter, condition.name});
    if (condition.subject == Subject::kLabel) terms.insert({Term::Kind::kLabel, condition.text});
  });
  std::vector<Term> result;
  for (const auto& [kind, name] : terms) result.push_back({kind, name});
  return result;
}

}  // namespace datamanager
