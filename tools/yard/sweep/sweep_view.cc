#include "tools/yard/sweep/sweep_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bus/json/sweep_json.h"
#include "runtime/counted.h"
#include "runtime/text/number_text.h"
#include "runtime/text/printable.h"
#include "tools/yard/state/yard_command.h"
#include "tools/yard/text/table.h"
#include "tuning/space/config.h"

namespace yard {
namespace {

using runtime::Printable;
using Stage = msg::SweepStage;

constexpr std::size_t kNamesShown = 5;

tuning::Config ConfigOf(const std::string& text) {
  return tuning::ParseConfig(text.empty() ? "{}" : text).value_or(tuning::Config());
}

// Returns a JSON string without its quotes, and other JSON unchanged.
std::string Bare(const std::string& json) {
  if (!json.starts_with('"')) return json;
  const auto text = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  return text.is_string() ? text.get<std::string>() : json;
}

std::string Line(std::string_view key, const std::string& value) {
  if (value.empty()) return "";
  return absl::StrFormat("%-10s %s\n", std::string(key), Printable(value));
}

std::string MetricOf(const msg::SweepT& sweep) {
  return sweep.metric.empty() ? "value" : sweep.metric;
}

std::vector<std::string> MetricsOf(const msg::SweepT& sweep) {
  if (sweep.objectives.empty()) return {MetricOf(sweep)};
  std::vector<std::string> names;
  for (const auto& objective : sweep.objectives) names.push_back(objective->metric);
  return names;
}

// Returns the trial's value of a metric, by its index in MetricsOf(); NaN if it has no value.
double ValueOf(const msg::SweepTrialT& trial, std::size_t metric) {
  if (metric < trial.values.size()) return trial.values[metric];
  return metric == 0 && trial.has_value ? trial.value : std::nan("");
}

// Returns "loss 0.0811, latency_ms 12"; empty without values.
std::string ValuesText(const msg::SweepT& sweep, const msg::SweepTrialT& trial) {
  const std::vector<std::string> metrics = MetricsOf(sweep);
  std::vector<std::string> words;
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const bool is_there = metrics.size() == 1 ? trial.has_value : !std::isnan(ValueOf(trial, m));
    if (is_there) words.push_back(absl::StrCat(metrics[m], " ", ShortNumber(ValueOf(trial, m))));
  }
  return absl::StrJoin(words, ", ");
}

bool HasFiniteValue(const msg::SweepTrialT& trial) {
  return trial.has_value && std::isfinite(trial.value);
}

bool IsBetter(const msg::SweepT& sweep, double a, double b) {
  return sweep.maximize ? a > b : a < b;
}

// Returns the trials with a value, best first; NaN and then broken constraints come last. With two
// metrics, returns the Pareto front.
std::vector<const msg::SweepTrialT*> Ranked(const msg::SweepDetailsReplyT& details) {
  if (!details.sweep->objectives.empty()) return FrontOf(details);
  std::vector<const msg::SweepTrialT*> ranked;
  for (const auto& trial : details.trials) {
    if (trial->has_value) ranked.push_back(trial.get());
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&](const auto* a, const auto* b) {
    if (a->breaks.empty() != b->breaks.empty()) return a->breaks.empty();
    if (std::isnan(a->value) || std::isnan(b->value))
      return std::isnan(b->value) > std::isnan(a->value);
    return IsBetter(*details.sweep, a->value, b->value);
  });
  return ranked;
}

// Returns the parameters that differ between the trials, in order.
std::vector<std::string> Varying(const std::vector<const msg::SweepTrialT*>& trials) {
  std::vector<std::string> order;
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> counts;
  for (const auto* trial : trials) {
    for (const auto& [name, value] : ConfigOf(trial->config)) {
      if (values.find(name) == values.end()) order.push_back(name);
      values[name].insert(value);
      ++counts[name];
    }
  }
  std::erase_if(order, [&](const std::string& name) {
    return trials.size() > 1 && values[name].size() == 1 && counts[name] == trials.size();
  });
  return order;
}

