#include "bench/sweep_simulator.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "tuning/engine/engine.h"
#include "tuning/engine/engine_event.h"
#include "tuning/engine/plan.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"
#include "tuning/stop/stopping_rule.h"

namespace bench {
namespace {

using tuning::Draws;

constexpr int kEpochs = 81;
constexpr std::size_t kWorkers = 8;
constexpr std::uint64_t kSample = 1500;  // How many final losses determine the target.

double Normal(Draws& draws) { return tuning::NormalQuantile(draws.Uniform() + 0x1.0p-54); }

struct Training {
  Training(std::uint64_t seed, std::uint64_t number) : noise(seed, "noise", number) {
    Draws optimum(seed, "optimum", 0), draws(seed, "training", number);
    double distance = 0, last = 0;
    for (int i = 0; i < 4; ++i) {
      last = draws.Uniform();
      const double off = last - optimum.Uniform();
      if (i < 3) distance += off * off;
    }
    final_loss = 0.05 + 0.9 * (1 - std::exp(-2.2 * distance)) + 0.006 * last;
    rate = 0.3 + 0.35 * last;
    seconds = std::exp(0.35 * Normal(draws));
  }
  double Clean(int epoch) const { return final_loss + (1 - final_loss) * std::pow(epoch, -rate); }

  double final_loss = 0, rate = 0;
  double seconds = 0;  // Seconds of an epoch.
  int epoch = 0;
  Draws noise;
};

class Simulation {
 public:
  Simulation(tuning::Stopping stopping, std::uint64_t seed, double target)
      : seed_(seed), target_(target), engine_(*tuning::Engine::Create(PlanOf(stopping))) {}

  SimulatedSweep Run() {
    Take({.kind = tuning::EngineEvent::Kind::kBegin});
    while (!queue_.empty() && queue_.top().first < kSimulatedLimit) {
      const auto [now, trial] = queue_.top();
      queue_.pop();
      now_ = now;
      Training& training = trainings_.at(trial);
      ++training.epoch;
      ++epochs_;
      const double clean = training.Clean(training.epoch);
      if (clean <= target_) return {now_, epochs_};
      const auto outcome = Take({.kind = tuning::EngineEvent::Kind::kReported,
                                 .trial = trial,
                                 .resource = static_cast<double>(training.epoch),
                                 .value = clean + 0.01 * Normal(training.noise)});
      if (*outcome == tuning::TrialDecision::kContinue && training.epoch < kEpochs) {
        queue_.push({now_ + training.seconds, trial});
      } else {
        Take({.kind = tuning::EngineEvent::Kind::kEnded,
              .trial = trial,
              .end = *outcome == tuning::TrialDecision::kPause  ? tuning::End::kPaused
                     : *outcome == tuning::TrialDecision::kStop ? tuning::End::kStopped
                                                                : tuning::End::kDone});
      }
    }
    return {kSimulatedLimit, epochs_};
  }

 private:
  // Ordered by the end of the epoch.
  using Entry = std::pair<double, std::uint64_t>;

  static std::shared_ptr<const tuning::Plan> PlanOf(tuning::Stopping stopping) {
    return std::make_shared<const tuning::Plan>(tuning::Plan{
        .space = std::make_shared<const tuning::Space>(*tuning::Space::Create({{.name = "x"}})),
        .metric = {.name = "loss"},
        .parallel = kWorkers,
        .stopping = stopping,
        .asha = {.min_resource = 1, .max_resource = kEpochs, .eta = 3},
        .median = {.warmup = 3},
        .duplicates = true});
  }

  std::optional<tuning::TrialDecision> Take(const tuning::EngineEvent& event) {
    const auto outcome = engine_.Apply(event);
    for (const tuning::Action& action : outcome.actions) {
      if (action.kind == tuning::Action::Kind::kStart) {
        trainings_.emplace(action.trial, Training(seed_, action.trial));
      }
      if (action.kind == tuning::Action::Kind::kStart ||
          action.kind == tuning::Action::Kind::kResume) {
        queue_.push({now_ + trainings_.at(action.trial).seconds, action.trial});
      }
      if (action.kind != tuning::Action::Kind::kAsk) continue;
      // (The configuration is irrelevant: the trial's number determines its training.)
      Take({.kind = tuning::EngineEvent::Kind::kSuggested,
            .trial = action.trial,
            .number = action.number,
            .text = R"({"x":0.5})"});
    }
    return outcome.decided;
  }

  const std::uint64_t seed_;
  const double target_;
  tuning::Engine engine_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::map<std::uint64_t, Training> trainings_;
  double now_ = 0;
  std::uint64_t epochs_ = 0;
};

}  // namespace

double SimulatedTarget(std::uint64_t seed) {
  std::vector<double> losses;
  for (std::uint64_t i = 0; i < kSample; ++i) {
    losses.push_back(Training(seed, 1'000'000 + i).Clean(kEpochs));
  }
  const auto place = losses.begin() + kSample / 100;
  std::nth_element(losses.begin(), place, losses.end());
  return *place;
}

SimulatedSweep SimulateSweep(tuning::Stopping stopping, std::uint64_t seed, double target) {
  return Simulation(stopping, seed, target).Run();
}

}  // namespace bench
