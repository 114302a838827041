// The search of tuning/ beside Optuna 5.0: the median regret (how far the best value so far is from
// the least there is) over 30 seeds after 25, 50, 100 and 200 trials, one at a time and with 8
// pending, and what a suggestion costs. Regrets depend on seeds and versions alone, so Optuna's are
// golden rows: medians of its seeds 0 to 29 (0 to 19 with 8 pending) of the same functions. The
// costs of its suggestions were measured once, in memory, on two busy cores.

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bench/comparison.h"
#include "bench/comparison_app.h"
#include "bench/search_functions.h"
#include "tuning/random_sampler.h"
#include "tuning/sampler.h"
#include "tuning/tpe_sampler.h"

namespace bench {
namespace {

using Kind = Comparison::Limit::Kind;

constexpr std::uint64_t kFirstSeed = 100;  // Not those on which anything was chosen.
constexpr std::uint64_t kSeeds = 30;
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

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The regret after each trial that has ended. `pending` trials run at all times; the first one ends
// first.
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

// Medians over the seeds, by function, pending trials and trials; searched when the first of a
// function is asked for.
class Medians {
 public:
  Medians(std::uint64_t first_seed, std::uint64_t seeds) : first_seed_(first_seed), seeds_(seeds) {}

  double Of(const SearchFunction& function, std::size_t pending, std::size_t after) {
    auto& medians = found_[{function.name, pending}];
    if (medians.empty()) {
      std::map<std::size_t, std::vector<double>> regrets;
      for (std::uint64_t seed = first_seed_; seed < first_seed_ + seeds_; ++seed) {
        const auto sampler = tuning::MakeTpeSampler(&function.space, {.seed = seed});
        const auto run = Regrets(function, *sampler, pending == 1 ? 200 : 100, pending);
        for (const std::size_t k : kAfter) {
          if (k <= run.size()) regrets[k].push_back(run[k - 1]);
        }
      }
      for (auto& [k, values] : regrets) medians[k] = Median(std::move(values));
    }
    return medians[after];
  }

 private:
  const std::uint64_t first_seed_;
  const std::uint64_t seeds_;
  std::map<std::pair<std::string, std::size_t>, std::map<std::size_t, double>> found_;
};

// Milliseconds of processor time for a suggestion when `trials` are done.
double AskMilliseconds(const SearchFunction& function, std::size_t trials) {
  std::vector<tuning::Observation> history;
  for (std::size_t i = 0; i < trials; ++i) {
    auto point = tuning::RandomPoint(function.space, 1, i);
    const double value = function.value(point);
    history.push_back(
        {.point = std::move(point), .state = tuning::TrialState::kDone, .value = value});
  }
  const auto sampler = tuning::MakeTpeSampler(&function.space, {});
  const std::size_t asks = std::max<std::size_t>(5, 20000 / trials);
  const double begin = CpuSeconds();
  for (std::size_t i = 0; i < asks; ++i) static_cast<void>(sampler->Suggest(history, trials + i));
  return (CpuSeconds() - begin) / static_cast<double>(asks) * 1e3;
}

absl::Status AddAll(Comparison& comparison, const std::vector<SearchFunction>* functions,
                    Medians* medians) {
  for (const Golden& golden : OptunaTpe()) {
    const auto function = std::find_if(functions->begin(), functions->end(),
                                       [&](const auto& f) { return f.name == golden.function; });
    for (std::size_t i = 0; i < kAfter.size(); ++i) {
      if (golden.regrets[i] == 0) continue;
      const std::string what =
          absl::StrCat("regret, ", golden.function, ", ", kAfter[i], " trials",
                       golden.pending == 1 ? "" : absl::StrCat(", ", golden.pending, " pending"));
      comparison.Add("ours " + what, [=] {
        return absl::StatusOr<double>(1e3 * medians->Of(*function, golden.pending, kAfter[i]));
      });
      comparison.Add("Optuna " + what,
                     [=] { return absl::StatusOr<double>(1e3 * golden.regrets[i]); });
      comparison.Compare(what, "thousandths", "ours " + what, "Optuna " + what,
                         {Kind::kRatioAtMost, 1.25});
    }
  }
  const struct {
    std::size_t trials;
    double limit_ms, optuna_ms;
  } kAsks[] = {{100, 0.1, 3.76}, {1000, 1, 14.64}, {10000, 10, 104.4}};
  for (const auto& ask : kAsks) {
    const std::string what = absl::StrCat("a suggestion, hartmann6, ", ask.trials, " trials");
    comparison.Add("ours " + what, [=] {
      return absl::StatusOr<double>(AskMilliseconds((*functions)[1], ask.trials));
    });
    comparison.Add("Optuna " + what, [=] { return absl::StatusOr<double>(ask.optuna_ms); });
    comparison.Compare(what, "ms CPU", "ours " + what, "Optuna " + what,
                       {Kind::kValueAtMost, ask.limit_ms});
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::ComparisonApp app("tuning_benchmark",
                           "Search beside Optuna 5.0, whose figures are stored ones.");
  std::uint64_t first_seed = bench::kFirstSeed, seeds = bench::kSeeds;
  app.options().add_option("--first_seed", first_seed, "Of the searches.");
  app.options().add_option("--seeds", seeds,
                           "Searches of each function, of which the median counts.");
  const auto functions = bench::SearchFunctions();
  std::unique_ptr<bench::Medians> medians;
  return app.Run(argc, argv, [&](bench::Comparison& comparison) {
    medians = std::make_unique<bench::Medians>(first_seed, seeds);
    return bench::AddAll(comparison, &functions, medians.get());
  });
}