std::string ValueIn(const tuning::Config& config, const std::string& name) {
  const auto found = std::find_if(config.begin(), config.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == config.end() ? "" : Bare(found->second);
}

std::string BestTable(const msg::SweepDetailsReplyT& details, const SweepReportOptions& options) {
  const std::vector<const msg::SweepTrialT*> ranked = Ranked(details);
  if (ranked.empty()) return "";
  const std::size_t shown = std::min(ranked.size(), options.best);
  const std::vector<const msg::SweepTrialT*> best(
      ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(shown));
  const std::vector<std::string> names = Varying(ranked);
  const std::vector<std::string> metrics = MetricsOf(*details.sweep);
  std::vector<std::vector<std::string>> values;  // Indexed by metric.
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    std::vector<double> numbers;
    for (const auto* trial : best) numbers.push_back(ValueOf(*trial, m));
    values.push_back(ShortNumbers(numbers));
  }
  const bool has_broken = std::any_of(best.begin(), best.end(),
                                      [](const auto* trial) { return !trial->breaks.empty(); });
  std::vector<std::string> headers = {"TRIAL"};
  for (const std::string& metric : metrics) headers.push_back(">" + metric);
  headers.insert(headers.end(), {">AT", "STATE"});
  if (has_broken) headers.emplace_back("BREAKS");
  headers.insert(headers.end(), names.begin(), names.end());
  Table table(headers);
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string> cells = {best[i]->name};
    for (const auto& of_metric : values) cells.push_back(of_metric[i]);
    cells.push_back(ShortNumber(best[i]->resource));
    cells.emplace_back(bus::StateName(best[i]->stage));
    if (has_broken) cells.push_back(best[i]->breaks);
    const tuning::Config config = ConfigOf(best[i]->config);
    for (const std::string& name : names) cells.push_back(ValueIn(config, name));
    table.AddRow(std::move(cells));
  }
  std::string text = absl::StrCat("\n", table.ToString(options.width));
  if (ranked.size() > shown) {
    absl::StrAppend(&text, "and ", runtime::Counted(ranked.size() - shown, "trial"),
                    " more (yard export ", Printable(details.sweep->name), ")\n");
  }
  return text;
}

std::string LevelTable(const msg::SweepDetailsReplyT& details) {
  if (details.levels.empty()) return "";
  Table table({">LEVEL", ">ARRIVED", ">WENT ON", ">CUT-OFF", ">BEST"});
  for (const auto& level : details.levels) {
    table.AddRow({ShortNumber(level->resource), absl::StrCat(level->arrived),
                  absl::StrCat(level->went_on),
                  level->has_cutoff ? ShortNumber(level->cutoff) : "-",
                  level->has_best ? ShortNumber(level->best) : "-"});
  }
  return absl::StrCat("\n", table.ToString());
}

std::string ImportanceTable(const msg::SweepDetailsReplyT& details) {
  if (details.importance.empty()) return "";
  Table table({"PARAMETER", ">IMPORTANCE"});
  for (const auto& one : details.importance) {
    table.AddRow({one->parameter, absl::StrFormat("%.2f", one->importance)});
  }
  return absl::StrCat("\n", table.ToString(),
                      "(what has to be right to be among the best tenth)\n");
}

std::string MarginalTable(const msg::SweepDetailsReplyT& details) {
  if (details.marginals.empty()) return "";
  Table table({"PARAMETER", "VALUES", ">TRIALS", ">BEST", ">MEDIAN"});
  for (const auto& marginal : details.marginals) {
    for (const auto& bin : marginal->bins) {
      const std::string values =
          !bin->value.empty() ? Bare(bin->value)
          : bin->low == bin->high
              ? ShortNumber(bin->low)
              : absl::StrCat(ShortNumber(bin->low), " to ", ShortNumber(bin->high));
      table.AddRow({bin == marginal->bins.front() ? marginal->parameter : "", values,
                    absl::StrCat(bin->trials), ShortNumber(bin->best), ShortNumber(bin->median)});
    }
  }
  return absl::StrCat("\n", table.ToString());
}

// Returns the total cost in resource units or time, by outcome: "310: 200 done, 80 stopped early,
// 30 failed".
std::string CostLine(const msg::SweepDetailsReplyT& details, bool of_time) {
  std::map<Stage, double> spent;
  double all = 0;
  for (const auto& trial : details.trials) {
    double cost = trial->resource;
    if (of_time) {
      if (trial->started_us == 0 || trial->ended_us == 0) continue;
      cost = static_cast<double>(trial->ended_us - trial->started_us) / 1e6;
    }
    spent[trial->stage] += cost;
    all += cost;
  }
  if (all <= 0) return "";
  const auto shown = [&](double cost) {
    return of_time ? ShortDuration(absl::Seconds(cost)) : ShortNumber(cost);
  };
  std::vector<std::string> parts;
  for (const auto& [stage, cost] : spent) {
    if (cost > 0) parts.push_back(absl::StrCat(shown(cost), " ", bus::StateName(stage)));
  }
  return absl::StrCat(shown(all),
                      of_time ? " of trials: " : " iterations: ", absl::StrJoin(parts, ", "));
}

