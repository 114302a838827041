#include "trainer/sweep/sweep_message.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "tuning/analysis/importance.h"
#include "tuning/analysis/marginals.h"
#include "tuning/engine/engine.h"
#include "tuning/engine/plan.h"
#include "tuning/space/config.h"
#include "tuning/space/space.h"

namespace trainer {
namespace {

using tuning::Engine;

// With fewer results, importances are meaningless.
constexpr std::size_t kFewestResults = 10;

msg::SweepState StateOf(Engine::State state) {
  switch (state) {
    case Engine::State::kNew:
    case Engine::State::kRunning:
      return msg::SweepState::Running;
    case Engine::State::kPaused:
      return msg::SweepState::Paused;
    case Engine::State::kStopping:
      return msg::SweepState::Stopping;
    case Engine::State::kDone:
      return msg::SweepState::Done;
    case Engine::State::kStopped:
      return msg::SweepState::Stopped;
    case Engine::State::kFailed:
      return msg::SweepState::Failed;
  }
  return msg::SweepState::Running;
}

msg::SweepStage StageOf(Engine::Stage stage) {
  switch (stage) {
    case Engine::Stage::kWaiting:
      return msg::SweepStage::Waiting;
    case Engine::Stage::kRunning:
      return msg::SweepStage::Running;
    case Engine::Stage::kPaused:
      return msg::SweepStage::Paused;
    case Engine::Stage::kDone:
      return msg::SweepStage::Done;
    case Engine::Stage::kStoppedEarly:
      return msg::SweepStage::StoppedEarly;
    case Engine::Stage::kStopped:
      return msg::SweepStage::Stopped;
    case Engine::Stage::kFailed:
      return msg::SweepStage::Failed;
  }
  return msg::SweepStage::Waiting;
}

// Returns the ended trials that have a comparable value; smaller is better.
std::vector<tuning::ScoredPoint> ResultsOf(const Engine& engine) {
  std::vector<tuning::ScoredPoint> results;
  for (const Engine::Trial& trial : engine.trials()) {
    const bool counts = trial.stage == Engine::Stage::kDone ||
                        trial.stage == Engine::Stage::kStoppedEarly ||
                        trial.stage == Engine::Stage::kStopped;
    if (!counts || !trial.point || !trial.value || !std::isfinite(*trial.value)) continue;
    results.push_back({*trial.point, engine.plan().metric.maximize ? -*trial.value : *trial.value});
  }
  return results;
}

std::vector<std::unique_ptr<msg::SweepImportanceT>> ImportancesOf(
    const tuning::Space& space, const std::vector<tuning::ScoredPoint>& results) {
  std::vector<std::unique_ptr<msg::SweepImportanceT>> importances;
  if (results.size() < kFewestResults) return importances;
  const std::vector<double> values = tuning::Importances(space, results);
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto one = std::make_unique<msg::SweepImportanceT>();
    one->parameter = space[i].name;
    one->importance = values[i];
    importances.push_back(std::move(one));
  }
  std::stable_sort(importances.begin(), importances.end(),
                   [](const auto& a, const auto& b) { return a->importance > b->importance; });
  return importances;
}

std::vector<std::unique_ptr<msg::SweepMarginalT>> MarginalsOf(
    const tuning::Plan& plan, const std::vector<tuning::ScoredPoint>& results) {
  const double sign = plan.metric.maximize ? -1 : 1;
  std::vector<std::unique_ptr<msg::SweepMarginalT>> marginals;
  for (const tuning::Marginal& marginal : tuning::Marginals(*plan.space, results)) {
    const tuning::Parameter& parameter = (*plan.space)[marginal.parameter];
    auto shown = std::make_unique<msg::SweepMarginalT>();
    shown->parameter = parameter.name;
    for (const tuning::Bin& bin : marginal.bins) {
      auto one = std::make_unique<msg::SweepBinT>();
      if (parameter.kind == tuning::Kind::kCategory) {
        one->value = parameter.Text(bin.low);
      } else {
        one->low = bin.low;
        one->high = bin.high;
      }
      one->trials = bin.results;
      one->best = sign * bin.best;
      one->median = sign * bin.median;
      shown->bins.push_back(std::move(one));
    }
    marginals.push_back(std::move(shown));
  }
  return marginals;
}

}  // namespace

std::string NameOfSweepTrial(const std::string& sweep, std::uint64_t number) {
  return absl::StrFormat("%s-%04d", sweep, number);
}

