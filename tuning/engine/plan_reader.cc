#include "tuning/engine/plan_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/text/nearest_word.h"
#include "tuning/engine/plan.h"
#include "tuning/sample/random_sampler.h"
#include "tuning/space/config.h"
#include "tuning/space/constraint.h"
#include "tuning/space/space.h"
#include "tuning/stop/stopping_rule.h"

// Invariants:
// - A wrong key is recorded with its place and leaves the plan's default, and reading continues, so
//   that one pass finds all problems of a file. Only the parts that need the whole space
//   (constraints, enqueue, schedule) are skipped once there is a problem.
// - Unknown keys are problems and are never ignored; those in `notices` are W&B's own.
// - A plan with problems is never used: ReadPlanResult::plan is valid only without them.

namespace tuning {
namespace {

using Words = std::vector<std::string_view>;

const PlanNode* Find(const PlanNode& map, std::string_view key) {
  for (const auto& [name, node] : map.entries) {
    if (name == key) return &node;
  }
  return nullptr;
}

std::optional<double> NumberOf(const PlanNode& node) {
  if (node.kind != PlanNode::Kind::kNumber) return std::nullopt;
  double value = 0;
  const char* const end = node.json.data() + node.json.size();
  const auto read = std::from_chars(node.json.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool IsWhole(const PlanNode& node) {
  return node.kind == PlanNode::Kind::kNumber &&
         node.json.find_first_of(".eE") == std::string::npos && NumberOf(node);
}

// Removes the quotes; a word of a sweep file contains nothing that JSON would escape.
std::string WordOf(const PlanNode& node) {
  return node.kind == PlanNode::Kind::kText && node.json.size() >= 2
             ? node.json.substr(1, node.json.size() - 2)
             : node.json;
}

// How many configurations are drawn to test whether the constraints allow any.
constexpr std::uint64_t kMostDraws = 10'000;

// Returns the characters of a string, or a number as written.
std::string TextOf(const PlanNode& node) {
  const auto text = nlohmann::json::parse(node.json, nullptr, /*allow_exceptions=*/false);
  return text.is_string() ? text.get<std::string>() : node.json;
}

class Reader {
 public:
  ReadPlanResult Read(const PlanNode& file) {
    if (file.kind != PlanNode::Kind::kMap) {
      Problem(file, "", "a sweep file has keys and values");
      return std::move(result_);
    }
    CheckKeys(file, "", {"method",      "metric",    "metrics",    "run_cap",   "early_terminate",
                         "parameters",  "command",   "program",    "name",      "description",
                         "project",     "entity",    "job",        "image_uri", "controller",
                         "apiVersion",  "kind",      "scheduler",  "seed",      "parallel",
                         "constraints", "enqueue",   "warm_start", "budget",    "failures",
                         "duplicates",  "order",     "trial",      "external",  "population",
                         "python_args", "resources", "schedule"});
    for (const std::string_view key :
         {"project", "entity", "job", "image_uri", "controller", "apiVersion", "kind"}) {
      const PlanNode* const node = Find(file, key);
      if (node != nullptr) {
        result_.notices.push_back({std::string(key),
                                   absl::StrCat(std::string(key), " means nothing here"),
                                   node->line, node->column});
      }
    }
    Refuse(file, "scheduler", "is W&B's; an optimiser of your own is `external`");
    ReadMethod(file);
    ReadMetrics(file);
    Count(file, "", "run_cap", plan_.max_trials);
    Count(file, "", "seed", plan_.seed);
    std::uint64_t parallel = plan_.parallel;
    Count(file, "", "parallel", parallel);
    plan_.parallel = static_cast<std::size_t>(parallel);
    ReadFailures(file);
    ReadBudget(file);
    plan_.duplicates = Choice(file, "", "duplicates", {"never", "allow"}) == "allow";
    plan_.fixed_order = Choice(file, "", "order", {"arrival", "fixed"}) == "fixed";
    ReadPopulation(file);
    ReadExternal(file);
    ReadStopping(file);
    ReadParameters(file);
    if (result_.problems.empty()) ReadConstraints(file);
    if (result_.problems.empty()) CheckPlan(file);
    if (result_.problems.empty()) ReadEnqueue(file);
    if (result_.problems.empty()) ReadSchedule(file);
    ReadWarmStart(file);
    std::stable_sort(result_.problems.begin(), result_.problems.end(),
                     [](const auto& a, const auto& b) {
                       return std::pair(a.line, a.column) < std::pair(b.line, b.column);
                     });
    result_.plan = std::move(plan_);
    return std::move(result_);
  }

 private:
  void Problem(const PlanNode& node, std::string key, std::string what) {
    result_.problems.push_back({std::move(key), std::move(what), node.line, node.column});
  }
  static std::string Path(std::string_view above, std::string_view key) {
    return above.empty() ? std::string(key)
                         : absl::StrCat(std::string(above), ".", std::string(key));
  }

  void CheckKeys(const PlanNode& map, std::string_view path, const Words& known) {
    std::set<std::string_view> seen;
    for (const auto& [name, node] : map.entries) {
      if (!seen.insert(name).second) Problem(node, Path(path, name), "is there twice");
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string nearest(runtime::NearestWord(name, known));
      Problem(node, Path(path, name),
              absl::StrCat("there is no key ", name,
                           nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
    }
  }
  void Refuse(const PlanNode& file, std::string_view key, std::string_view why) {
    const PlanNode* const node = Find(file, key);
    if (node == nullptr) return;
    Problem(*node, std::string(key), absl::StrCat(std::string(key), " ", std::string(why)));
  }

  // Returns the word at `key`, one of `words`; the first of them if the key is missing.
  std::string Choice(const PlanNode& map, std::string_view path, std::string_view key,
                     const Words& words) {
    const PlanNode* const node = Find(map, key);
    if (node == nullptr) return std::string(words.front());
    const std::string word = WordOf(*node);
    if (std::find(words.begin(), words.end(), word) != words.end()) return word;
    const std::string nearest(runtime::NearestWord(word, words));
    std::string all;
    for (const std::string_view one : words) {
      absl::StrAppend(&all, all.empty() ? "" : ", ", std::string(one));
    }
    Problem(*node, Path(path, key),
            absl::StrCat(word, " is none of ", all,
                         nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
    return std::string(words.front());
  }
  void Number(const PlanNode& map, std::string_view path, std::string_view key, double& value) {
    const PlanNode* const node = Find(map, key);
    if (node == nullptr) return;
    const auto number = NumberOf(*node);
    if (!number)
      return Problem(*node, Path(path, key), absl::StrCat(NodeJson(*node), " is no number"));
    value = *number;
  }
  void Count(const PlanNode& map, std::string_view path, std::string_view key,
             std::uint64_t& value) {
    const PlanNode* const node = Find(map, key);
    if (node == nullptr) return;
    double number = 0;
    if (IsWhole(*node)) number = *NumberOf(*node);
    if (!IsWhole(*node) || number < 0 || number > 9e15 || (number == 0 && key != "seed")) {
      return Problem(
          *node, Path(path, key),
          absl::StrCat(NodeJson(*node), " is no whole number", key == "seed" ? "" : " above 0"));
    }
    value = static_cast<std::uint64_t>(number);
  }
  bool Flag(const PlanNode& map, std::string_view path, std::string_view key, bool otherwise) {
    const PlanNode* const node = Find(map, key);
    if (node == nullptr) return otherwise;
    if (node->kind != PlanNode::Kind::kBool) {
      Problem(*node, Path(path, key), absl::StrCat(NodeJson(*node), " is neither true nor false"));
    }
    return node->json == "true";
  }

  void ReadMethod(const PlanNode& file) {
    static const std::map<std::string, Method> kMethods = {
        {"bayes", Method::kBayes},  {"random", Method::kRandom},     {"grid", Method::kGrid},
        {"sobol", Method::kSobol},  {"tpe", Method::kTpe},           {"gp", Method::kGp},
        {"pbt", Method::kPbt},      {"external", Method::kExternal}, {"cmaes", Method::kCmaes},
        {"replay", Method::kReplay}};
    if (Find(file, "method") == nullptr) return Problem(file, "method", "there is no method");
    plan_.method = kMethods.at(Choice(
        file, "", "method",
        {"bayes", "random", "grid", "sobol", "tpe", "gp", "pbt", "external", "cmaes", "replay"}));
  }

  void ReadMetrics(const PlanNode& file) {
    const PlanNode *const metric = Find(file, "metric"), *const metrics = Find(file, "metrics");
    if (metric != nullptr && metrics != nullptr) {
      return Problem(*metric, "metric", "is there, and metrics too: name it there alone");
    }
    if (metrics != nullptr) return ReadTwoMetrics(file, *metrics);
    if (metric != nullptr) return ReadMetric(*metric, "metric", "best", plan_.metric);
    if (plan_.method != Method::kGrid && plan_.method != Method::kRandom &&
        plan_.method != Method::kSobol && plan_.method != Method::kReplay) {
      Problem(file, "metric", "there is no metric, which the method looks at");
    }
  }

  void ReadTwoMetrics(const PlanNode& file, const PlanNode& metrics) {
    const bool is_list = metrics.kind == PlanNode::Kind::kList;
    if (!is_list || metrics.items.size() != 2) {
      return Problem(
          metrics, "metrics",
          is_list && metrics.items.size() > 2
              ? absl::StrCat("are ", metrics.items.size(), ", and two are the most")
              : "is a list of two, like [{name: loss}, {name: latency_ms}]; one alone is "
                "`metric`");
    }
    plan_.second.emplace();
    ReadMetric(metrics.items[0], "metrics", "last", plan_.metric);
    ReadMetric(metrics.items[1], "metrics", "last", *plan_.second);
    for (const PlanNode& item : metrics.items) {
      const PlanNode* const target = Find(item, "target");
      if (target != nullptr) {
        Problem(*target, "metrics.target", "belongs to one metric alone: a front has no target");
      }
    }
    if (!plan_.metric.name.empty() && plan_.metric.name == plan_.second->name) {
      Problem(metrics.items[1], "metrics", absl::StrCat(plan_.metric.name, " is there twice"));
    }
    if (plan_.method == Method::kPbt || plan_.method == Method::kCmaes) {
      Problem(*Find(file, "method"), "method",
              absl::StrCat(plan_.method == Method::kPbt ? "pbt" : "cmaes",
                           " looks for the best of one metric: with metrics take bayes, tpe, gp, "
                           "random, grid, sobol or external"));
    }
  }

  // `counts` says which value of a trial counts if the file does not.
  void ReadMetric(const PlanNode& node, const std::string& path, std::string_view counts,
                  PlanMetric& metric) {
    if (node.kind != PlanNode::Kind::kMap) return Problem(node, path, "has a name and a goal");
    CheckKeys(node, path, {"name", "goal", "target", "impute", "impute_while_running", "at"});
    const PlanNode* const name = Find(node, "name");
    if (name == nullptr) {
      Problem(node, Path(path, "name"), "the metric has no name");
    } else {
      metric.name = TextOf(*name);
    }
    metric.maximize = Choice(node, path, "goal", {"minimize", "maximize"}) == "maximize";
    const std::string_view otherwise = counts == "best" ? "last" : "best";
    metric.last = Choice(node, path, "at", {counts, otherwise}) == "last";
    if (Find(node, "target") != nullptr) {
      double target = 0;
      Number(node, path, "target", target);
      metric.target = target;
    }
    for (const std::string_view key : {"impute", "impute_while_running"}) {
      const PlanNode* const ignored = Find(node, key);
      if (ignored == nullptr) continue;
      result_.notices.push_back(
          {Path(path, key), "failed trials count as the worst, running ones as what is expected",
           ignored->line, ignored->column});
    }
  }

  void ReadFailures(const PlanNode& file) {
    const PlanNode* const failures = Find(file, "failures");
    if (failures == nullptr) return;
    CheckKeys(*failures, "failures", {"retry", "max", "max_in_a_row"});
    Count(*failures, "failures", "max", plan_.max_failures);
    Count(*failures, "failures", "max_in_a_row", plan_.max_failures_in_a_row);
  }

  // (Time limits are left to the caller that runs trials.)
  void ReadBudget(const PlanNode& file) {
    const PlanNode* const budget = Find(file, "budget");
    if (budget != nullptr) Count(*budget, "budget", "epochs", plan_.max_epochs);
  }

  void ReadPopulation(const PlanNode& file) {
    const PlanNode* const population = Find(file, "population");
    if (population == nullptr) return;
    CheckKeys(*population, "population",
              {"members", "interval", "burn_in", "quantile", "resample"});
    std::uint64_t members = plan_.population.members;
    Count(*population, "population", "members", members);
    plan_.population.members = static_cast<std::size_t>(members);
    Number(*population, "population", "interval", plan_.population.interval);
    Number(*population, "population", "burn_in", plan_.population.burn_in);
    Number(*population, "population", "quantile", plan_.population.quantile);
    Number(*population, "population", "resample", plan_.population.resample);
  }

  void ReadExternal(const PlanNode& file) {
    const PlanNode* const external = Find(file, "external");
    const bool is_wanted = plan_.method == Method::kExternal;
    if (external == nullptr) {
      if (is_wanted) {
        Problem(*Find(file, "method"), "method",
                "external suggests nothing by itself: name the program, as in external: {command: "
                "[python3, -m, yard.optimisers.optuna]}");
      }
      return;
    }
    if (!is_wanted) {
      return Problem(*external, "external", "suggests nothing: the method is not external");
    }
    CheckKeys(*external, "external", {"command", "options", "timeout"});
    const PlanNode* const command = Find(*external, "command");
    const bool has_words =
        command != nullptr && command->kind == PlanNode::Kind::kList && !command->items.empty();
    if (!has_words) {
      return Problem(command == nullptr ? *external : *command, "external.command",
                     "is a list of words, as in [python3, -m, yard.optimisers.optuna]");
    }
    for (const PlanNode& word : command->items) plan_.external.command.push_back(TextOf(word));
    if (const PlanNode* const options = Find(*external, "options")) {
      if (options->kind != PlanNode::Kind::kMap) {
        return Problem(*options, "external.options", "has names and values");
      }
      plan_.external.options = NodeJson(*options);
    }
    Number(*external, "external", "timeout", plan_.external.answer_seconds);
    if (!(plan_.external.answer_seconds > 0) || plan_.external.answer_seconds > 86400) {
      Problem(*Find(*external, "timeout"), "external.timeout",
              "is a number of seconds, above 0 and up to 86400");
    }
    if (plan_.fixed_order) {
      Problem(
          *Find(file, "order"), "order",
          "cannot be fixed: what an external optimiser suggests depends on the order of results");
    }
  }

  void ReadStopping(const PlanNode& file) {
    const PlanNode* const stop = Find(file, "early_terminate");
    if (stop == nullptr) return;
    const std::string path = "early_terminate";
    if (Find(*stop, "type") == nullptr) return Problem(*stop, path, "has no type");
    const std::string type =
        Choice(*stop, path, "type", {"none", "hyperband", "asha", "median", "sync_hyperband"});
    const auto count = [&](std::string_view key, std::size_t& value) {
      std::uint64_t number = value;
      Count(*stop, path, key, number);
      value = static_cast<std::size_t>(number);
    };
    if (type == "hyperband") {
      plan_.stopping = Stopping::kBands;
      CheckKeys(*stop, path, {"type", "min_iter", "max_iter", "s", "eta", "strict"});
      Number(*stop, path, "eta", plan_.bands.eta);
      plan_.bands.strict = Flag(*stop, path, "strict", true);
      count("min_iter", plan_.bands.min_iter);
      count("max_iter", plan_.bands.max_iter);
      count("s", plan_.bands.s);
    } else if (type == "asha") {
      CheckKeys(*stop, path, {"type", "min", "max", "eta", "promote", "warmup_trials"});
      plan_.stopping =
          Flag(*stop, path, "promote", false) ? Stopping::kAshaPromotion : Stopping::kAsha;
      Number(*stop, path, "min", plan_.asha.min_resource);
      Number(*stop, path, "max", plan_.asha.max_resource);
      Number(*stop, path, "eta", plan_.asha.eta);
      count("warmup_trials", plan_.asha.warmup_trials);
    } else if (type == "median") {
      plan_.stopping = Stopping::kMedian;
      CheckKeys(*stop, path, {"type", "min_trials", "warmup", "interval"});
      count("min_trials", plan_.median.min_trials);
      Number(*stop, path, "warmup", plan_.median.warmup);
      Number(*stop, path, "interval", plan_.median.interval);
    } else if (type == "sync_hyperband") {
      plan_.stopping = Stopping::kHyperband;
      CheckKeys(*stop, path, {"type", "max", "eta"});
      Number(*stop, path, "max", plan_.hyperband.max_resource);
      Number(*stop, path, "eta", plan_.hyperband.eta);
    }
    const auto rule = MakeStoppingRule(plan_);
    if (!rule.ok()) Problem(*stop, path, std::string(rule.status().message()));
  }

  void ReadParameters(const PlanNode& file) {
    const PlanNode* const parameters = Find(file, "parameters");
    if (parameters == nullptr || parameters->kind != PlanNode::Kind::kMap ||
        parameters->entries.empty()) {
      return Problem(parameters == nullptr ? file : *parameters, "parameters",
                     "there are no parameters");
    }
    ReadGroup(*parameters, "parameters", "");
    const std::size_t before = result_.problems.size();
    if (before > 0) return;
    SortByConditions(*parameters);
    if (!result_.problems.empty()) return;
    auto space = Space::Create(read_);
    if (!space.ok()) {
      return Problem(*parameters, "parameters", std::string(space.status().message()));
    }
    plan_.space = std::make_shared<const Space>(*std::move(space));
  }

  void ReadGroup(const PlanNode& group, const std::string& path, const std::string& prefix) {
    for (const auto& [name, node] : group.entries) {
      const std::string whole = prefix + name;
      if (node.kind != PlanNode::Kind::kMap) {
        Problem(node, Path(path, name), "says neither value, values, nor min and max");
        continue;
      }
      if (const PlanNode* const inner = Find(node, "parameters")) {
        ReadGroup(*inner, Path(Path(path, name), "parameters"), whole + ".");
      } else {
        ReadParameter(node, Path(path, name), whole);
      }
    }
  }

  void ReadParameter(const PlanNode& node, const std::string& path, const std::string& name) {
    CheckKeys(node, path,
              {"value", "values", "probabilities", "min", "max", "q", "mu", "sigma", "a", "b",
               "distribution", "log", "ordered", "when", "parameters"});
    const bool is_second = plan_.second && name == plan_.second->name;
    if (!name.empty() && (name == plan_.metric.name || is_second)) {
      return Problem(node, path, "is the metric, too");
    }
    if (const PlanNode* const value = Find(node, "value")) {
      plan_.constants.emplace_back(name, NodeJson(*value));
      return;
    }
    tuning::Parameter parameter = {.name = name};
    const bool read = Find(node, "values") != nullptr ? ReadValues(node, path, parameter)
                                                      : ReadNumbers(node, path, parameter);
    if (!read) return;
    ReadCondition(node, path, parameter);
    // (Checks parameters one at a time, so that each error has its line.)
    tuning::Parameter alone = parameter;
    alone.when.reset();
    if (const auto checked = Space::Create({alone}); !checked.ok()) {
      return Problem(node, path, std::string(checked.status().message()));
    }
    lines_[name] = {node.line, node.column};
    read_.push_back(std::move(parameter));
  }

  bool ReadValues(const PlanNode& node, const std::string& path, tuning::Parameter& parameter) {
    const PlanNode& values = *Find(node, "values");
    parameter.kind = Kind::kCategory;
    if (values.kind != PlanNode::Kind::kList) {
      Problem(values, Path(path, "values"), "is no list");
      return false;
    }
    for (const PlanNode& item : values.items) parameter.values.push_back(NodeJson(item));
    if (const PlanNode* const probabilities = Find(node, "probabilities")) {
      for (const PlanNode& item : probabilities->items) {
        parameter.probabilities.push_back(NumberOf(item).value_or(-1));
      }
    }
    return true;
  }

  // W&B's names: q_ rounds to steps, inv_ takes the inverse, and without _values the bounds of a
  // logarithm are exponents.
  bool ReadNumbers(const PlanNode& node, const std::string& path, tuning::Parameter& parameter) {
    const PlanNode *const min = Find(node, "min"), *const max = Find(node, "max");
    const bool whole = min != nullptr && max != nullptr && IsWhole(*min) && IsWhole(*max);
    std::string name =
        Choice(node, path, "distribution",
               {whole ? "int_uniform" : "uniform", "uniform", "int_uniform", "q_uniform",
                "log_uniform", "log_uniform_values", "q_log_uniform", "q_log_uniform_values",
                "inv_log_uniform", "inv_log_uniform_values", "normal", "q_normal", "log_normal",
                "q_log_normal", "beta", "q_beta", "constant", "categorical"});
    if (name == "beta" || name == "q_beta" || name == "constant" || name == "categorical") {
      Problem(node, Path(path, "distribution"),
              name.find("beta") != std::string::npos
                  ? absl::StrCat(name, " is not there: take uniform, or normal")
                  : absl::StrCat(name, " needs ", name == "constant" ? "value" : "values"));
      return false;
    }
    const bool steps = name.rfind("q_", 0) == 0;
    if (steps) name = name.substr(2);
    if (Find(node, "q") != nullptr || steps) {
      parameter.step = 1;
      Number(node, path, "q", parameter.step);
    }
    if (name == "normal" || name == "log_normal") {
      parameter.distribution = name == "normal" ? Distribution::kNormal : Distribution::kLogNormal;
      Number(node, path, "mu", parameter.mean);
      Number(node, path, "sigma", parameter.deviation);
      return true;
    }
    if (min == nullptr || max == nullptr) {
      Problem(node, path, "says neither value, values, nor min and max");
      return false;
    }
    Number(node, path, "min", parameter.low);
    Number(node, path, "max", parameter.high);
    const bool exponents = name == "log_uniform" || name == "inv_log_uniform";
    const bool inverse = name.rfind("inv_", 0) == 0;
    if (exponents) {
      const double low = parameter.low, high = parameter.high;
      parameter.low = std::exp(inverse ? -high : low);
      parameter.high = std::exp(inverse ? -low : high);
    }
    if (name.find("log_uniform") != std::string::npos || Flag(node, path, "log", false)) {
      parameter.distribution =
          inverse ? Distribution::kInverseLogUniform : Distribution::kLogUniform;
    }
    const bool whole_steps = parameter.step == std::round(parameter.step);
    if (whole && whole_steps && !exponents &&
        (name == "int_uniform" || steps || Find(node, "log"))) {
      parameter.kind = Kind::kInt;
    } else if (name == "int_uniform") {
      Problem(node, path, "int_uniform has whole bounds and steps");
      return false;
    }
    return true;
  }

  void ReadCondition(const PlanNode& node, const std::string& path, tuning::Parameter& parameter) {
    const PlanNode* const when = Find(node, "when");
    if (when == nullptr) return;
    if (when->kind != PlanNode::Kind::kMap || when->entries.size() != 1) {
      return Problem(*when, Path(path, "when"), "has one parameter and its values");
    }
    const auto& [other, values] = when->entries.front();
    Condition condition = {.parameter = other, .values = {}};
    if (values.kind == PlanNode::Kind::kList) {
      for (const PlanNode& item : values.items) condition.values.push_back(NodeJson(item));
    } else {
      condition.values.push_back(NodeJson(values));
    }
    parameter.when = std::move(condition);
  }

  // Moves each parameter after the one that it depends on.
  void SortByConditions(const PlanNode& parameters) {
    std::vector<tuning::Parameter> sorted;
    std::set<std::string> there;
    while (!read_.empty()) {
      const auto next = std::find_if(read_.begin(), read_.end(), [&](const auto& parameter) {
        return !parameter.when || there.contains(parameter.when->parameter);
      });
      if (next == read_.end()) break;
      there.insert(next->name);
      sorted.push_back(std::move(*next));
      read_.erase(next);
    }
    Words names;
    for (const auto& [name, place] : lines_) names.push_back(name);
    for (const tuning::Parameter& left : read_) {
      const std::string& other = left.when->parameter;
      const std::string nearest(runtime::NearestWord(other, names));
      PlanNode at = parameters;
      std::tie(at.line, at.column) = lines_[left.name];
      Problem(
          at, absl::StrCat("parameters.", left.name, ".when"),
          lines_.contains(other)
              ? absl::StrCat(other, " depends on ", left.name, ", too, or on what does")
              : absl::StrCat("there is no parameter ", other,
                             nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
    }
    read_ = std::move(sorted);
  }

  void ReadConstraints(const PlanNode& file) {
    const PlanNode* const constraints = Find(file, "constraints");
    if (constraints == nullptr) return;
    if (constraints->kind != PlanNode::Kind::kList) {
      return Problem(*constraints, "constraints", "is a list, like [\"layers * width <= 1024\"]");
    }
    for (const PlanNode& item : constraints->items) {
      auto constraint = Constraint::Parse(TextOf(item));
      if (!constraint.ok()) {
        Problem(item, "constraints", std::string(constraint.status().message()));
        continue;
      }
      bool is_of_metrics = false;
      for (const std::string& name : constraint->names()) {
        if (IsMetricOf(item, *constraint, name)) is_of_metrics = true;
      }
      (is_of_metrics ? plan_.metric_constraints : plan_.constraints)
          .push_back(*std::move(constraint));
    }
    if (!result_.problems.empty() || plan_.constraints.empty()) return;
    for (std::uint64_t draw = 0; draw < kMostDraws; ++draw) {
      const Point point = RandomPoint(*plan_.space, plan_.seed, draw);
      if (Allow(plan_.constraints, ConfigOf(*plan_.space, point, plan_.constants))) return;
    }
    Problem(*constraints, "constraints",
            absl::StrCat("allow nothing: none of ", kMostDraws, " configurations meets them"));
  }

  // Returns true if the name is not a parameter. (A name similar to a parameter's is probably
  // misspelled.)
  bool IsMetricOf(const PlanNode& item, const Constraint& constraint, const std::string& name) {
    Words names;
    for (const auto& [parameter, place] : lines_) names.push_back(parameter);
    for (const auto& [parameter, value] : plan_.constants) names.push_back(parameter);
    if (std::find(names.begin(), names.end(), name) != names.end()) return false;
    if (name == plan_.metric.name || (plan_.second && name == plan_.second->name)) return true;
    const std::string quoted = absl::StrCat("`", name, "`");
    const std::string nearest(runtime::NearestWord(name, names));
    if (!nearest.empty() && constraint.text().find(quoted) == std::string::npos) {
      Problem(item, "constraints",
              absl::StrCat("there is no parameter ", name, "; did you mean ", nearest,
                           "? (A metric is written ", quoted, ".)"));
      return true;
    }
    if (std::find(plan_.watched.begin(), plan_.watched.end(), name) == plan_.watched.end()) {
      plan_.watched.push_back(name);
      result_.notices.push_back({"constraints",
                                 absl::StrCat(name,
                                              " is no parameter: it is a metric, whose last "
                                              "value has to meet the constraint"),
                                 item.line, item.column});
    }
    return true;
  }

  void CheckPlan(const PlanNode& file) {
    const auto sampler = MakeSampler(plan_);
    if (sampler.ok()) return;
    const PlanNode* const method = Find(file, "method");
    Problem(method == nullptr ? file : *method, "method", std::string(sampler.status().message()));
  }

  void ReadEnqueue(const PlanNode& file) {
    const PlanNode* const enqueue = Find(file, "enqueue");
    // (A schedule determines all configurations.)
    if (enqueue == nullptr || plan_.method == Method::kReplay) return;
    if (enqueue->kind != PlanNode::Kind::kList) return Problem(*enqueue, "enqueue", "is no list");
    for (const PlanNode& item : enqueue->items) {
      Config config;
      for (const auto& [name, value] : item.entries) {
        config.emplace_back(name, NodeJson(value));
        if (!plan_.space->Find(name)) {
          Problem(item, "enqueue", absl::StrCat("there is no parameter ", name));
        }
      }
      const auto point = PointOf(*plan_.space, config);
      if (!point.ok()) Problem(item, "enqueue", std::string(point.status().message()));
      for (const Constraint& constraint : plan_.constraints) {
        if (!point.ok() || constraint.Holds(ConfigOf(*plan_.space, *point, plan_.constants)))
          continue;
        Problem(item, "enqueue", absl::StrCat("does not meet the constraint ", constraint.text()));
      }
      result_.enqueue.push_back(std::move(config));
    }
  }

  // Constants are taken from the file, whatever the schedule says about them.
  void ReadSchedule(const PlanNode& file) {
    const PlanNode* const schedule = Find(file, "schedule");
    const bool is_wanted = plan_.method == Method::kReplay;
    if (schedule == nullptr || !is_wanted) {
      if (schedule != nullptr)
        Problem(*schedule, "schedule", "is followed by method: replay alone");
      if (is_wanted) Problem(file, "schedule", "there is no schedule, which replay follows");
      return;
    }
    for (const PlanNode& item : schedule->items) {
      const PlanNode* const config = Find(item, "config");
      if (config == nullptr || config->kind != PlanNode::Kind::kMap) {
        return Problem(item, "schedule", "is a list of {from: 0, config: {...}}");
      }
      CheckKeys(item, "schedule", {"from", "config"});
      ScheduleStep step;
      Number(item, "schedule", "from", step.from);
      for (const auto& [name, value] : config->entries) {
        const auto is_it = [&key = name](const auto& constant) { return constant.first == key; };
        const bool is_constant = std::any_of(plan_.constants.begin(), plan_.constants.end(), is_it);
        if (!is_constant && !plan_.space->Find(name)) {
          Problem(item, "schedule", absl::StrCat("there is no parameter ", name));
        }
        if (!is_constant) step.config.emplace_back(name, NodeJson(value));
      }
      step.config.insert(step.config.end(), plan_.constants.begin(), plan_.constants.end());
      plan_.schedule.push_back(std::move(step));
    }
    plan_.parallel = 1;
    if (auto checked = CheckSchedule(plan_); !checked.ok()) {
      Problem(*schedule, "schedule", std::string(checked.message()));
    }
  }

  void ReadWarmStart(const PlanNode& file) {
    const PlanNode* const warm = Find(file, "warm_start");
    if (warm == nullptr) return;
    if (warm->kind != PlanNode::Kind::kMap) {
      return Problem(*warm, "warm_start", "has sweeps, runs, results, or some of them");
    }
    CheckKeys(*warm, "warm_start", {"sweeps", "runs", "results"});
    if (plan_.metric.name.empty()) {
      Problem(*warm, "warm_start", "needs a metric, whose values its results are");
    }
    if (const PlanNode* const sweeps = Find(*warm, "sweeps")) {
      if (sweeps->kind != PlanNode::Kind::kList && sweeps->kind != PlanNode::Kind::kText) {
        Problem(*sweeps, "warm_start.sweeps", "is a list of names");
      }
      for (const PlanNode& item : sweeps->items) result_.warm_sweeps.push_back(TextOf(item));
      if (sweeps->kind == PlanNode::Kind::kText) result_.warm_sweeps.push_back(TextOf(*sweeps));
    }
    if (const PlanNode* const runs = Find(*warm, "runs")) {
      if (runs->kind != PlanNode::Kind::kText) {
        Problem(*runs, "warm_start.runs", "is a query, like 'label:base & state:done'");
      }
      result_.warm_runs = TextOf(*runs);
    }
    const PlanNode* const results = Find(*warm, "results");
    if (results == nullptr) return;
    if (results->kind != PlanNode::Kind::kList) {
      return Problem(*results, "warm_start.results", "is a list of {config: {...}, value: 0.1}");
    }
    for (const PlanNode& item : results->items) ReadResult(item);
  }

  // With one metric a result has `value`; with more, or with metric constraints, it may have
  // `values` by name.
  void ReadResult(const PlanNode& item) {
    const PlanNode *const config = Find(item, "config"), *const value = Find(item, "value"),
                          *const values = Find(item, "values");
    if (config == nullptr || config->kind != PlanNode::Kind::kMap) {
      return Problem(item, "warm_start.results", "has a config and a value, a number");
    }
    CheckKeys(item, "warm_start.results", {"config", "value", "values"});
    KnownResult known;
    const auto find = [&](const std::string& name) {
      const PlanNode* const one = values == nullptr ? nullptr : Find(*values, name);
      return one == nullptr ? std::nullopt : NumberOf(*one);
    };
    const auto first = value == nullptr ? find(plan_.metric.name) : NumberOf(*value);
    if (!first) return Problem(item, "warm_start.results", "has a config and a value, a number");
    known.value = *first;
    for (const std::string& name : OtherMetrics(plan_)) known.others.push_back(find(name));
    if (plan_.second && !known.others.front()) {
      return Problem(item, "warm_start.results",
                     absl::StrCat("has a config and values of both metrics, like {",
                                  plan_.metric.name, ": 0.1, ", plan_.second->name, ": 2}"));
    }
    for (const auto& [name, one] : config->entries) {
      known.config.emplace_back(name, NodeJson(one));
    }
    const bool fits = plan_.space != nullptr && PointOf(*plan_.space, known.config).ok();
    if (fits) result_.known.push_back(std::move(known));
  }

  Plan plan_;
  ReadPlanResult result_;
  std::vector<tuning::Parameter> read_;
  std::map<std::string, std::pair<int, int>> lines_;
};

}  // namespace

std::string NodeJson(const PlanNode& node) {
  std::string json;
  if (node.kind == PlanNode::Kind::kList) {
    for (const PlanNode& item : node.items)
      absl::StrAppend(&json, json.empty() ? "" : ",", NodeJson(item));
    return absl::StrCat("[", json, "]");
  }
  if (node.kind == PlanNode::Kind::kMap) {
    Config config;
    for (const auto& [name, value] : node.entries) config.emplace_back(name, NodeJson(value));
    return ConfigText(config);
  }
  return node.json;
}

ReadPlanResult ReadPlan(const PlanNode& file) { return Reader().Read(file); }

}  // namespace tuning
