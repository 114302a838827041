#include "tools/yard/sweep/sweep_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "runtime/text/shell_word.h"
#include "tools/yard/text/table.h"
#include "tuning/engine/engine.h"
#include "tuning/engine/engine_event.h"
#include "tuning/engine/plan.h"
#include "tuning/engine/trial_command.h"
#include "tuning/space/config.h"
#include "tuning/space/space.h"
#include "tuning/stop/bands.h"
#include "tuning/stop/hyperband.h"

namespace yard {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShown = 5;             // Configurations that are shown.
constexpr std::size_t kMostCounted = 10'000;  // Limit for counting a space with conditions.
constexpr double kMostCombinations = 1e15;
constexpr std::size_t kMostLevels = 12;

// Returns the number of combinations; nothing if it is infinite or too large to count.
std::optional<std::uint64_t> Combinations(const tuning::Space& space) {
  double product = 1;
  bool has_conditions = false;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const auto count = space[i].Count();
    if (!count) return std::nullopt;
    product *= static_cast<double>(*count);
    has_conditions = has_conditions || space[i].when.has_value();
  }
  if (!has_conditions) {
    return product <= kMostCombinations ? std::optional(static_cast<std::uint64_t>(product))
                                        : std::nullopt;
  }
  const auto all = space.All(kMostCounted);
  return all ? std::optional<std::uint64_t>(all->size()) : std::nullopt;
}

std::string TypeOf(const tuning::Parameter& parameter) {
  switch (parameter.kind) {
    case tuning::Kind::kFloat:
      return "number";
    case tuning::Kind::kInt:
      return "integer";
    case tuning::Kind::kCategory:
      break;
  }
  return "choice";
}

std::string DistributionOf(const tuning::Parameter& parameter) {
  switch (parameter.distribution) {
    case tuning::Distribution::kUniform:
      return "uniform";
    case tuning::Distribution::kLogUniform:
      return "log uniform";
    case tuning::Distribution::kInverseLogUniform:
      return "inverse log uniform";
    case tuning::Distribution::kNormal:
      return "normal";
    case tuning::Distribution::kLogNormal:
      return "log normal";
  }
  return "";
}

std::string ValuesOf(const tuning::Parameter& parameter) {
  if (parameter.kind == tuning::Kind::kCategory) return absl::StrJoin(parameter.values, ", ");
  const bool is_normal = parameter.distribution == tuning::Distribution::kNormal ||
                         parameter.distribution == tuning::Distribution::kLogNormal;
  return absl::StrCat(
      is_normal ? absl::StrCat("mean ", ShortNumber(parameter.mean), ", deviation ",
                               ShortNumber(parameter.deviation))
                : absl::StrCat(ShortNumber(parameter.low), " to ", ShortNumber(parameter.high)),
      parameter.step > 0 ? absl::StrCat(" by ", ShortNumber(parameter.step)) : "",
      parameter.distribution == tuning::Distribution::kUniform ? ""
                                                               : ", " + DistributionOf(parameter));
}

std::string WhenOf(const tuning::Parameter& parameter) {
  if (!parameter.when) return "";
  return absl::StrCat(parameter.when->parameter, " is ",
                      absl::StrJoin(parameter.when->values, " or "));
}

// A resource at which trials are compared, and how many of `trials` are expected to reach it if one
// in eta is kept; nothing for an endless sweep.
struct Level {
  double resource = 0;
  std::optional<double> expected;
};

std::vector<Level> Halved(const std::vector<double>& resources, double eta, std::uint64_t trials) {
  std::vector<Level> levels;
  double expected = static_cast<double>(trials);
  for (const double resource : resources) {
    Level level = {.resource = resource, .expected = std::nullopt};
    if (trials > 0) level.expected = expected;
    levels.push_back(level);
    expected /= eta;
  }
  return levels;
}

std::vector<Level> LevelsOf(const tuning::Plan& plan, std::uint64_t trials) {
  std::vector<double> resources;
  double eta = plan.asha.eta;
  if (plan.stopping == tuning::Stopping::kBands) {
    eta = plan.bands.eta;
    const auto bands = tuning::Bands::Create(plan.bands);
    if (bands.ok()) {
      for (const auto& band : bands->bands()) resources.push_back(static_cast<double>(band.at));
    }
  } else if (plan.stopping == tuning::Stopping::kHyperband) {
    eta = plan.hyperband.eta;
    const auto rule = tuning::Hyperband::Create(plan.hyperband);
    if (rule.ok() && !rule->kinds().empty()) resources = rule->kinds().front().levels;
  } else if (const auto rule = tuning::MakeStoppingRule(plan); rule.ok() && *rule != nullptr) {
    for (const auto& level : (*rule)->Levels()) resources.push_back(level.resource);
  }
  if (resources.size() > kMostLevels) resources.resize(kMostLevels);
  return Halved(resources, eta, trials);
}