msg::SweepTrialT SweepTrialMessage(const SweepRecord& record, const Sweep& sweep,
                                   std::uint64_t number) {
  const Engine::Trial& trial = sweep.engine().trials()[number];
  const Sweep::TrialFacts& facts = sweep.facts(number);
  msg::SweepTrialT shown;
  shown.number = number;
  shown.trial = facts.id;
  shown.name = NameOfSweepTrial(record.name, number);
  shown.stage = StageOf(trial.stage);
  shown.attempt = static_cast<std::uint32_t>(trial.attempt);
  shown.config = tuning::ConfigText(trial.config);
  shown.has_value = trial.value.has_value();
  shown.value = trial.value.value_or(0);
  shown.resource = trial.resource;
  shown.reason = trial.reason;
  shown.member = trial.member;
  shown.generation = trial.generation;
  shown.has_from = trial.from.has_value();
  shown.from = trial.from.value_or(0);
  shown.from_resource = trial.from_resource;
  shown.started_us = facts.started_us;
  shown.ended_us = facts.ended_us;
  if (sweep.engine().plan().second) {
    const auto second = trial.others.empty() ? std::nullopt : trial.others.front();
    for (const auto& value : {trial.value, second}) {
      shown.values.push_back(value.value_or(std::nan("")));
    }
  }
  shown.breaks = sweep.engine().Breaks(trial);
  return shown;
}

msg::SweepT SweepMessage(const SweepRecord& record, const Sweep& sweep) {
  const Engine& engine = sweep.engine();
  const tuning::Plan& plan = engine.plan();
  msg::SweepT shown;
  shown.id = record.id;
  shown.name = record.name;
  shown.state = StateOf(engine.state());
  shown.reason = engine.reason().empty() ? sweep.notice() : engine.reason();
  shown.created_us = record.created_us;
  shown.ended_us = record.ended_us;
  shown.method = sweep.method();
  shown.metric = plan.metric.name;
  shown.maximize = plan.metric.maximize;
  shown.parallel = static_cast<std::uint32_t>(plan.parallel);
  shown.run_cap = plan.max_trials;
  shown.seed = plan.seed;
  shown.trials = engine.trials().size();
  for (const Engine::Trial& trial : engine.trials()) {
    switch (trial.stage) {
      case Engine::Stage::kWaiting:
        ++shown.waiting;
        break;
      case Engine::Stage::kRunning:
        ++shown.running;
        break;
      case Engine::Stage::kPaused:
        ++shown.paused;
        break;
      case Engine::Stage::kDone:
        ++shown.done;
        break;
      case Engine::Stage::kStoppedEarly:
        ++shown.stopped_early;
        break;
      case Engine::Stage::kStopped:
        ++shown.stopped;
        break;
      case Engine::Stage::kFailed:
        ++shown.failed;
        break;
    }
  }
  if (const auto best = engine.Best()) {
    shown.best = std::make_unique<msg::SweepTrialT>(SweepTrialMessage(record, sweep, *best));
  }
  if (plan.second) {
    for (const tuning::PlanMetric* const metric : {&plan.metric, &*plan.second}) {
      auto objective = std::make_unique<msg::SweepObjectiveT>();
      objective->metric = metric->name;
      objective->maximize = metric->maximize;
      shown.objectives.push_back(std::move(objective));
    }
    shown.front = engine.Front();
  }
  shown.events = static_cast<std::uint64_t>(sweep.events());
  return shown;
}

std::vector<std::unique_ptr<msg::SweepTrialT>> TrialsChangedAfter(const SweepRecord& record,
                                                                  const Sweep& sweep,
                                                                  std::int64_t seq) {
  std::vector<std::unique_ptr<msg::SweepTrialT>> changed;
  for (std::uint64_t trial = 0; trial < sweep.engine().trials().size(); ++trial) {
    if (sweep.facts(trial).changed <= seq) continue;
    changed.push_back(std::make_unique<msg::SweepTrialT>(SweepTrialMessage(record, sweep, trial)));
  }
  return changed;
}

msg::SweepDetailsReplyT SweepDetailsMessage(const SweepRecord& record, const Sweep& sweep) {
  msg::SweepDetailsReplyT details;
  details.sweep = std::make_unique<msg::SweepT>(SweepMessage(record, sweep));
  details.trials = TrialsChangedAfter(record, sweep, -1);
  for (const tuning::StoppingRule::Level& level : sweep.engine().Levels()) {
    auto shown = std::make_unique<msg::SweepLevelT>();
    shown->resource = level.resource;
    shown->arrived = level.arrived;
    shown->went_on = level.went_on;
    shown->has_best = !std::isnan(level.best);
    shown->best = shown->has_best ? level.best : 0;
    shown->has_cutoff = !std::isnan(level.cutoff);
    shown->cutoff = shown->has_cutoff ? level.cutoff : 0;
    details.levels.push_back(std::move(shown));
  }
  const tuning::Plan& plan = sweep.engine().plan();
  const std::vector<tuning::ScoredPoint> results = ResultsOf(sweep.engine());
  details.importance = ImportancesOf(*plan.space, results);
  details.marginals = MarginalsOf(plan, results);
  details.plan = sweep.plan_json();
  details.source = sweep.source();
  if (record.request.trial != nullptr) details.argv = record.request.trial->argv;
  return details;
}

}  // namespace trainer
