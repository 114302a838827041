#include "tools/yard/sweep/warm_start.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/trainer_generated.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tuning/engine/plan.h"
#include "tuning/engine/plan_reader.h"
#include "tuning/space/config.h"
#include "tuning/space/space.h"

namespace yard {
namespace {

// The plan's limit.
constexpr std::size_t kMostKnown = 10'000;

bool IsResult(const msg::SweepTrialT& trial) {
  const bool is_over = trial.stage == msg::SweepStage::Done ||
                       trial.stage == msg::SweepStage::StoppedEarly ||
                       trial.stage == msg::SweepStage::Stopped;
  return is_over && trial.has_value && std::isfinite(trial.value);
}

// Values of metrics, by name.
using Values = std::vector<std::pair<std::string, double>>;

class Results {
 public:
  void Add(const std::string& config, const Values& values) {
    if (++count_ > kMostKnown) return;
    nlohmann::ordered_json json = {{"config", nlohmann::ordered_json::object()}};
    if (values.size() == 1) json["value"] = values.front().second;
    for (const auto& [name, value] : values) {
      if (values.size() > 1) json["values"][name] = value;
    }
    // The configuration's numbers must stay as they were written, so it is not re-serialized.
    const std::string rest =
        json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
            .substr(std::string_view("{\"config\":{}").size());
    absl::StrAppend(&text_, text_.empty() ? "" : ",", "{\"config\":", config, rest);
  }
  const std::string& text() const { return text_; }