std::string Failures(const msg::SweepDetailsReplyT& details) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const auto& trial : details.trials) {
    if (trial->stage == Stage::Failed) by_reason[trial->reason].push_back(trial->name);
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> sorted(by_reason.begin(),
                                                                       by_reason.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::string text;
  for (auto& [reason, names] : sorted) {
    const std::size_t count = names.size();
    if (count > kNamesShown) names.resize(kNamesShown);
    absl::StrAppend(
        &text, Line("failed",
                    absl::StrCat(count, " \u00d7 ", reason.empty() ? "no reason" : reason, ": ",
                                 absl::StrJoin(names, ", "), count > kNamesShown ? ", ..." : "")));
  }
  return text.empty() ? "" : absl::StrCat("\n", text);
}

// Returns the number of trials for each broken constraint: "12 trials: latency_ms <= 20".
std::string BrokenConstraints(const msg::SweepDetailsReplyT& details) {
  std::map<std::string, std::size_t> counts;
  for (const auto& trial : details.trials) {
    if (!trial->breaks.empty()) ++counts[trial->breaks];
  }
  std::string text;
  for (const auto& [what, count] : counts) {
    absl::StrAppend(&text,
                    Line("breaks", absl::StrCat(runtime::Counted(count, "trial"), ": ", what)));
  }
  return text.empty() ? "" : absl::StrCat("\n", text);
}

std::string Goal(const msg::SweepT& sweep) {
  std::vector<std::string> goals;
  for (const auto& one : sweep.objectives) {
    goals.push_back(absl::StrCat(one->maximize ? "maximize " : "minimize ", one->metric));
  }
  if (!goals.empty()) return absl::StrJoin(goals, ", ");
  if (sweep.metric.empty()) return "";
  return absl::StrCat(sweep.maximize ? "maximize " : "minimize ", sweep.metric);
}

std::string NextLine(const msg::SweepT& sweep) {
  const bool has_ended = sweep.state >= msg::SweepState::Done;
  std::vector<std::string> commands = {YardCommand("plot", sweep.name),
                                       YardCommand("export", sweep.name)};
  if (!has_ended) commands.push_back(YardCommand("stop", sweep.name));
  if (has_ended && sweep.failed > 0) {
    commands.push_back(YardCommand("resume --failed", sweep.name));
  }
  return absl::StrCat("\nnext       ", absl::StrJoin(commands, "   "), "\n");
}

std::string Number(double number) {
  std::string text;
  runtime::AppendNumber(number, &text);
  return text;
}

std::string CsvCell(const std::string& exact, bool for_terminal) {
  const std::string text = for_terminal ? Printable(exact) : exact;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string SweepCounts(const msg::SweepT& sweep) {
  const std::array<std::pair<std::uint64_t, const char*>, 7> counts = {
      {{sweep.waiting, "waiting"},
       {sweep.running, "running"},
       {sweep.paused, "paused"},
       {sweep.done, "done"},
       {sweep.stopped_early, "stopped early"},
       {sweep.stopped, "stopped"},
       {sweep.failed, "failed"}}};
  std::vector<std::string> parts;
  for (const auto& [count, word] : counts) {
    if (count > 0) parts.push_back(absl::StrCat(count, " ", word));
  }
  const std::string all = sweep.run_cap > 0 ? absl::StrCat(sweep.trials, " of ",
                                                           runtime::Counted(sweep.run_cap, "trial"))
                                            : runtime::Counted(sweep.trials, "trial");
  return absl::StrCat(all, parts.empty() ? "" : ": ", absl::StrJoin(parts, ", "));
}

std::string SweepBest(const msg::SweepT& sweep) {
  if (sweep.best == nullptr || !sweep.best->has_value) return "";
  if (!sweep.objectives.empty()) {
    return absl::StrCat("a front of ", runtime::Counted(sweep.front.size(), "trial"));
  }
  return Printable(
      absl::StrCat(MetricOf(sweep), " ", ShortNumber(sweep.best->value), " of ", sweep.best->name));
}

std::string SweepLine(const msg::SweepT& sweep) {
  const std::string best = SweepBest(sweep);
  return absl::StrCat(
      sweep.id, " ", sweep.name == sweep.id ? "" : absl::StrCat(Printable(sweep.name), " "),
      bus::StateName(sweep.state), ", ", SweepCounts(sweep), best.empty() ? "" : ", best ", best,
      sweep.reason.empty() ? "" : ": ", Printable(sweep.reason));
}

std::string ConfigLine(const std::string& config) {
  std::vector<std::string> words;
  for (const auto& [name, value] : ConfigOf(config)) {
    words.push_back(absl::StrCat(name, "=", Bare(value)));
  }
  return Printable(absl::StrJoin(words, " "));
}

std::string SweepTrialLine(const msg::SweepT& sweep, const msg::SweepTrialT& trial) {
  std::vector<std::string> words = {Printable(trial.name), bus::StateName(trial.stage)};
  if (const std::string values = ValuesText(sweep, trial); !values.empty()) {
    words.push_back(Printable(absl::StrCat(values, " at ", ShortNumber(trial.resource))));
  }
  words.push_back(ConfigLine(trial.config));
  if (!trial.breaks.empty()) words.push_back(Printable(absl::StrCat("breaks ", trial.breaks)));
  if (!trial.reason.empty()) words.push_back(Printable(trial.reason));
  return absl::StrJoin(words, "  ");
}

std::string SweepReport(const msg::SweepDetailsReplyT& details, const SweepReportOptions& options) {
  if (details.sweep == nullptr) return "";
  const msg::SweepT& sweep = *details.sweep;
  std::string text = absl::StrCat(
      Line("sweep", sweep.id), Line("name", sweep.name), Line("state", bus::StateName(sweep.state)),
      Line("why", sweep.reason),
      Line("method", absl::StrCat(sweep.method, ", seed ", sweep.seed, ", ",
                                  runtime::Counted(sweep.parallel, "trial"), " at once")),
      Line("metric", Goal(sweep)), Line("program", absl::StrJoin(details.argv, " ")),
      Line("created", LocalTime(sweep.created_us, options.zone)),
      Line("ended", LocalTime(sweep.ended_us, options.zone)));
  absl::StrAppend(&text, Line("trials", SweepCounts(sweep)),
                  Line("spent", CostLine(details, false)), Line("", CostLine(details, true)),
                  Line("best", SweepBest(sweep)));
  const bool has_one_best = sweep.best != nullptr && sweep.objectives.empty();
  if (has_one_best) absl::StrAppend(&text, Line("", ConfigLine(sweep.best->config)));
  return absl::StrCat(text, BestTable(details, options), LevelTable(details),
                      ImportanceTable(details), MarginalTable(details), BrokenConstraints(details),
                      Failures(details), NextLine(sweep));
}

std::vector<SweepStep> ScheduleOf(const msg::SweepDetailsReplyT& details) {
  std::vector<SweepStep> schedule;
  if (details.sweep == nullptr || details.sweep->best == nullptr) return schedule;
  std::map<std::uint64_t, const msg::SweepTrialT*> by_number;
  for (const auto& trial : details.trials) by_number[trial->number] = trial.get();
  auto found = by_number.find(details.sweep->best->number);
  while (found != by_number.end() && schedule.size() < details.trials.size()) {
    const msg::SweepTrialT* const trial = found->second;
    // Skip a trial that was taken over before it had done anything.
    const bool counts = schedule.empty() || trial->from_resource < schedule.back().from;
    if (counts) schedule.push_back({trial->from_resource, trial});
    found = trial->has_from ? by_number.find(trial->from) : by_number.end();
  }
  std::reverse(schedule.begin(), schedule.end());
  return schedule;
}

std::string SweepSchedule(const msg::SweepDetailsReplyT& details) {
  Table table({">FROM", "TRIAL", "CONFIGURATION"});
  const auto schedule = ScheduleOf(details);
  for (const auto& [from, trial] : schedule) {
    table.AddRow({ShortNumber(from), Printable(trial->name), ConfigLine(trial->config)});
  }
  return schedule.empty() ? "" : table.ToString();
}

nlohmann::json SweepScheduleJson(const msg::SweepDetailsReplyT& details) {
  nlohmann::json steps = nlohmann::json::array();
  for (const auto& [from, trial] : ScheduleOf(details)) {
    steps.push_back({{"from", from},
                     {"number", trial->number},
                     {"name", trial->name},
                     {"config", nlohmann::json::parse(trial->config, nullptr, false)}});
  }
  const bool is_there = details.sweep != nullptr;
  return {{"kind", "schedule"},
          {"id", is_there ? details.sweep->id : ""},
          {"name", is_there ? details.sweep->name : ""},
          {"schedule", std::move(steps)}};
}

std::string SweepSchedulePlan(const msg::SweepDetailsReplyT& details) {
  std::string text;
  for (const auto& [from, trial] : ScheduleOf(details)) {
    absl::StrAppend(&text, text.empty() ? "" : ",", "{\"from\":");
    runtime::AppendJsonNumber(from, &text);
    absl::StrAppend(&text, ",\"config\":", trial->config, "}");
  }
  return absl::StrCat("[", text, "]");
}

std::vector<SweepProgress> ProgressOf(const msg::SweepDetailsReplyT& details) {
  std::vector<SweepProgress> progress;
  if (details.sweep == nullptr) return progress;
  for (const auto& trial : details.trials) {
    const bool has_ended = trial->stage >= Stage::Done;
    const bool counts = has_ended && HasFiniteValue(*trial) && trial->breaks.empty();
    if (counts) progress.push_back({.trial = trial.get()});
  }
  std::stable_sort(progress.begin(), progress.end(), [](const auto& a, const auto& b) {
    return a.trial->ended_us < b.trial->ended_us;
  });
  for (std::size_t i = 0; i < progress.size(); ++i) {
    const double value = progress[i].trial->value;
    const bool improves = i == 0 || IsBetter(*details.sweep, value, progress[i - 1].best);
    progress[i].best = improves ? value : progress[i - 1].best;
  }
  return progress;
}

std::vector<const msg::SweepTrialT*> FrontOf(const msg::SweepDetailsReplyT& details) {
  std::vector<const msg::SweepTrialT*> front;
  if (details.sweep == nullptr) return front;
  std::map<std::uint64_t, const msg::SweepTrialT*> by_number;
  for (const auto& trial : details.trials) by_number[trial->number] = trial.get();
  for (const std::uint64_t number : details.sweep->front) {
    const auto found = by_number.find(number);
    if (found != by_number.end()) front.push_back(found->second);
  }
  return front;
}

std::string SweepCsv(const msg::SweepDetailsReplyT& details, bool for_terminal) {
  const auto& trials = details.trials;
  const bool has_two = details.sweep != nullptr && details.sweep->objectives.size() > 1;
  const bool has_broken = std::any_of(trials.begin(), trials.end(),
                                      [](const auto& trial) { return !trial->breaks.empty(); });
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const auto& trial : trials) {
    for (const auto& [name, value] : ConfigOf(trial->config)) {
      if (known.insert(name).second) names.push_back(name);
    }
  }
  std::string text = "number,trial,name,state,value,resource,attempt,started,ended,reason";
  if (has_two) {
    absl::StrAppend(&text, ",",
                    CsvCell("value/" + details.sweep->objectives[1]->metric, for_terminal));
  }
  if (has_broken) text += ",breaks";
  for (const std::string& name : names)
    absl::StrAppend(&text, ",", CsvCell("config/" + name, for_terminal));
  text += "\r\n";
  for (const auto& trial : trials) {
    std::vector<std::string> cells = {absl::StrCat(trial->number),
                                      trial->trial,
                                      trial->name,
                                      bus::StateName(trial->stage),
                                      trial->has_value ? Number(trial->value) : "",
                                      Number(trial->resource),
                                      absl::StrCat(trial->attempt),
                                      IsoTime(trial->started_us),
                                      IsoTime(trial->ended_us),
                                      trial->reason};
    const double second = has_two ? ValueOf(*trial, 1) : 0;
    if (has_two) cells.push_back(std::isnan(second) ? "" : Number(second));
    if (has_broken) cells.push_back(trial->breaks);
    const tuning::Config config = ConfigOf(trial->config);
    for (const std::string& name : names) cells.push_back(ValueIn(config, name));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ",", CsvCell(cells[i], for_terminal));
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace yard