std::string StoppingName(const tuning::Plan& plan) {
  switch (plan.stopping) {
    case tuning::Stopping::kNone:
      return "";
    case tuning::Stopping::kAsha:
      return absl::StrCat("asha, one in ", ShortNumber(plan.asha.eta), " goes on");
    case tuning::Stopping::kAshaPromotion:
      return absl::StrCat("asha, one in ", ShortNumber(plan.asha.eta), " is gone on with");
    case tuning::Stopping::kMedian:
      return absl::StrCat("median of at least ", runtime::Counted(plan.median.min_trials, "trial"));
    case tuning::Stopping::kBands:
      return absl::StrCat("hyperband, one in ", ShortNumber(plan.bands.eta), " goes on");
    case tuning::Stopping::kHyperband:
      return absl::StrCat("sync_hyperband, one in ", ShortNumber(plan.hyperband.eta), " goes on");
  }
  return "";
}

// Returns the first kShown suggestions.
absl::StatusOr<std::vector<tuning::Config>> FirstConfigs(const SweepDraft& draft) {
  auto plan = std::make_shared<tuning::Plan>(draft.plan);
  plan->parallel = kShown;
  auto engine = tuning::Engine::Create(plan);
  if (!engine.ok()) return engine.status();
  using Event = tuning::EngineEvent;
  for (const tuning::Config& config : draft.enqueue) {
    Event event;
    event.kind = Event::Kind::kEnqueue;
    event.text = tuning::ConfigText(config);
    engine->Apply(event);
  }
  engine->Apply({});
  while (const auto question = engine->OpenQuestion()) {
    const auto answer = question->Answer();
    Event event;
    event.kind = answer ? Event::Kind::kSuggested : Event::Kind::kExhausted;
    event.trial = question->trial;
    event.number = question->number;
    if (answer) event.text = tuning::ConfigText(*answer);
    if (!engine->Apply(event).changed) break;
  }
  std::vector<tuning::Config> configs;
  for (const auto& trial : engine->trials()) configs.push_back(trial.config);
  return configs;
}

Json ParsedOr(const std::string& text) { return Json::parse(text, nullptr, false); }

Json JsonOf(const tuning::Parameter& parameter) {
  Json json = {{"name", parameter.name}, {"type", TypeOf(parameter)}};
  if (parameter.kind == tuning::Kind::kCategory) {
    json["values"] = Json::array();
    for (const std::string& value : parameter.values) json["values"].push_back(ParsedOr(value));
    if (!parameter.probabilities.empty()) json["probabilities"] = parameter.probabilities;
  } else {
    json["distribution"] = DistributionOf(parameter);
    const bool is_normal = parameter.distribution == tuning::Distribution::kNormal ||
                           parameter.distribution == tuning::Distribution::kLogNormal;
    if (is_normal) {
      json["mu"] = parameter.mean;
      json["sigma"] = parameter.deviation;
    } else {
      json["min"] = parameter.low;
      json["max"] = parameter.high;
    }
    if (parameter.step > 0) json["q"] = parameter.step;
  }
  if (!parameter.when) return json;
  Json values = Json::array();
  for (const std::string& value : parameter.when->values) values.push_back(ParsedOr(value));
  json["when"] = Json{{parameter.when->parameter, values}};
  return json;
}

std::string Line(const std::string& key, const std::string& value) {
  if (value.empty()) return "";
  return absl::StrCat(key, std::string(11 - std::min<std::size_t>(key.size(), 10), ' '),
                      runtime::Printable(value), "\n");
}

std::string Quoted(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(runtime::ShellWord(word));
  return absl::StrJoin(quoted, " ");
}

// Returns "minimize loss, maximize speed".
std::string GoalsOf(const tuning::Plan& plan) {
  const auto goal = [](const tuning::PlanMetric& metric) {
    return absl::StrCat(metric.maximize ? "maximize " : "minimize ", metric.name);
  };
  if (plan.metric.name.empty()) return "";
  return absl::StrCat(goal(plan.metric), plan.second ? ", " + goal(*plan.second) : "");
}

std::vector<std::string> ConstraintsOf(const tuning::Plan& plan) {
  std::vector<std::string> texts;
  for (const auto* const list : {&plan.constraints, &plan.metric_constraints}) {
    for (const tuning::Constraint& one : *list) texts.push_back(one.text());
  }
  return texts;
}

}  // namespace