 private:
  std::size_t count_ = 0;
  std::string text_;
};

std::string GoalOf(const std::string& metric, bool maximize) {
  return absl::StrCat(maximize ? "maximize " : "minimize ", metric);
}
std::string GoalsOf(const msg::SweepT& sweep) {
  if (sweep.objectives.empty()) return GoalOf(sweep.metric, sweep.maximize);
  std::vector<std::string> goals;
  for (const auto& one : sweep.objectives) goals.push_back(GoalOf(one->metric, one->maximize));
  return absl::StrJoin(goals, " and ");
}
std::string GoalsOf(const tuning::Plan& plan) {
  std::string goals = GoalOf(plan.metric.name, plan.metric.maximize);
  if (plan.second) {
    absl::StrAppend(&goals, " and ", GoalOf(plan.second->name, plan.second->maximize));
  }
  return goals;
}

absl::Status AddSweep(Context& context, const SweepDraft& draft, const std::string& name,
                      Results& results) {
  const auto sweep = FindSweep(context, name);
  if (!sweep.ok()) return sweep.status();
  const std::string its = GoalsOf(*sweep), ours = GoalsOf(draft.plan);
  if (its != ours) {
    return absl::InvalidArgumentError(
        absl::StrCat("warm_start: sweep ", name, " is to ", its, ", and this one to ", ours));
  }
  const auto details = SweepDetails(context, sweep->id);
  if (!details.ok()) return details.status();
  for (const auto& trial : details->trials) {
    // Skip trials that break a constraint: by how much is unknown.
    if (!IsResult(*trial) || !trial->breaks.empty()) continue;
    Values values = {{draft.plan.metric.name, trial->value}};
    if (draft.plan.second) {
      if (trial->values.size() < 2 || !std::isfinite(trial->values[1])) continue;
      values.emplace_back(draft.plan.second->name, trial->values[1]);
    }
    results.Add(trial->config, values);
  }
  return absl::OkStatus();
}

// Returns a pattern for the metrics that the plan uses.
std::string PatternOf(const tuning::Plan& plan) {
  std::vector<std::string> names = {RE2::QuoteMeta(plan.metric.name)};
  for (const std::string& name : tuning::OtherMetrics(plan)) names.push_back(RE2::QuoteMeta(name));
  return absl::StrCat("^(", absl::StrJoin(names, "|"), ")$");
}

// Returns the tag's value that counts for the metric.
double ValueOf(const msg::TagT& tag, const tuning::PlanMetric& metric) {
  return metric.last ? tag.last : metric.maximize ? tag.max : tag.min;
}

// Returns the run's values that the plan uses; empty if one that decides is missing.
absl::StatusOr<Values> ValuesOf(RunReader& reader, const tuning::Plan& plan,
                                const std::string& run) {
  const auto tags = reader.Tags(run, PatternOf(plan));
  if (!tags.ok()) return tags.status();
  const auto find = [&](const tuning::PlanMetric& metric) {
    for (const auto& tag : tags->tags) {
      if (tag->name == metric.name) return ValueOf(*tag, metric);
    }
    return std::nan("");
  };
  Values values = {{plan.metric.name, find(plan.metric)}};
  if (plan.second) values.emplace_back(plan.second->name, find(*plan.second));
  for (const auto& [name, value] : values) {
    if (!std::isfinite(value)) return Values();
  }
  for (const std::string& name : plan.watched) {
    const double value = find({.name = name, .last = true});
    if (std::isfinite(value)) values.emplace_back(name, value);
  }
  return values;
}

// Returns the configurations that the data manager knows, by run.
absl::StatusOr<std::map<std::string, std::string>> ConfigsOf(
    RunReader& reader, const std::vector<std::string>& names) {
  std::map<std::string, std::string> configs;
  msg::HParamsRequestT request;
  request.selection = std::make_unique<msg::SelectionT>();
  request.selection->runs = names;
  for (;;) {
    const auto page = reader.Call<rpc::Datamanager::HParams>(request);
    if (!page.ok()) return AsLookup(page.status());
    for (const auto& found : page->runs) {
      tuning::Config config;
      for (const auto& value : found->hparams) config.emplace_back(value->key, value->value);
      configs[found->run] = tuning::ConfigText(config);
    }
    if (page->next.empty() || page->runs.empty()) return configs;
    request.after = page->next;
  }
}

absl::Status AddRuns(Context& context, const SweepDraft& draft, Results& results) {
  RunReader reader(context, "sweep");
  const auto names = reader.Names({}, draft.warm_runs, kMostKnown);
  if (absl::IsNotFound(names.status()) || (names.ok() && names->empty())) {
    *context.err << "warm_start.runs: no run is as \"" << runtime::Printable(draft.warm_runs)
                 << "\" says, so nothing is known from one\n";
    return absl::OkStatus();
  }
  if (!names.ok()) return names.status();
  const auto configs = ConfigsOf(reader, *names);
  if (!configs.ok()) return configs.status();
  std::size_t fit = 0;
  for (const auto& [run, config] : *configs) {
    const auto parsed = tuning::ParseConfig(config);
    if (!parsed.ok() || !tuning::PointOf(*draft.plan.space, *parsed).ok()) continue;
    const auto values = ValuesOf(reader, draft.plan, run);
    if (!values.ok()) return values.status();
    if (values->empty()) continue;
    results.Add(config, *values);
    ++fit;
  }
  *context.err << "warm_start.runs: " << fit << " of " << runtime::Counted(names->size(), "run")
               << " fit the space and have the metric, and count\n";
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> PlanWithWarmStart(Context& context, const SweepDraft& draft) {
  Results results;
  const std::vector<std::string> others = tuning::OtherMetrics(draft.plan);
  for (const tuning::KnownResult& known : draft.known) {
    Values values = {{draft.plan.metric.name, known.value}};
    for (std::size_t i = 0; i < others.size() && i < known.others.size(); ++i) {
      if (known.others[i]) values.emplace_back(others[i], *known.others[i]);
    }
    results.Add(tuning::ConfigText(known.config), values);
  }
  for (const std::string& name : draft.warm_sweeps) {
    if (auto added = AddSweep(context, draft, name, results); !added.ok()) return added;
  }
  if (!draft.warm_runs.empty()) {
    if (auto added = AddRuns(context, draft, results); !added.ok()) return added;
  }
  if (results.text().empty()) return draft.plan_json;
  return absl::StrCat(draft.plan_json.substr(0, draft.plan_json.size() - 1),
                      ",\"warm_start\":{\"results\":[", results.text(), "]}}");
}

}  // namespace yard
