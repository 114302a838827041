#include "datamanager/run_facts_of.h"

#include <span>
#include <string_view>

#include "datamanager/run_source.h"

namespace datamanager {
namespace {

// Null if there is none, or none that can be read.
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
      config_(Content<RunConfig>(item, kConfigKey)) {}

RunFacts BriefFacts::Facts(CacheState state) const {
  RunFacts facts;
  facts.name = listed_->name;
  facts.update_us = listed_->update_us;
  facts.bytes = listed_->bytes;
  facts.files = listed_->files.size();
  facts.state = state;
  facts.labels = labels_ == nullptr ? std::span<const std::string>() : labels_->labels;
  facts.config = config_ == nullptr ? std::span<const ConfigFacts>() : config_->facts();
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
