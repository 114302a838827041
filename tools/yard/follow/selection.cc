#include "tools/yard/follow/selection.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/query/query_text.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/string_view.h"
#include "tools/yard/follow/follow.h"

namespace yard {
namespace {

constexpr std::array<std::string_view, 3> kKeys = {"label", "state", "name"};  // In Kind's order.
constexpr std::array<std::string_view, 7> kStates = {"pending", "running", "stopping", "done",
                                                     "stopped", "failed",  "paused"};

std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& words) {
  const std::string nearest(runtime::NearestWord(word, words));
  if (!nearest.empty()) return absl::StrCat("; did you mean ", nearest, "?");
  return absl::StrCat(": expected ",
                      absl::StrJoin(words, ", ", [](std::string* out, std::string_view one) {
                        absl::StrAppend(out, runtime::Absl(one));
                      }));
}

}  // namespace

bool Selection::IsOne(std::string_view word) {
  const std::size_t begin = word.find_first_not_of("!( ");
  if (begin == std::string_view::npos) return false;
  return std::any_of(kKeys.begin(), kKeys.end(), [&](std::string_view key) {
    return absl::StartsWith(runtime::Absl(word.substr(begin)),
                            absl::StrCat(runtime::Absl(key), ":"));
  });
}

absl::StatusOr<Selection> Selection::Parse(std::string_view text) {
  // '=' is not an operator here, because a label may be KEY=VALUE.
  runtime::QueryText in("selection", text, "&|()\"'");
  auto root = runtime::ParseQuery<Condition>(&in, [&](Condition& condition) {
    const std::size_t start = in.at();
    const std::string word = in.ReadBare();
    const std::size_t colon = word.find(':');
    const std::string key = word.substr(0, colon);
    const auto known = std::find(kKeys.begin(), kKeys.end(), key);
    if (known == kKeys.end() || colon == std::string::npos) {
      return in.Fail(start, "expected label:WORD, state:WORD or name:PATTERN");
    }
    condition.kind = static_cast<Condition::Kind>(known - kKeys.begin());
    condition.word = word.substr(colon + 1);
    if (condition.word.empty() && in.IsQuote() && !in.ReadQuoted(&condition.word)) return false;
    if (condition.word.empty()) return in.Fail(in.at(), "expected a word behind " + word);
    const bool is_state = condition.kind == Condition::Kind::kState;
    if (is_state && std::find(kStates.begin(), kStates.end(), condition.word) == kStates.end()) {
      return in.Fail(start,
                     absl::StrCat("no trial can be ", condition.word,
                                  DidYouMean(condition.word, {kStates.begin(), kStates.end()})));
    }
    return true;
  });
  if (!root.ok()) return root.status();
  return Selection(*std::move(root));
}

bool Selection::Has(const msg::TrialT& trial) const {
  return root_.Evaluate([&](const Condition& condition) {
    switch (condition.kind) {
      case Condition::Kind::kState:
        return runtime::AnswerOf(condition.word == StateName(trial.state));
      case Condition::Kind::kName:
        return runtime::AnswerOf(fnmatch(condition.word.c_str(), trial.name.c_str(), 0) == 0);
      case Condition::Kind::kLabel:
        break;
    }
    return runtime::AnswerOf(std::find(trial.labels.begin(), trial.labels.end(), condition.word) !=
                             trial.labels.end());
  }) == runtime::Answer::kYes;
}

absl::StatusOr<std::vector<std::string>> ExpandSelections(
    Context& context, const std::vector<std::string>& words,
    const std::function<bool(const msg::TrialT&)>& fits, std::string_view what) {
  std::vector<std::string> names;
  std::set<std::string> known;
  const auto add = [&](const std::string& name) {
    if (known.insert(name).second) names.push_back(name);
  };
  absl::StatusOr<msg::TrialsReplyT> trials = absl::UnknownError("nobody was asked");
  for (const std::string& word : words) {
    if (!Selection::IsOne(word)) {
      add(word);
      continue;
    }
    const auto selection = Selection::Parse(word);
    if (!selection.ok()) return selection.status();
    if (!trials.ok()) {
      auto client = context.client();
      if (!client.ok()) return client.status();
      trials = (*client)->Call<rpc::Trainer::Trials>({}, Patient());
      if (!trials.ok()) return trials.status();
    }
    bool has_some = false;
    for (const auto& trial : trials->trials) {
      if (!selection->Has(*trial) || !fits(*trial)) continue;
      has_some = true;
      add(trial->id);
    }
    if (!has_some) {
      return absl::NotFoundError(
          absl::StrCat(word, " selects ", runtime::Absl(what), "; next: yard ps -a"));
    }
  }
  return names;
}

}  // namespace yard
