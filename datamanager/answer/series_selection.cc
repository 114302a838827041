#include "datamanager/answer/series_selection.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datamanager/answer/run_facts_of.h"
#include "datamanager/query/run_facts.h"

namespace datamanager {
namespace {

// Evaluates the selection's query for a run with the data in memory.
Answer AskRun(const RunSelection& selection, RunSource& source, std::span<const std::string> names,
              const std::string& run) {
  if (!selection.HasQuery()) return Answer::kYes;
  const auto item = source.Brief(run);
  // The run was removed since it was listed.
  if (!item.ok()) return Answer::kNo;
  const BriefFacts brief(**item);
  PluginFacts plugin;
  if (selection.NeedsParameters()) plugin = PluginFactsOf(source, names, run);
  const auto ask = [&](RunFacts facts) {
    facts.hparams = plugin.config.facts();
    facts.may_have_more_hparams = plugin.may_have_more;
    return selection.Ask(facts, source.NowUs());
  };
  Answer answer = Answer::kUnknown;
  const absl::Status read = source.Read(
      {.run = run, .need = RunSource::Need::kCounts, .cached_only = true, .take_part = true},
      [&](const RunSource::View& view) {
        RunFacts facts = brief.Facts(view.state);
        const std::vector<TagFacts> tags = TagFactsOf(view.data);
        AddCounts(view.data, tags, &facts);
        answer = ask(facts);
        return absl::OkStatus();
      });
  if (read.ok()) return answer;
  return ask(brief.Facts(CacheState::kNotCached));
}

}  // namespace

SelectionRequest SelectionOf(const msg::SelectionT* selection) {
  if (selection == nullptr) return {};
  return {.runs = selection->runs,
          .run_pattern = selection->run_pattern,
          .query = selection->query,
          .tags = selection->tags,
          .tag_pattern = selection->tag_pattern,
          .plugin = selection->plugin};
}

absl::StatusOr<SelectedRuns> SelectRuns(const RunSelection& selection, RunSource& source) {
  const auto names = source.Names();
  if (!names.ok()) return names.status();
  const std::vector<std::string_view> views(names->begin(), names->end());
  const auto found = selection.FindRuns(views);
  if (!found.ok()) return found.status();
  SelectedRuns selected;
  for (const std::size_t index : *found) {
    const std::string& run = (*names)[index];
    switch (AskRun(selection, source, *names, run)) {
      case Answer::kYes:
        selected.runs.push_back(run);
        break;
      case Answer::kUnknown:
        ++selected.undecided;
        break;
      case Answer::kNo:
        break;
    }
  }
  return selected;
}

absl::StatusOr<std::string> FindRunName(const std::string& run, RunSource& source) {
  if (run.empty()) return absl::InvalidArgumentError("no run is named");
  const auto selection = RunSelection::Make({.runs = {run}});
  if (!selection.ok()) return selection.status();
  auto found = SelectRuns(*selection, source);
  if (!found.ok()) return found.status();
  return std::move(found->runs.front());
}

SeriesSelection::SeriesSelection(RunSelection selection, Kind kind, RunSource* source)
    : selection_(std::move(selection)), kind_(kind), source_(source) {}

absl::StatusOr<SeriesSelection> SeriesSelection::Make(const msg::SelectionT* selection, Kind kind,
                                                      RunSource* source) {
  auto made = RunSelection::Make(SelectionOf(selection));
  if (!made.ok()) return made.status();
  SeriesSelection series(*std::move(made), kind, source);
  if (selection != nullptr) {
    series.cached_only_ = selection->cached_only;
    series.whole_ = selection->whole;
    series.named_tags_ = selection->tags.size();
  }
  return series;
}

bool SeriesSelection::Counts(const RunData::Tag& tag) const {
  return kind_ == Kind::kScalars ? tag.summary.points > 0 : tag.value_count() > 0;
}

absl::Status SeriesSelection::FindTagsOf(const std::string& run) {
  std::vector<Tag> tags;
  waiting_ = RunSource::Request{
      .run = run, .cached_only = cached_only_, .whole = whole_ || awaited_.contains(run)};
  bool in_part = false;
  const absl::Status read = source_->Read(*waiting_, [&](const RunSource::View& view) {
    in_part = !view.data.counted();
    for (const RunData::TagId id : view.data.TagsByName()) {
      const RunData::Tag& tag = view.data.tag(id);
      if (!Counts(tag)) continue;
      tags.push_back({std::string(view.data.tag_name(id)), std::string(tag.plugin())});
    }
    return absl::OkStatus();
  });
  if (absl::IsUnavailable(read)) {
    waiting_->whole = true;
    awaited_.insert(run);
  }
  // A run that was removed meanwhile, or is unreadable, has no tags.
  if (absl::IsDataLoss(read)) {
    if (unreadable_count_++ == 0) unreadable_ = read;
  } else if (!read.ok() && !absl::IsNotFound(read)) {
    return read;
  }
  if (in_part) in_part_.insert(tags_.size());
  tag_count_ += tags.size();
  tags_.push_back(std::move(tags));
  if (tag_count_ <= kMaxTags) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the selected runs have more than ", kMaxTags, " tags; name fewer runs"));
}

bool SeriesSelection::AwaitsMore(const absl::StatusOr<std::vector<SelectedSeries>>& selected) {
  if (!selected.ok() && !absl::IsNotFound(selected.status())) return false;
  bool awaits = false;
  for (const std::size_t run : in_part_) {
    std::size_t found = 0;
    if (selected.ok()) {
      found = static_cast<std::size_t>(
          std::count_if(selected->begin(), selected->end(),
                        [run](const SelectedSeries& series) { return series.run == run; }));
    }
    if (found >= std::max<std::size_t>(named_tags_, 1)) continue;
    awaits |= awaited_.insert(runs_.runs[run]).second;
  }
  if (!awaits) return false;
  in_part_.clear();
  unreadable_count_ = 0;
  tags_.clear();
  tag_count_ = 0;
  return true;
}

absl::Status SeriesSelection::Find() {
  waiting_.reset();
  if (!found_runs_) {
    auto runs = SelectRuns(selection_, *source_);
    if (!runs.ok()) return runs.status();
    runs_ = *std::move(runs);
    found_runs_ = true;
  }
  while (tags_.size() < runs_.runs.size()) {
    if (absl::Status found = FindTagsOf(runs_.runs[tags_.size()]); !found.ok()) return found;
  }
  waiting_.reset();
  std::vector<std::vector<TagFacts>> facts(tags_.size());
  std::vector<RunTags> run_tags;
  for (std::size_t run = 0; run < tags_.size(); ++run) {
    for (const Tag& tag : tags_[run]) {
      facts[run].push_back({.name = tag.name, .plugin = tag.plugin});
    }
    run_tags.push_back({.run = runs_.runs[run], .tags = facts[run]});
  }
  const auto selected = selection_.FindSeries(run_tags);
  if (AwaitsMore(selected)) return Find();
  const bool nothing = selected.ok() ? selected->empty() : absl::IsNotFound(selected.status());
  if (nothing && unreadable_count_ > 0) return unreadable_;
  if (!selected.ok()) return selected.status();
  series_.clear();
  for (const SelectedSeries& one : *selected) {
    series_.push_back({.run = one.run, .tag = tags_[one.run][one.tag].name});
  }
  tags_.clear();
  tags_.resize(runs_.runs.size());
  return absl::OkStatus();
}

}  // namespace datamanager
