#include "datamanager/query/run_selection.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

namespace datamanager {
namespace {

using runtime::Absl;

constexpr std::size_t kNamedInErrors = 5;

absl::Status Compile(const std::string& pattern, const char* field,
                     std::optional<NamePattern>* compiled) {
  if (pattern.empty()) return absl::OkStatus();
  auto result = NamePattern::Compile(pattern);
  if (!result.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", result.status().message()));
  }
  *compiled = *std::move(result);
  return absl::OkStatus();
}

// Returns "a, b, c and 7 more".
template <typename Name, typename Things>
std::string NameSome(const Things& things, Name name) {
  std::string text;
  for (std::size_t i = 0; i < std::min(things.size(), kNamedInErrors); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Absl(name(things[i])));
  }
  if (things.size() <= kNamedInErrors) return text;
  return absl::StrCat(text, " and ", things.size() - kNamedInErrors, " more");
}

// Removes duplicates; keeps the order of first occurrence.
std::vector<std::string> EachOnce(std::vector<std::string> names) {
  std::set<std::string> known;
  std::erase_if(names, [&](const std::string& name) { return !known.insert(name).second; });
  return names;
}

// Returns the run's index in the sorted `names`.
absl::StatusOr<std::size_t> FindRun(std::span<const std::string_view> names,
                                    const std::string& wanted) {
  const auto first = std::lower_bound(names.begin(), names.end(), wanted);
  const auto index = static_cast<std::size_t>(first - names.begin());
  if (first != names.end() && *first == wanted) return index;
  auto end = first;
  while (!wanted.empty() && end != names.end() && absl::StartsWith(Absl(*end), wanted)) ++end;
  if (end - first == 1) return index;
  if (end == first) return absl::NotFoundError(absl::StrCat("no run \"", wanted, "\""));
  return absl::FailedPreconditionError(
      absl::StrCat("run \"", wanted, "\" matches ",
                   NameSome(std::span(first, end), [](std::string_view name) { return name; })));
}

std::optional<std::size_t> FindTag(std::span<const TagFacts> tags, const std::string& wanted) {
  const auto found = std::lower_bound(
      tags.begin(), tags.end(), wanted,
      [](const TagFacts& tag, const std::string& name) { return tag.name < name; });
  if (found == tags.end() || found->name != wanted) return std::nullopt;
  return static_cast<std::size_t>(found - tags.begin());
}

}  // namespace

absl::StatusOr<RunSelection> RunSelection::Make(SelectionRequest request) {
  if (std::max(request.runs.size(), request.tags.size()) > kMaxNames) {
    return absl::InvalidArgumentError(
        absl::StrCat("a selection names at most ", kMaxNames, " runs and as many tags"));
  }
  RunSelection selection;
  absl::Status compiled = Compile(request.run_pattern, "run_pattern", &selection.run_pattern_);
  compiled.Update(Compile(request.tag_pattern, "tag_pattern", &selection.tag_pattern_));
  if (!compiled.ok()) return compiled;
  if (!request.query.empty()) {
    auto query = RunQuery::Parse(request.query);
    if (!query.ok()) return query.status();
    selection.query_ = *std::move(query);
  }
  request.tags = EachOnce(std::move(request.tags));
  selection.request_ = std::move(request);
  return selection;
}

absl::StatusOr<std::vector<std::size_t>> RunSelection::FindRuns(
    std::span<const std::string_view> names) const {
  std::vector<std::size_t> runs;
  const auto matches = [&](std::size_t run) {
    return !run_pattern_.has_value() || run_pattern_->Matches(names[run]);
  };
  if (request_.runs.empty()) {
    for (std::size_t run = 0; run < names.size(); ++run) {
      if (matches(run)) runs.push_back(run);
    }
    return runs;
  }
  std::set<std::size_t> known;
  for (const std::string& wanted : request_.runs) {
    const auto run = FindRun(names, wanted);
    if (!run.ok()) return run.status();
    if (known.insert(*run).second && matches(*run)) runs.push_back(*run);
  }
  return runs;
}

Answer RunSelection::Ask(const RunFacts& run, std::int64_t now_us) const {
  return query_.has_value() ? query_->Ask(run, now_us) : Answer::kYes;
}

bool RunSelection::NeedsFiles() const { return query_.has_value() && query_->NeedsFiles(); }

bool RunSelection::NeedsParameters() const {
  return query_.has_value() && query_->NeedsParameters();
}

absl::StatusOr<std::vector<SelectedSeries>> RunSelection::FindSeries(
    std::span<const RunTags> runs) const {
  std::vector<SelectedSeries> series;
  std::vector<bool> found(request_.tags.size(), false);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::span<const TagFacts> tags = runs[run].tags;
    const auto add = [&](std::size_t tag) {
      if (Includes(tags[tag])) series.push_back({.run = run, .tag = tag});
    };
    for (std::size_t i = 0; i < request_.tags.size(); ++i) {
      const auto tag = FindTag(tags, request_.tags[i]);
      if (!tag.has_value()) continue;
      found[i] = true;
      add(*tag);
    }
    for (std::size_t tag = 0; request_.tags.empty() && tag < tags.size(); ++tag) add(tag);
    if (series.size() > kMaxSeries) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "more than ", kMaxSeries, " series are selected; name runs or tags, or use a pattern"));
    }
  }
  if (const absl::Status status = CheckTagsFound(runs, found); !status.ok()) return status;
  return series;
}

bool RunSelection::Includes(const TagFacts& tag) const {
  if (!request_.plugin.empty() && tag.plugin != request_.plugin) return false;
  return !tag_pattern_.has_value() || tag_pattern_->Matches(tag.name);
}

absl::Status RunSelection::CheckTagsFound(std::span<const RunTags> runs,
                                          const std::vector<bool>& found) const {
  const auto missing = std::find(found.begin(), found.end(), false);
  if (runs.empty() || missing == found.end()) return absl::OkStatus();
  const std::string& tag = request_.tags[static_cast<std::size_t>(missing - found.begin())];
  if (runs.size() > 1) {
    return absl::NotFoundError(
        absl::StrCat("no tag \"", tag, "\" in any of ", runs.size(), " runs"));
  }
  const RunTags& run = runs.front();
  return absl::NotFoundError(
      absl::StrCat("no tag \"", tag, "\" in run ", Absl(run.run),
                   run.tags.empty() ? "; it has none" : "; it has ",
                   NameSome(run.tags, [](const TagFacts& one) { return one.name; })));
}

}  // namespace datamanager
