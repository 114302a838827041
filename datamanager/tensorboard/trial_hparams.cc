#include "datamanager/tensorboard/trial_hparams.h"

#include <utility>

#include "eventlog/hparams_content.h"

namespace datamanager::tensorboard {

using eventlog::kHParamsStartTag;

TrialHParams::TrialHParams(const RunSource::View& view, const SeriesRequest& request,
                           eventlog::DataClass data_class)
    : shown_(data_class == eventlog::DataClass::kTensor && request.plugin == "hparams" &&
             request.tags.Wants(kHParamsStartTag) &&
             !view.data.FindTag(kHParamsStartTag).has_value()),
      start_time_(view.data.start_time()) {}

std::unique_ptr<const BriefFacts> TrialHParams::ParametersOf(const RunCatalog& catalog,
                                                             const std::string& run) {
  const auto item = catalog.Brief(run);
  if (!item.ok()) return nullptr;
  auto facts = std::make_unique<const BriefFacts>(**item);
  return facts->parameters().empty() ? nullptr : std::move(facts);
}

void TrialHParams::AddTo(const RunCatalog& catalog, const std::string& run,
                         const SeriesRequest& request, SeriesMessage* answer) const {
  const auto facts = shown_ ? ParametersOf(catalog, run) : nullptr;
  if (facts == nullptr) return;
  if (request.num_points.has_value()) {
    if (*request.num_points == 0) return answer->AddValues(kHParamsStartTag, {});
    return answer->AddValues(kHParamsStartTag, {{0}, {start_time_}, {EmptyTensor()}});
  }
  // (A group of the plugin is what has the same parameters; a trial's group is another thing.)
  const std::string content = SessionStartContent(facts->parameters(), {}, start_time_);
  SeriesInfo info;
  info.max_wall_time = start_time_;
  info.plugin = "hparams";
  info.content = content;
  info.data_class = eventlog::DataClass::kTensor;
  answer->AddInfo(kHParamsStartTag, info);
}

}  // namespace datamanager::tensorboard
