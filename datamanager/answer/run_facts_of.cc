#include "datamanager/answer/run_facts_of.h"

#include <span>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "datamanager/brief/brief_cache.h"
#include "datamanager/brief/run_lineage.h"
#include "datamanager/brief/run_parameters.h"
#include "datamanager/catalog/run_source.h"
#include "eventlog/hparams_content.h"

namespace datamanager {
namespace {

// Returns null if the item has no such content, or it cannot be read.
template <typename T>
std::shared_ptr<const T> Content(const BriefItem& item, std::string_view key) {
  return item.Get<T>(key, BriefItem::Missing::kNothing).value_or(nullptr);
}

}  // namespace

std::vector<TagFacts> TagFactsOf(const RunData& data) {
  std::vector<TagFacts> facts;
  const std::span<const RunData::TagId> tags = data.TagsByName();
  facts.reserve(tags.size());
  for (const RunData::TagId id : tags) {
    const RunData::Tag& tag = data.tag(id);
    TagFacts& fact = facts.emplace_back();
    fact.name = data.tag_name(id);
    fact.plugin = tag.plugin();
    fact.scalar = tag.summary.points > 0;
    if (!fact.scalar) continue;
    fact.last = tag.summary.last;
    fact.min = tag.summary.min;
    fact.max = tag.summary.max;
  }
  return facts;
}

BriefFacts::BriefFacts(const BriefItem& item)
    : listed_(item.run()),
      labels_(Content<RunLabels>(item, kTrialKey)),
      config_(Content<RunConfig>(item, kConfigKey)) {
  std::span<const ConfigFacts> configured, command;
  if (config_ != nullptr) configured = config_->facts();
  if (labels_ != nullptr) command = labels_->command.facts();
  const auto annotations = Content<bus::Annotations>(item, kAnnotationsKey);
  if (annotations != nullptr) {
    said_ = *annotations;
  } else if (labels_ != nullptr) {
    said_.labels = labels_->labels;
  }
  const auto lineage = Content<RunLineage>(item, BriefCache::kLineage);
  if (lineage != nullptr && !lineage->train.empty()) lineage_ = LineageParameters(lineage->train);
  const std::span<const ConfigFacts> sources[] = {configured, command, lineage_.facts()};
  parameters_ = MergeParameters(sources);
}

RunFacts BriefFacts::Facts(CacheState state) const {
  RunFacts facts;
  facts.name = listed_->name;
  facts.update_us = listed_->update_us;
  facts.bytes = listed_->bytes;
  facts.files = listed_->files.size();
  facts.state = state;
  facts.display_name = said_.display_name;
  facts.note = said_.note;
  facts.labels = said_.labels;
  facts.config = parameters_;
  return facts;
}

std::string_view SessionStartOf(const RunData& data) {
  const auto id = data.FindTag(eventlog::kHParamsStartTag);
  return id.has_value() ? std::string_view(data.tag(*id).kind->content) : std::string_view();
}

PluginFacts PluginFactsOf(RunSource& source, std::span<const std::string> names,
                          const std::string& run) {
  bool is_counted = true;
  const auto read = [&](const std::string& name) {
    RunConfig config;
    bool counted = false;
    (void)source.Read(
        {.run = name, .need = RunSource::Need::kCounts, .cached_only = true, .take_part = true},
        [&](const RunSource::View& view) {
          counted = view.data.counted();
          config = PluginParameters(SessionStartOf(view.data));
          return absl::OkStatus();
        });
    is_counted &= counted;
    return config;
  };
  PluginFacts facts{.config = read(run)};
  if (!facts.config.facts().empty()) return facts;
  int with_some = 0;
  for (const std::string& below : RunsBelow(names, run)) {
    RunConfig config = read(below);
    if (config.facts().empty()) continue;
    ++with_some;
    facts.config = std::move(config);
  }
  if (with_some > 1) facts.config = RunConfig();
  facts.may_have_more = !is_counted;
  return facts;
}

void AddCounts(const RunData& data, const std::vector<TagFacts>& tags, RunFacts* facts) {
  facts->counted = data.counted();
  facts->points = data.points();
  facts->faults = data.bad_records();
  facts->last_step = data.last_step();
  facts->tags = tags;
}

}  // namespace datamanager
