#include "tools/yard/sweep/warm_start.h"

#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/trainer_generated.h"
#include "nlohmann/json.hpp"
#include "tools/yard/sweep/sweep_orders.h"
#include "tuning/space/config.h"

namespace yard {
namespace {

// The plan has room for so many.
constexpr std::size_t kMostKnown = 10'000;

bool IsResult(const msg::SweepTrialT& trial) {
  const bool is_over = trial.stage == msg::SweepStage::Done ||
                       trial.stage == msg::SweepStage::StoppedEarly ||
                       trial.stage == msg::SweepStage::Stopped;
  return is_over && trial.has_value && std::isfinite(trial.value);
}

class Results {
 public:
  void Add(const std::string& config, double value) {
    if (++count_ > kMostKnown) return;
    absl::StrAppend(&text_, text_.empty() ? "" : ",", "{\"config\":", config,
                    ",\"value\":", nlohmann::json(value).dump(), "}");
  }
  const std::string& text() const { return text_; }

 private:
  std::size_t count_ = 0;
  std::string text_;
};

absl::Status AddSweep(Context& context, const SweepDraft& draft, const std::string& name,
                      Results& results) {
  const auto sweep = FindSweep(context, name);
  if (!sweep.ok()) return sweep.status();
  if (sweep->metric != draft.plan.metric.name || sweep->maximize != draft.plan.metric.maximize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "warm_start: sweep ", name, " is to ", sweep->maximize ? "maximize " : "minimize ",
        sweep->metric, ", and this one to ", draft.plan.metric.maximize ? "maximize " : "minimize ",
        draft.plan.metric.name));
  }
  const auto details = SweepDetails(context, sweep->id);
  if (!details.ok()) return details.status();
  for (const auto& trial : details->trials) {
    if (IsResult(*trial)) results.Add(trial->config, trial->value);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> PlanWithWarmStart(Context& context, const SweepDraft& draft) {
  Results results;
  for (const auto& [config, value] : draft.known) {
    results.Add(tuning::ConfigText(config), value);
  }
  for (const std::string& name : draft.warm_sweeps) {
    if (auto added = AddSweep(context, draft, name, results); !added.ok()) return added;
  }
  if (results.text().empty()) return draft.plan_json;
  return absl::StrCat(draft.plan_json.substr(0, draft.plan_json.size() - 1),
                      ",\"warm_start\":{\"results\":[", results.text(), "]}}");
}

}  // namespace yard
