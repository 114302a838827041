// Compares the search of tuning/ with Optuna 5.0: the median regret (the distance of the best value
// so far from the minimum) over 30 seeds after 25, 50, 100 and 200 trials, one at a time and with 8
// pending, and the cost of a suggestion. Regrets depend only on seeds and versions, so Optuna's are
// golden rows: medians of its seeds 0 to 29 (0 to 19 with 8 pending) on the same functions. The
// costs of its suggestions were measured once, in memory, on two busy cores.

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/comparison_app.h"
#include "bench/peer_comparison.h"
#include "bench/search_functions.h"
#include "bench/sweep_figures.h"
#include "bench/sweep_simulator.h"
#include "bench/trainer_figures.h"
#include "tuning/analysis/front.h"
#include "tuning/analysis/importance.h"
#include "tuning/engine/plan.h"
#include "tuning/engine/question.h"
#include "tuning/sample/cmaes_sampler.h"
#include "tuning/sample/front_sampler.h"
#include "tuning/sample/gp_sampler.h"
#include "tuning/sample/random_sampler.h"
#include "tuning/sample/sampler.h"
#include "tuning/sample/tpe_sampler.h"
#include "tuning/space/config.h"
#include "tuning/space/constraint.h"
#include "tuning/space/space.h"
#include "tuning/stop/asha.h"
#include "tuning/stop/asha_promotion.h"
#include "tuning/stop/stopping_rule.h"

