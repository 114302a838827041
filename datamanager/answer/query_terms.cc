#include "datamanager/answer/query_terms.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "datamanager/answer/run_facts_of.h"
#include "datamanager/query/run_facts.h"
#include "runtime/text/nearest_word.h"

namespace datamanager {
namespace {

using Term = RunQuery::Term;

constexpr std::size_t kMostCandidates = 100'000;

std::string Written(Term::Kind kind, std::string_view name) {
  const char* const before = kind == Term::Kind::kParameter ? "config."
                             : kind == Term::Kind::kLabel   ? "label:"
                                                            : "";
  return before + std::string(name);
}

// Calls `visit` with the kind and the name of everything in the run that a query may test.
template <typename Visit>
void ForEachName(RunSource& source, std::span<const std::string> names, const std::string& run,
                 const Visit& visit) {
  const auto item = source.Brief(run);
  if (!item.ok()) return;  // The run was removed meanwhile.
  const BriefFacts brief(**item);
  for (const ConfigFacts& fact : brief.parameters()) visit(Term::Kind::kParameter, fact.name);
  const PluginFacts plugin = PluginFactsOf(source, names, run);
  for (const ConfigFacts& fact : plugin.config.facts()) visit(Term::Kind::kParameter, fact.name);
  for (const std::string& label : brief.said().labels) visit(Term::Kind::kLabel, label);
  (void)source.Read(
      {.run = run, .need = RunSource::Need::kCounts, .cached_only = true, .take_part = true},
      [&](const RunSource::View& view) {
        for (const TagFacts& tag : TagFactsOf(view.data)) {
          if (tag.scalar) visit(Term::Kind::kTag, tag.name);
        }
        return absl::OkStatus();
      });
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Returns the same name of another kind, in other case, or in a group ("eval/loss" for "loss");
// otherwise the nearest word.
std::string MeantBy(const Term& term, const std::set<std::pair<Term::Kind, std::string>>& there) {
  const std::string name = Lower(term.name);
  std::vector<std::string> words;
  std::string behind_a_group;
  for (const auto& [kind, candidate] : there) {
    words.push_back(Written(kind, candidate));
    const std::string lower = Lower(candidate);
    if (lower == name) return words.back();
    if (behind_a_group.empty() && lower.ends_with("/" + name)) behind_a_group = words.back();
  }
  if (!behind_a_group.empty()) return behind_a_group;
  std::vector<std::string_view> views(words.begin(), words.end());
  return std::string(runtime::NearestWord(Written(term.kind, term.name), views));
}

}  // namespace

absl::StatusOr<std::vector<UnknownTerm>> UnknownTerms(const RunQuery& query, RunSource& source) {
  const auto names = source.Names();
  if (!names.ok()) return names.status();
  std::vector<Term> open = query.Terms();
  for (const std::string& run : *names) {
    if (open.empty()) return std::vector<UnknownTerm>();
    ForEachName(source, *names, run, [&](Term::Kind kind, std::string_view name) {
      std::erase_if(open, [&](const Term& term) { return term.kind == kind && term.name == name; });
    });
  }
  std::set<std::pair<Term::Kind, std::string>> there;
  for (const std::string& run : *names) {
    if (open.empty() || there.size() > kMostCandidates) break;
    ForEachName(source, *names, run, [&](Term::Kind kind, std::string_view name) {
      there.insert({kind, std::string(name)});
    });
  }
  std::vector<UnknownTerm> unknown;
  for (const Term& term : open) {
    unknown.push_back({Written(term.kind, term.name), MeantBy(term, there)});
  }
  return unknown;
}

}  // namespace datamanager
