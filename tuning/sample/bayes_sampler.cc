#include "tuning/sample/bayes_sampler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "tuning/sample/front_sampler.h"
#include "tuning/sample/gp_sampler.h"
#include "tuning/sample/sampler.h"
#include "tuning/sample/tpe_sampler.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

class BayesSampler : public Sampler {
 public:
  BayesSampler(std::unique_ptr<Sampler> gp, std::unique_ptr<Sampler> tpe)
      : gp_(std::move(gp)), tpe_(std::move(tpe)) {}
  std::optional<Point> Suggest(std::span<const Observation> history,
                               std::uint64_t number) const override {
    const auto results =
        std::count_if(history.begin(), history.end(),
                      [](const Observation& trial) { return trial.state != TrialState::kRunning; });
    return static_cast<std::size_t>(results) <= kMostGpResults ? gp_->Suggest(history, number)
                                                               : tpe_->Suggest(history, number);
  }

 private:
  const std::unique_ptr<Sampler> gp_, tpe_;
};

}  // namespace

std::unique_ptr<Sampler> MakeBayesSampler(const Space* space, std::uint64_t seed) {
  auto tpe = MakeFrontSamplerByRank(MakeTpeSampler(space, {.seed = seed}));
  auto gp = MakeGpSampler(space, {.seed = seed});
  // (It is refused if a parameter has a condition.)
  if (!gp.ok() || space->size() > kMostGpParameters) return tpe;
  return std::make_unique<BayesSampler>(MakeFrontSamplerByWeights(*std::move(gp), seed),
                                        std::move(tpe));
}

}  // namespace tuning