absl::StatusOr<SweepPreview> PreviewSweep(const SweepDraft& draft, int width) {
  const tuning::Plan& plan = draft.plan;
  const auto all = Combinations(*plan.space);
  const auto configs = FirstConfigs(draft);
  if (!configs.ok()) return configs.status();
  std::vector<std::string> command;
  if (!configs->empty()) {
    const tuning::TrialCommandOptions options = {.python_args = draft.python_args,
                                                 .config_file = "params.json"};
    auto words = tuning::TrialCommand(draft.command, configs->front(), options);
    if (!words.ok()) return words.status();
    command = *std::move(words);
  }
  std::uint64_t trials = plan.max_trials;
  if (all && !plan.duplicates && (trials == 0 || trials > *all)) trials = *all;
  const std::vector<Level> levels = LevelsOf(plan, trials);

  SweepPreview preview;
  const auto source = ParsedOr(draft.plan_json);
  const std::string method = source.value("method", "");
  preview.json = {{"method", method},
                  {"metric", plan.metric.name.empty() ? Json() : Json(plan.metric.name)},
                  {"goal", plan.metric.maximize ? "maximize" : "minimize"},
                  {"objectives", Json()},
                  {"constraints", ConstraintsOf(plan)},
                  {"trials", trials == 0 ? Json() : Json(trials)},
                  {"combinations", all ? Json(*all) : Json()},
                  {"parallel", draft.has_parallel ? Json(plan.parallel) : Json()},
                  {"seed", plan.seed},
                  {"parameters", Json::array()},
                  {"constants", ParsedOr(tuning::ConfigText(plan.constants))},
                  {"early_terminate", StoppingName(plan)},
                  {"levels", Json::array()},
                  {"first_configs", Json::array()},
                  {"first_command", command},
                  {"command", draft.command},
                  {"notices", draft.notices}};
  if (plan.second) {
    for (const tuning::PlanMetric* const one : {&plan.metric, &*plan.second}) {
      preview.json["objectives"].push_back(
          {{"metric", one->name}, {"goal", one->maximize ? "maximize" : "minimize"}});
    }
  }
  std::string& text = preview.text;
  text = absl::StrCat(
      Line("method", absl::StrCat(method, ", seed ", plan.seed)),
      Line("optimiser", Quoted(plan.external.command)), Line("metric", GoalsOf(plan)),
      Line("limits", absl::StrJoin(ConstraintsOf(plan), "; ")),
      Line("trials", absl::StrCat(trials == 0 ? "no limit" : absl::StrCat(trials), ", ",
                                  draft.has_parallel ? absl::StrCat(plan.parallel, " at once")
                                                     : "as many at once as the yard has slots")),
      Line("space", all ? absl::StrCat(runtime::Counted(*all, "combination"))
                        : absl::StrCat(runtime::Counted(plan.space->size(), "parameter"))));
  Table parameters({"PARAMETER", "TYPE", "VALUES", "WHEN"});
  for (std::size_t i = 0; i < plan.space->size(); ++i) {
    const tuning::Parameter& parameter = (*plan.space)[i];
    preview.json["parameters"].push_back(JsonOf(parameter));
    parameters.AddRow({parameter.name, TypeOf(parameter), ValuesOf(parameter), WhenOf(parameter)});
  }
  for (const auto& [name, value] : plan.constants) {
    parameters.AddRow({name, "constant", value, ""});
  }
  absl::StrAppend(&text, "\n", parameters.ToString(width));
  if (plan.stopping != tuning::Stopping::kNone) {
    // With two metrics, a reader would expect both to be judged.
    const std::string judged =
        plan.second ? absl::StrCat(", by ", plan.metric.name, " alone, the first metric") : "";
    absl::StrAppend(&text, "\n", Line("stops early", StoppingName(plan) + judged));
  }
  Table table({">LEVEL", ">TRIALS EXPECTED"});
  for (const Level& level : levels) {
    preview.json["levels"].push_back(
        {{"resource", level.resource},
         {"expected", level.expected ? Json(std::round(*level.expected)) : Json()}});
    table.AddRow({ShortNumber(level.resource),
                  level.expected ? ShortNumber(std::round(*level.expected)) : "-"});
  }
  if (!levels.empty()) absl::StrAppend(&text, table.ToString());
  text += "\nfirst configurations\n";
  for (const tuning::Config& config : *configs) {
    const std::string line = tuning::ConfigText(config);
    preview.json["first_configs"].push_back(ParsedOr(line));
    absl::StrAppend(&text, "  ", runtime::Printable(line), "\n");
  }
  if (!command.empty()) {
    absl::StrAppend(&text, "\nfirst command\n  ", runtime::Printable(Quoted(command)), "\n");
  }
  return preview;
}

}  // namespace yard
