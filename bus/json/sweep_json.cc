#include "bus/json/sweep_json.h"

#include <utility>

namespace bus {
namespace {

// A bin of a choice has `value`, a bin of a number has `low` and `high`.
nlohmann::json MarginalToJson(const msg::SweepMarginalT& marginal) {
  nlohmann::json bins = nlohmann::json::array();
  for (const auto& bin : marginal.bins) {
    nlohmann::json shown = {{"trials", bin->trials},
                            {"best", NumberToJson(bin->best)},
                            {"median", NumberToJson(bin->median)}};
    if (bin->value.empty()) {
      shown["low"] = NumberToJson(bin->low);
      shown["high"] = NumberToJson(bin->high);
    } else {
      shown["value"] = nlohmann::json::parse(bin->value, nullptr, /*allow_exceptions=*/false);
    }
    bins.push_back(std::move(shown));
  }
  return {{"parameter", marginal.parameter}, {"bins", std::move(bins)}};
}

}  // namespace

nlohmann::json ToJson(const msg::SweepTrialT& trial) {
  nlohmann::json values;
  for (const double value : trial.values) values.push_back(NumberToJson(value));
  return {{"number", trial.number},
          {"kind", "sweep trial"},
          {"trial", TextOrNull(trial.trial)},
          {"name", trial.name},
          {"state", StateName(trial.stage)},
          {"attempt", trial.attempt},
          {"config", MetricsToJson(trial.config)},
          {"value", trial.has_value ? NumberToJson(trial.value) : nlohmann::json()},
          {"resource", NumberToJson(trial.resource)},
          {"reason", trial.reason},
          {"started", TimeToJson(trial.started_us)},
          {"ended", TimeToJson(trial.ended_us)},
          {"member", trial.member},
          {"generation", trial.generation},
          {"from", trial.has_from ? nlohmann::json(trial.from) : nlohmann::json()},
          {"from_resource", trial.has_from ? NumberToJson(trial.from_resource) : nlohmann::json()},
          {"values", std::move(values)},
          {"breaks", TextOrNull(trial.breaks)}};
}

nlohmann::json ToJson(const msg::SweepT& sweep) {
  nlohmann::json objectives;
  for (const auto& objective : sweep.objectives) {
    objectives.push_back(
        {{"metric", objective->metric}, {"goal", objective->maximize ? "maximize" : "minimize"}});
  }
  return {{"id", sweep.id},
          {"kind", "sweep"},
          {"name", sweep.name},
          {"state", StateName(sweep.state)},
          {"reason", sweep.reason},
          {"created", TimeToJson(sweep.created_us)},
          {"ended", TimeToJson(sweep.ended_us)},
          {"method", sweep.method},
          {"metric", TextOrNull(sweep.metric)},
          {"goal", sweep.maximize ? "maximize" : "minimize"},
          {"parallel", sweep.parallel},
          {"run_cap", sweep.run_cap == 0 ? nlohmann::json() : nlohmann::json(sweep.run_cap)},
          {"seed", sweep.seed},
          {"trials", sweep.trials},
          {"waiting", sweep.waiting},
          {"running", sweep.running},
          {"paused", sweep.paused},
          {"done", sweep.done},
          {"stopped_early", sweep.stopped_early},
          {"stopped", sweep.stopped},
          {"failed", sweep.failed},
          {"best", sweep.best == nullptr ? nlohmann::json() : ToJson(*sweep.best)},
          {"events", sweep.events},
          {"objectives", std::move(objectives)},
          {"front", sweep.objectives.empty() ? nlohmann::json() : nlohmann::json(sweep.front)}};
}

nlohmann::json ToJson(const msg::SweepDetailsReplyT& details) {
  nlohmann::json json =
      details.sweep == nullptr ? nlohmann::json::object() : ToJson(*details.sweep);
  nlohmann::json trials = nlohmann::json::array(), levels = nlohmann::json::array();
  for (const auto& trial : details.trials) trials.push_back(ToJson(*trial));
  for (const auto& level : details.levels) {
    levels.push_back(
        {{"resource", NumberToJson(level->resource)},
         {"arrived", level->arrived},
         {"went_on", level->went_on},
         {"best", level->has_best ? NumberToJson(level->best) : nlohmann::json()},
         {"cutoff", level->has_cutoff ? NumberToJson(level->cutoff) : nlohmann::json()}});
  }
  nlohmann::json importance = nlohmann::json::object();
  for (const auto& one : details.importance) {
    importance[one->parameter] = NumberToJson(one->importance);
  }
  nlohmann::json marginals = nlohmann::json::array();
  for (const auto& marginal : details.marginals) marginals.push_back(MarginalToJson(*marginal));
  json.update({{"trial_list", std::move(trials)},
               {"levels", std::move(levels)},
               {"importance", std::move(importance)},
               {"marginals", std::move(marginals)},
               {"command", details.argv},
               {"plan", MetricsToJson(details.plan)},
               {"source", details.source}});
  return json;
}

}  // namespace bus
