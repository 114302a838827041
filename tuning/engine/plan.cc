#include "tuning/engine/plan.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tuning/sample/bayes_sampler.h"
#include "tuning/sample/cmaes_sampler.h"
#include "tuning/sample/front_sampler.h"
#include "tuning/sample/gp_sampler.h"
#include "tuning/sample/grid_sampler.h"
#include "tuning/sample/random_sampler.h"
#include "tuning/sample/sampler.h"
#include "tuning/sample/sobol_sampler.h"
#include "tuning/sample/tpe_sampler.h"
#include "tuning/space/space.h"
#include "tuning/stop/asha.h"
#include "tuning/stop/asha_promotion.h"
#include "tuning/stop/bands.h"
#include "tuning/stop/hyperband.h"
#include "tuning/stop/median_rule.h"
#include "tuning/stop/stopping_rule.h"

namespace tuning {
namespace {

template <typename Rule>
absl::StatusOr<std::unique_ptr<StoppingRule>> RuleOf(absl::StatusOr<Rule> rule) {
  if (!rule.ok()) return rule.status();
  return MakeRule(*std::move(rule));
}

// A sampler that keeps the space it uses alive.
class WithSpace : public Sampler {
 public:
  WithSpace(std::shared_ptr<const Space> space, std::unique_ptr<Sampler> sampler)
      : space_(std::move(space)), sampler_(std::move(sampler)) {}
  std::optional<Point> Suggest(std::span<const Observation> history,
                               std::uint64_t number) const override {
    return sampler_->Suggest(history, number);
  }

 private:
  const std::shared_ptr<const Space> space_;
  const std::unique_ptr<Sampler> sampler_;
};

absl::StatusOr<std::unique_ptr<Sampler>> SamplerOf(const Plan& plan) {
  const Space* const space = plan.space.get();
  const bool is_single = plan.method == Method::kPbt || plan.method == Method::kCmaes;
  if (plan.second && is_single) {
    return absl::InvalidArgumentError(absl::StrCat(
        plan.method == Method::kPbt ? "pbt" : "cmaes",
        " looks for the best of one metric, and there are two: take bayes, tpe or gp"));
  }
  switch (plan.method) {
    case Method::kGrid:
      return MakeGridSampler(space);
    case Method::kSobol:
      return MakeSobolSampler(space, plan.seed);
    case Method::kTpe:
      return MakeFrontSamplerByRank(MakeTpeSampler(space, {.seed = plan.seed}));
    case Method::kGp: {
      auto sampler = MakeGpSampler(space, {.seed = plan.seed});
      if (!sampler.ok()) return sampler.status();
      return MakeFrontSamplerByWeights(*std::move(sampler), plan.seed);
    }
    case Method::kBayes:
      return MakeBayesSampler(space, plan.seed);
    case Method::kRandom:
    case Method::kPbt:
      return MakeRandomSampler(space, plan.seed);
    case Method::kCmaes:
      return MakeCmaesSampler(space, plan.seed);
    case Method::kExternal:
    case Method::kReplay:
      return nullptr;
  }
  return absl::InternalError("there is no such method");
}

}  // namespace

std::vector<std::string> OtherMetrics(const Plan& plan) {
  std::vector<std::string> names;
  if (plan.second) names.push_back(plan.second->name);
  names.insert(names.end(), plan.watched.begin(), plan.watched.end());
  return names;
}

absl::Status CheckSchedule(const Plan& plan) {
  if (plan.schedule.empty() || plan.schedule.front().from != 0) {
    return absl::InvalidArgumentError("a schedule has a configuration from 0 on");
  }
  for (std::size_t i = 1; i < plan.schedule.size(); ++i) {
    if (plan.schedule[i].from > plan.schedule[i - 1].from) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "a schedule goes on at ", absl::StrCat(plan.schedule[i].from), " after ",
        absl::StrCat(plan.schedule[i - 1].from), ": each comes later than the one before"));
  }
  if (plan.stopping == Stopping::kNone) return absl::OkStatus();
  return absl::InvalidArgumentError("a schedule is followed to its end: it goes with no rule");
}

absl::StatusOr<std::unique_ptr<StoppingRule>> MakeStoppingRule(const Plan& plan) {
  switch (plan.stopping) {
    case Stopping::kNone:
      return nullptr;
    case Stopping::kAsha:
      return RuleOf(Asha::Create(plan.asha));
    case Stopping::kAshaPromotion:
      return RuleOf(AshaPromotion::Create(plan.asha));
    case Stopping::kMedian:
      return RuleOf(MedianRule::Create(plan.median));
    case Stopping::kBands:
      return RuleOf(Bands::Create(plan.bands));
    case Stopping::kHyperband:
      return RuleOf(Hyperband::Create(plan.hyperband));
  }
  return absl::InternalError("there is no such rule");
}

absl::StatusOr<std::shared_ptr<const Sampler>> MakeSampler(const Plan& plan) {
  auto sampler = SamplerOf(plan);
  if (!sampler.ok()) return sampler.status();
  if (*sampler == nullptr) return nullptr;
  return std::make_shared<const WithSpace>(plan.space, *std::move(sampler));
}

absl::Status CheckPlan(const Plan& plan) {
  if (plan.space == nullptr) return absl::InvalidArgumentError("the plan has no space");
  if (plan.parallel == 0) {
    return absl::InvalidArgumentError("parallel is 0; at least one trial runs at a time");
  }
  const bool pauses =
      plan.stopping == Stopping::kAshaPromotion || plan.stopping == Stopping::kHyperband;
  if (plan.fixed_order && pauses) {
    return absl::InvalidArgumentError(
        "order is fixed, and which trials go on depends on the order in which they pause");
  }
  if (plan.fixed_order && plan.method == Method::kExternal) {
    return absl::InvalidArgumentError(
        "order is fixed, and what an external optimiser suggests depends on the order of results");
  }
  if (plan.method == Method::kExternal && plan.external.command.empty()) {
    return absl::InvalidArgumentError("the external optimiser has no command");
  }
  if (plan.method == Method::kReplay) return CheckSchedule(plan);
  if (plan.method != Method::kPbt) return absl::OkStatus();
  const Population& population = plan.population;
  if (population.members < 2) {
    return absl::InvalidArgumentError("a population has at least two members");
  }
  if (!(population.interval > 0) || !(population.quantile >= 0 && population.quantile <= 0.5)) {
    return absl::InvalidArgumentError(
        "the interval of a population is above 0, and its quantile from 0 to 0.5");
  }
  if (plan.stopping != Stopping::kNone) {
    return absl::InvalidArgumentError(
        "a population stops its members itself: it goes with no other rule");
  }
  return absl::OkStatus();
}

bool HaveSameRule(const Plan& a, const Plan& b) {
  return a.stopping == b.stopping && a.asha == b.asha && a.median == b.median &&
         a.bands == b.bands && a.hyperband == b.hyperband;
}

}  // namespace tuning