namespace bench {
namespace {

using Kind = PeerComparison::Limit::Kind;

constexpr std::uint64_t kFirstSeed = 100;  // Not used to choose any setting.
constexpr std::uint64_t kSeeds = 30;
constexpr std::uint64_t kGpSeeds = 30;
constexpr std::array<std::size_t, 4> kAfter = {25, 50, 100, 200};

struct Golden {
  std::string function;
  std::size_t pending;
  std::array<double, 4> regrets;  // After kAfter; 0: none.
};

const std::vector<Golden>& OptunaTpe() {
  static const auto* const kRows = new std::vector<Golden>{
      {"branin", 1, {0.4925, 0.1314, 0.02044, 0.00305}},
      {"hartmann6", 1, {0.9225, 0.3439, 0.129, 0.03127}},
      {"ackley5", 1, {15.6, 10.7, 6.568, 4.05}},
      {"rosenbrock4", 1, {724.9, 191.7, 40.33, 8.365}},
      {"mixed6", 1, {0.02375, 0.00905, 0.006032, 0.005139}},
      {"rastrigin5", 1, {41.96, 33.68, 26.67, 20.72}},
      {"branin", 8, {0.9694, 0.2399, 0.02938, 0}},
      {"hartmann6", 8, {1.896, 0.8136, 0.2689, 0}},
      {"mixed6", 8, {0.02065, 0.01355, 0.006177, 0}},
      {"rosenbrock4", 8, {2132.0, 359.1, 38.07, 0}},
  };
  return *kRows;
}

struct GoldenGp {
  Golden row;
  std::array<double, 4> limits;  // Limits of our results; 0: no limit.
};

const std::vector<GoldenGp>& OptunaGp() {
  static const auto* const kRows = new std::vector<GoldenGp>{
      {{"branin", 1, {0.059, 2.6e-5, 1.2e-5, 0}}, {0, 1e-3, 1e-4, 0}},
      {{"hartmann6", 1, {0.48, 0.0034, 0.00011, 0}}, {0, 0.01, 1e-3, 0}},
      {{"ackley5", 1, {12, 6.8, 5.7, 0}}, {0, 0, 0, 0}},
      {{"rosenbrock4", 1, {410, 250, 14, 0}}, {0, 100, 30, 0}},
      {{"mixed6", 1, {0.0099, 0.0032, 2.4e-5, 0}}, {0, 5e-4, 1e-4, 0}},
  };
  return *kRows;
}

// (For this Optuna needs the package cmaes 0.13; seeds 0 to 19.)
const std::vector<Golden>& OptunaCmaes() {
  static const auto* const kRows =
      new std::vector<Golden>{{"branin", 1, {2.4, 0.75, 0.013, 1e-5}},
                              {"hartmann6", 1, {1.5, 0.73, 0.27, 0.042}},
                              {"ackley5", 1, {15, 12, 7.1, 3}},
                              {"rosenbrock4", 1, {360, 120, 45, 4.8}},
                              {"mixed6", 1, {0.016, 0.012, 0.0046, 0.002}},
                              {"rastrigin5", 1, {38, 31, 23, 16}}};
  return *kRows;
}

// Areas of the fronts of functions with two values, medians of seeds 100 to 114, with Optuna 4.6:
// its TPESampler, which is unchanged for two values in 5.0, and its NSGAIISampler.
struct GoldenFront {
  std::string function;
  std::array<double, 3> by_tpe, by_nsga2;  // After 50, 100 and 200 trials.
};
constexpr std::array<std::size_t, 3> kFrontAfter = {50, 100, 200};

const std::vector<GoldenFront>& OptunaFronts() {
  static const auto* const kRows = new std::vector<GoldenFront>{
      {"fonseca4", {0.007973, 0.1172, 0.2317}, {0.0004629, 0.001568, 0.02879}},
      {"zdt6", {4.698, 5.29, 5.656}, {3.818, 4.265, 4.936}},
      {"branin_currin", {44.25, 52.07, 56.43}, {13.18, 28.42, 36.16}}};
  return *kRows;
}

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Returns the regret after each trial that has ended. `pending` trials run at all times; the oldest
// one ends first.
std::vector<double> Regrets(const SearchFunction& function, const tuning::Sampler& sampler,
                            std::size_t trials, std::size_t pending) {
  std::vector<tuning::Observation> history;
  std::vector<double> regrets;
  double best = INFINITY;
  std::size_t ended = 0;
  const auto end_one = [&] {
    tuning::Observation& trial = history[ended++];
    trial.state = tuning::TrialState::kDone;
    trial.value = function.value(trial.point);
    best = std::min(best, trial.value);
    regrets.push_back(best - function.least);
  };
  while (history.size() < trials) {
    if (history.size() - ended == pending) end_one();
    history.push_back({.point = *sampler.Suggest(history, history.size())});
  }
  while (ended < history.size()) end_one();
  return regrets;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Makes a sampler for the space with the seed.
using MakeSampler =
    std::function<std::unique_ptr<tuning::Sampler>(const tuning::Space* space, std::uint64_t seed)>;

std::unique_ptr<tuning::Sampler> Tpe(const tuning::Space* space, std::uint64_t seed) {
  return tuning::MakeTpeSampler(space, {.seed = seed});
}
std::unique_ptr<tuning::Sampler> Random(const tuning::Space* space, std::uint64_t seed) {
  return tuning::MakeRandomSampler(space, seed);
}
std::unique_ptr<tuning::Sampler> Cmaes(const tuning::Space* space, std::uint64_t seed) {
  return *tuning::MakeCmaesSampler(space, seed);
}
std::unique_ptr<tuning::Sampler> FrontTpe(const tuning::Space* space, std::uint64_t seed) {
  return tuning::MakeFrontSamplerByRank(Tpe(space, seed));
}
std::unique_ptr<tuning::Sampler> Gp(const tuning::Space* space, std::uint64_t seed) {
  return *tuning::MakeGpSampler(space, {.seed = seed});
}

std::unique_ptr<tuning::Sampler> FrontGp(const tuning::Space* space, std::uint64_t seed) {
  return tuning::MakeFrontSamplerByWeights(Gp(space, seed), seed);
}

// Medians over the seeds, by function, pending trials and trials; computed on the first request for
// a function.
class Medians {
 public:
  Medians(MakeSampler make, std::uint64_t first_seed, std::uint64_t seeds)
      : make_(std::move(make)), first_seed_(first_seed), seeds_(seeds) {}

  double Of(const SearchFunction& function, std::size_t pending, std::size_t trials,
            std::size_t after) {
    auto& medians = found_[{function.name, pending}];
    if (medians.empty()) {
      std::map<std::size_t, std::vector<double>> regrets;
      for (std::uint64_t seed = first_seed_; seed < first_seed_ + seeds_; ++seed) {
        const auto run = Regrets(function, *make_(&function.space, seed), trials, pending);
        for (const std::size_t k : kAfter) {
          if (k <= run.size()) regrets[k].push_back(run[k - 1]);
        }
      }
      for (auto& [k, values] : regrets) medians[k] = Median(std::move(values));
    }
    return medians[after];
  }

 private:
  const MakeSampler make_;
  const std::uint64_t first_seed_;
  const std::uint64_t seeds_;
  std::map<std::pair<std::string, std::size_t>, std::map<std::size_t, double>> found_;
};

// Returns the processor time in milliseconds of a suggestion after `trials` are done.
double AskMilliseconds(const SearchFunction& function, const MakeSampler& make, std::size_t trials,
                       std::size_t asks) {
  std::vector<tuning::Observation> history;
  for (std::size_t i = 0; i < trials; ++i) {
    auto point = tuning::RandomPoint(function.space, 1, i);
    const double value = function.value(point);
    history.push_back(
        {.point = std::move(point), .state = tuning::TrialState::kDone, .value = value});
  }
  const auto sampler = make(&function.space, 0);
  const double begin = CpuSeconds();
  for (std::size_t i = 0; i < asks; ++i) static_cast<void>(sampler->Suggest(history, trials + i));
  return (CpuSeconds() - begin) / static_cast<double>(asks) * 1e3;
}

const SearchFunction* Named(const std::vector<SearchFunction>& functions, const std::string& name) {
  return &*std::find_if(functions.begin(), functions.end(),
                        [&](const SearchFunction& function) { return function.name == name; });
}

void AddRegrets(PeerComparison& comparison, const std::vector<SearchFunction>& functions,
                Medians* tpe, Medians* gp, Medians* cmaes) {
  const auto add = [&](const std::string& sampler, const Golden& golden, Medians* medians,
                       std::size_t trials,
                       const std::function<PeerComparison::Limit(std::size_t)>& limit) {
    const SearchFunction* const function = Named(functions, golden.function);
    for (std::size_t i = 0; i < kAfter.size(); ++i) {
      if (golden.regrets[i] == 0) continue;
      const std::string pending =
          golden.pending == 1 ? "" : absl::StrCat(", ", golden.pending, " pending");
      const std::string what =
          absl::StrCat(sampler, " regret, ", golden.function, ", ", kAfter[i], " trials", pending);
      comparison.Add("our " + what, [=, after = kAfter[i], many = golden.pending] {
        return absl::StatusOr<double>(1e3 * medians->Of(*function, many, trials, after));
      });
      comparison.Add("Optuna's " + what,
                     [regret = golden.regrets[i]] { return absl::StatusOr<double>(1e3 * regret); });
      comparison.Compare(what, "thousandths", "our " + what, "Optuna's " + what, limit(i));
    }
  };
  for (const Golden& golden : OptunaTpe()) {
    add("TPE", golden, tpe, golden.pending == 1 ? 200 : 100, [](std::size_t) {
      return PeerComparison::Limit{Kind::kRatioAtMost, 1.25};
    });
  }
  // (CMA-ES is for hundreds of trials; fewer are only some generations.)
  for (const Golden& golden : OptunaCmaes()) {
    add("CMA-ES", golden, cmaes, 200, [&](std::size_t i) {
      return kAfter[i] < 200 ? PeerComparison::Limit{}
                             : PeerComparison::Limit{Kind::kRatioAtMost, 1.25};
    });
  }
  for (const GoldenGp& golden : OptunaGp()) {
    add("GP", golden.row, gp, 100, [&](std::size_t i) {
      if (golden.limits[i] == 0) return PeerComparison::Limit{};
      return PeerComparison::Limit{Kind::kValueAtMost, 1e3 * golden.limits[i]};
    });
  }
}

// Returns the median area of the front over the seeds, after each number of trials in kFrontAfter.
std::array<double, 3> Areas(const FrontFunction& function, const MakeSampler& make,
                            std::uint64_t first_seed, std::uint64_t seeds, std::size_t trials) {
  std::array<std::vector<double>, 3> areas;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const auto sampler = make(&function.space, seed);
    std::vector<tuning::Observation> history;
    std::vector<tuning::Pair> values;
    while (history.size() < trials) {
      tuning::Point point = *sampler->Suggest(history, history.size());
      values.push_back(function.values(point));
      history.push_back({.point = std::move(point),
                         .state = tuning::TrialState::kDone,
                         .value = values.back()[0],
                         .second = values.back()[1]});
      for (std::size_t i = 0; i < kFrontAfter.size(); ++i) {
        if (values.size() == kFrontAfter[i]) {
          areas[i].push_back(tuning::Hypervolume(values, function.worst));
        }
      }
    }
  }
  std::array<double, 3> medians = {};
  for (std::size_t i = 0; i < areas.size(); ++i) {
    if (!areas[i].empty()) medians[i] = Median(areas[i]);
  }
  return medians;
}

void AddFronts(PeerComparison& comparison, const std::vector<FrontFunction>& functions,
               std::uint64_t first_seed, std::uint64_t seeds, std::uint64_t gp_seeds) {
  const struct {
    std::string sampler;
    MakeSampler make;
    std::size_t trials;
    std::uint64_t seeds;
  } kSamplers[] = {{"TPE", FrontTpe, 200, seeds},
                   {"GP", FrontGp, 100, std::min<std::uint64_t>(gp_seeds, 10)}};
  for (const GoldenFront& golden : OptunaFronts()) {
    const FrontFunction* const function =
        &*std::find_if(functions.begin(), functions.end(),
                       [&](const FrontFunction& one) { return one.name == golden.function; });
    for (const auto& one : kSamplers) {
      const auto found = std::make_shared<std::optional<std::array<double, 3>>>();
      for (std::size_t i = 0; i < kFrontAfter.size() && kFrontAfter[i] <= one.trials; ++i) {
        const std::string what =
            absl::StrCat("area of the front, ", golden.function, ", ", kFrontAfter[i], " trials");
        const std::string ours = absl::StrCat("our ", one.sampler, ": ", what);
        comparison.Add(ours, [=, make = one.make, trials = one.trials, count = one.seeds] {
          if (!*found) *found = Areas(*function, make, first_seed, count, trials);
          return absl::StatusOr<double>(1e3 * (**found)[i]);
        });
        for (const auto& [peer, areas] :
             {std::pair("TPE", golden.by_tpe), std::pair("NSGA-II", golden.by_nsga2)}) {
          const std::string its = absl::StrCat("Optuna's ", peer, ": ", what);
          const std::string line = absl::StrCat(one.sampler, " beside ", peer, ", ", what);
          if (&one == &kSamplers[0]) {
            comparison.Add(its, [area = areas[i]] { return absl::StatusOr<double>(1e3 * area); });
          }
          comparison.Compare(line, "thousandths", ours, its, {Kind::kRatioAtLeast, 0.98});
        }
      }
    }
  }
}

void AddAsks(PeerComparison& comparison, const SearchFunction* function) {
  const struct {
    std::string sampler;
    MakeSampler make;
    std::size_t trials, asks;
    double limit_ms, optuna_ms;
  } kAsks[] = {{"TPE", Tpe, 100, 200, 0.1, 3.76},
               {"TPE", Tpe, 1000, 20, 1, 14.64},
               {"TPE", Tpe, 10000, 5, 10, 104.4},
               {"GP", Gp, 100, 4, 10, 137},
               {"GP", Gp, 400, 2, 100, 0}};
  for (const auto& ask : kAsks) {
    const std::string what =
        absl::StrCat(ask.sampler, " suggestion, hartmann6, ", ask.trials, " trials");
    comparison.Add("our " + what, [=, make = ask.make, trials = ask.trials, asks = ask.asks] {
      return absl::StatusOr<double>(AskMilliseconds(*function, make, trials, asks));
    });
    const std::string its = ask.optuna_ms == 0 ? "" : "Optuna's " + what;
    if (!its.empty()) {
      comparison.Add(its, [ms = ask.optuna_ms] { return absl::StatusOr<double>(ms); });
    }
    comparison.Compare(what, "ms CPU", "our " + what, its, {Kind::kValueAtMost, ask.limit_ms});
  }
}

constexpr std::uint64_t kSimulatedSeeds = 40;

// Returns the median time to the target over the seeds, in simulated seconds.
double SimulatedSeconds(tuning::Stopping stopping, std::uint64_t first_seed) {
  std::vector<double> seconds;
  for (std::uint64_t seed = first_seed; seed < first_seed + kSimulatedSeeds; ++seed) {
    seconds.push_back(SimulateSweep(stopping, seed, SimulatedTarget(seed)).seconds);
  }
  return Median(std::move(seconds));
}

// (The peers' own classes were measured on another draw from the same family of curves: Ray's ASHA
// needed 129 s, Syne Tune's 153 s, Optuna's 113 s; no stopping needed 267 s.)
void AddSimulations(PeerComparison& comparison, std::uint64_t first_seed) {
  const struct {
    std::string name;
    tuning::Stopping stopping;
    double limit;
  } kRules[] = {{"ASHA that stops", tuning::Stopping::kAsha, 0.5},
                {"ASHA that promotes", tuning::Stopping::kAshaPromotion, 0.5},
                {"the median rule", tuning::Stopping::kMedian, 0.8}};
  const std::string without = "time to target without early stopping";
  comparison.Add(without, [=] {
    return absl::StatusOr<double>(SimulatedSeconds(tuning::Stopping::kNone, first_seed));
  });
  for (const auto& rule : kRules) {
    const std::string what = "time to target by " + rule.name;
    comparison.Add(what, [=, stopping = rule.stopping] {
      return absl::StatusOr<double>(SimulatedSeconds(stopping, first_seed));
    });
    comparison.Compare(what, "simulated s", what, without, {Kind::kRatioAtMost, rule.limit});
  }
  const std::string speed = "simulated reports a second, ASHA";
  comparison.Add(speed, [=] {
    const double target = SimulatedTarget(first_seed);
    const double begin = CpuSeconds();
    std::uint64_t reports = 0;
    for (int i = 0; i < 200; ++i) {
      reports += SimulateSweep(tuning::Stopping::kAsha, first_seed, target).epochs;
    }
    return absl::StatusOr<double>(static_cast<double>(reports) / (CpuSeconds() - begin) / 1e6);
  });
  comparison.Compare(speed, "millions", speed, "", {Kind::kValueAtLeast, 1});
}

// Returns the microseconds of a report to a level that `before` trials have reached before.
double VerdictMicroseconds(tuning::StoppingRule& rule, std::uint64_t before) {
  constexpr std::uint64_t kReports = 2000;
  double begin = 0;
  for (std::uint64_t trial = 0; trial < before + kReports; ++trial) {
    if (trial == before) begin = CpuSeconds();
    rule.Report(trial, 1, std::fmod(static_cast<double>(trial) * 0.6180339887, 1), {});
  }
  return (CpuSeconds() - begin) / kReports * 1e6;
}

void AddVerdicts(PeerComparison& comparison) {
  const std::string peer = "Ray's verdict of ASHA, 10000 at the level";
  comparison.Add(peer, [] { return absl::StatusOr<double>(680); });
  for (const bool promotes : {false, true}) {
    const std::string what = absl::StrCat("verdict of ASHA that ", promotes ? "promotes" : "stops",
                                          ", 10000 at the level");
    comparison.Add(what, [=] {
      const auto rule = promotes ? tuning::MakeRule(*tuning::AshaPromotion::Create({}))
                                 : tuning::MakeRule(*tuning::Asha::Create({}));
      return absl::StatusOr<double>(VerdictMicroseconds(*rule, 10000));
    });
    comparison.Compare(what, "us CPU", what, peer, {Kind::kValueAtMost, 5});
  }
}

void AddImportance(PeerComparison& comparison) {
  const std::string what = "importance of 20 parameters in 10000 trials";
  comparison.Add(what, [] {
    std::vector<tuning::Parameter> parameters;
    for (int i = 0; i < 20; ++i) parameters.push_back({.name = absl::StrCat("x", i)});
    const tuning::Space space = *tuning::Space::Create(parameters);
    std::vector<tuning::ScoredPoint> results;
    for (std::uint64_t i = 0; i < 10000; ++i) {
      tuning::Point point = tuning::RandomPoint(space, 1, i);
      const double value = point[0] + 0.1 * point[1];
      results.push_back({std::move(point), value});
    }
    const double begin = CpuSeconds();
    static_cast<void>(tuning::Importances(space, results));
    return absl::StatusOr<double>((CpuSeconds() - begin) * 1e3);
  });
  comparison.Compare(what, "ms CPU", what, "", {Kind::kValueAtMost, 100});
}

// A space with a momentum that is active only with sgd.
void AddConditions(PeerComparison& comparison, const SearchFunction* function,
                   std::uint64_t first_seed) {
  const std::string what = ", mixed6 with a condition, 100 trials";
  const struct {
    std::string name;
    MakeSampler make;
  } kSamplers[] = {{"TPE", Tpe}, {"random", Random}};
  for (const auto& one : kSamplers) {
    comparison.Add(one.name + what, [=, make = one.make] {
      return absl::StatusOr<double>(1e3 * Medians(make, first_seed, 30).Of(*function, 1, 100, 100));
    });
  }
  comparison.Compare("TPE beside random" + what, "thousandths", "TPE" + what, "random" + what,
                     {Kind::kRatioAtMost, 0.5});
}

// Measures the longest of 1,000 suggestions under a constraint that 1 % of configurations meet.
void AddConstraint(PeerComparison& comparison) {
  const std::string what = "longest of 1000 suggestions, 1 % of the space allowed";
  comparison.Add(what, [] {
    tuning::Question question;
    question.space = std::make_shared<const tuning::Space>(*tuning::Space::Create(
        {{.name = "x", .low = 0, .high = 1}, {.name = "y", .low = 0, .high = 1}}));
    question.sampler = tuning::MakeTpeSampler(question.space.get(), {.seed = kFirstSeed});
    question.constraints.push_back(*tuning::Constraint::Parse("x < 0.1 and y < 0.1"));
    question.seed = kFirstSeed;
    double longest = 0;
    for (std::uint64_t trial = 0; trial < 1000; ++trial) {
      question.trial = trial;
      const double begin = CpuSeconds();
      const auto config = question.Answer();
      longest = std::max(longest, CpuSeconds() - begin);
      if (!config) return absl::StatusOr<double>(absl::InternalError("nothing is suggested"));
      tuning::Point point = *tuning::PointOf(*question.space, *config);
      const double value = point[0] + point[1];
      question.history.push_back(
          {.point = std::move(point), .state = tuning::TrialState::kDone, .value = value});
    }
    return absl::StatusOr<double>(1e3 * longest);
  });
  comparison.Compare(what, "ms CPU", what, "", {Kind::kValueAtMost, 10});
}

// Sweeps of real programs in a yard of real services; measured once. (Ray Tune needs 1.5 s for a
// trial of one report; Optuna with SQLite needs 54 ms of processor time before any work.)
void AddPace(PeerComparison& comparison, int trials) {
  const auto found = std::make_shared<std::optional<absl::StatusOr<SweepPace>>>();
  using Read = std::function<double(const SweepPace&)>;
  const struct {
    std::string what, unit;
    Read read;
    PeerComparison::Limit limit;
  } kLines[] = {{"slot idle between two trials of a sweep by TPE, median",
                 "ms",
                 [](const SweepPace& pace) { return absl::ToDoubleMilliseconds(pace.idle); },
                 {Kind::kValueAtMost, 10}},
                {"trials of one report, a sweep by TPE on 8 slots",
                 "1/s",
                 [](const SweepPace& pace) { return pace.trials_per_second; },
                 {Kind::kValueAtLeast, 50}},
                {"processor time of a yard that is the sweep's",
                 "%",
                 [](const SweepPace& pace) { return std::max(0.1, 100 * pace.tuner_share); },
                 {Kind::kValueAtMost, 10}}};
  for (const auto& line : kLines) {
    comparison.Add(line.what, [=, read = line.read] {
      if (!*found) *found = MeasureSweepPace(std::max(2, trials / 5), trials);
      if (!(*found)->ok()) return absl::StatusOr<double>((*found)->status());
      return absl::StatusOr<double>(read(***found));
    });
    comparison.Compare(line.what, line.unit, line.what, "", line.limit);
  }
}

// The sweep of 10,000 trials in the trainer's database; measured once.
void AddStorage(PeerComparison& comparison) {
  const auto found = std::make_shared<std::optional<absl::StatusOr<SweepFigures>>>();
  const struct {
    std::string what, unit;
    double SweepFigures::*figure;
    double scale, limit;
  } kLines[] = {
      {"an event of a sweep, 10 trials", "us", &SweepFigures::event_us_at_10, 1, 60},
      {"an event of a sweep, 10000 trials", "us", &SweepFigures::event_us_at_10000, 1, 60},
      {"a trial in the events of a sweep", "bytes", &SweepFigures::bytes_per_trial, 1, 1000},
      {"loading a sweep of 10000 trials", "ms", &SweepFigures::load_seconds, 1e3, 1000}};
  for (const auto& line : kLines) {
    comparison.Add(line.what, [=, figure = line.figure, scale = line.scale] {
      if (!*found) *found = MeasureSweepStorage();
      if (!(*found)->ok()) return absl::StatusOr<double>((*found)->status());
      return absl::StatusOr<double>(scale * (***found).*figure);
    });
    comparison.Compare(line.what, line.unit, line.what, "", {Kind::kValueAtMost, line.limit});
  }
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::ComparisonApp app("tuning_benchmark",
                           "Search beside Optuna 5.0, whose figures are stored ones.");
  std::uint64_t first_seed = bench::kFirstSeed, seeds = bench::kSeeds, gp_seeds = bench::kGpSeeds;
  app.options().add_option("--first_seed", first_seed, "Of the searches.");
  app.options().add_option("--seeds", seeds,
                           "Searches of each function by TPE; the median counts.");
  int trials = 1000;
  app.options().add_option("--trials", trials, "Trials of the sweeps of real programs.");
  app.options().add_option("--gp_seeds", gp_seeds, "The same by a Gaussian process.");
  const auto functions = bench::SearchFunctions();
  const auto fronts = bench::FrontFunctions();
  std::unique_ptr<bench::Medians> tpe, gp, cmaes;
  return app.Run(argc, argv, [&](bench::PeerComparison& comparison) {
    tpe = std::make_unique<bench::Medians>(bench::Tpe, first_seed, seeds);
    gp = std::make_unique<bench::Medians>(bench::Gp, first_seed, gp_seeds);
    cmaes = std::make_unique<bench::Medians>(bench::Cmaes, first_seed, seeds);
    bench::AddRegrets(comparison, functions, tpe.get(), gp.get(), cmaes.get());
    bench::AddFronts(comparison, fronts, first_seed, seeds, gp_seeds);
    bench::AddAsks(comparison, bench::Named(functions, "hartmann6"));
    bench::AddSimulations(comparison, first_seed);
    bench::AddVerdicts(comparison);
    bench::AddImportance(comparison);
    bench::AddConditions(comparison, bench::Named(functions, "mixed6_when"), first_seed);
    bench::AddConstraint(comparison);
    bench::AddPace(comparison, trials);
    bench::AddStorage(comparison);
    return absl::OkStatus();
  });
}
