#include "datamanager/tensorboard/trial_hparams.h"

#include <utility>

#include "bus/json/run_outcome.h"
#include "datamanager/brief/brief_item.h"
#include "eventlog/hparams_content.h"

namespace datamanager::tensorboard {

using eventlog::HParamsContent;
using eventlog::kHParamsEndTag;
using eventlog::kHParamsStartTag;

namespace {

// Converts a trial's outcome. TensorBoard has no state for a stopped trial.
HParamsContent::Status StatusOf(const bus::RunOutcome& outcome) {
  if (outcome.state == "done") return HParamsContent::Status::kSuccess;
  if (outcome.state == "failed") return HParamsContent::Status::kFailure;
  return HParamsContent::Status::kUnknown;
}

// Returns null if the trial has not ended, or the run has no trial.
std::shared_ptr<const bus::RunOutcome> OutcomeOf(const RunCatalog& catalog,
                                                 const std::string& run) {
  const auto item = catalog.Brief(run);
  if (!item.ok()) return nullptr;
  return (*item)->Get<bus::RunOutcome>(kOutcomeKey, BriefItem::Missing::kNothing).value_or(nullptr);
}

// Adds a tag of which the plugin reads only the content.
void AddTag(std::string_view tag, std::string_view content, double time,
            const SeriesRequest& request, SeriesMessage* answer) {
  if (request.num_points.has_value()) {
    if (*request.num_points == 0) return answer->AddValues(tag, {});
    return answer->AddValues(tag, {{0}, {time}, {EmptyTensor()}});
  }
  SeriesInfo info;
  info.max_wall_time = time;
  info.plugin = "hparams";
  info.content = content;
  info.data_class = eventlog::DataClass::kTensor;
  answer->AddInfo(tag, info);
}

}  // namespace

TrialHParams::TrialHParams(const RunSource::View& view, const SeriesRequest& request,
                           eventlog::DataClass data_class)
    : lacks_start_(!view.data.FindTag(kHParamsStartTag).has_value()),
      start_time_(view.data.start_time()) {
  const bool wants = data_class == eventlog::DataClass::kTensor && request.plugin == "hparams";
  adds_start_ = wants && lacks_start_ && request.tags.Includes(kHParamsStartTag);
  adds_end_ = wants && request.tags.Includes(kHParamsEndTag) &&
              !view.data.FindTag(kHParamsEndTag).has_value();
}

std::unique_ptr<const BriefFacts> TrialHParams::ParametersOf(const RunCatalog& catalog,
                                                             const std::string& run) {
  const auto item = catalog.Brief(run);
  if (!item.ok()) return nullptr;
  auto facts = std::make_unique<const BriefFacts>(**item);
  return facts->parameters().empty() ? nullptr : std::move(facts);
}

void TrialHParams::AddTo(const RunCatalog& catalog, const std::string& run,
                         const SeriesRequest& request, SeriesMessage* answer) const {
  if (!adds_start_ && !adds_end_) return;
  const auto facts = lacks_start_ ? ParametersOf(catalog, run) : nullptr;
  if (lacks_start_ && facts == nullptr) return;
  if (adds_start_) {
    // (The plugin's groups are sessions with the same parameters; a trial's group is something
    // else.)
    AddTag(kHParamsStartTag, SessionStartContent(facts->parameters(), {}, start_time_), start_time_,
           request, answer);
  }
  const auto outcome = adds_end_ ? OutcomeOf(catalog, run) : nullptr;
  if (outcome == nullptr) return;
  const double end_time = static_cast<double>(outcome->ended_us) / 1e6;
  AddTag(kHParamsEndTag, SessionEndContent(StatusOf(*outcome), end_time), end_time, request,
         answer);
}

}  // namespace datamanager::tensorboard
