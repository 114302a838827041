#include "tuning/sample/tpe_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tuning/sample/latin_hypercube.h"
#include "tuning/sample/parzen_estimator.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

constexpr double kGoodShare = 0.1;
constexpr double kMostGood = 25;
constexpr std::size_t kLongHistory =
    2000;  // From here on half the candidates suffice, because they dominate the time.

// Returns for each trial whether it belongs to the best tenth.
std::vector<bool> Good(std::span<const Observation> history) {
  std::vector<std::size_t> results;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (HasResult(history[i])) results.push_back(i);
  }
  const auto count = static_cast<std::size_t>(
      std::min(std::ceil(kGoodShare * static_cast<double>(results.size())), kMostGood));
  std::stable_sort(results.begin(), results.end(),
                   [&](std::size_t a, std::size_t b) { return IsBetter(history[a], history[b]); });
  std::vector<bool> good(history.size(), false);
  for (std::size_t i = 0; i < count; ++i) good[results[i]] = true;
  return good;
}

class TpeSampler : public Sampler {
 public:
  TpeSampler(const Space* space, TpeOptions options) : space_(space), options_(options) {}

  std::optional<Point> Suggest(std::span<const Observation> history,
                               std::uint64_t number) const override {
    if (std::count_if(history.begin(), history.end(), HasResult) < options_.startup) {
      return LatinHypercubePoint(*space_, options_.seed, number,
                                 static_cast<std::uint64_t>(options_.startup));
    }
    const std::vector<bool> good = Good(history);
    Draws draws(options_.seed, "tpe", number);
    Point best(space_->size(), std::numeric_limits<double>::quiet_NaN());
    for (const auto& group : space_->groups()) {
      if (space_->IsActive(group.front(), best)) Choose(history, good, group, draws, best);
    }
    return best;
  }

 private:
  // Sets the parameters of `group` in `best`.
  void Choose(std::span<const Observation> history, const std::vector<bool>& good,
              const std::vector<std::size_t>& group, Draws& draws, Point& best) const {
    std::vector<const Point*> among_good, among_others;
    for (std::size_t i = 0; i < history.size(); ++i) {
      if (std::isnan(history[i].point[group.front()])) continue;
      (good[i] ? among_good : among_others).push_back(&history[i].point);
    }
    const ParzenEstimator of_good(space_, group, among_good);
    const ParzenEstimator of_others(space_, group, among_others);
    double highest = -std::numeric_limits<double>::infinity();
    Point candidate = best;
    const int candidates =
        history.size() < kLongHistory ? options_.candidates : (options_.candidates + 1) / 2;
    for (int i = 0; i < candidates; ++i) {
      of_good.Sample(draws, candidate);
      const double gain = of_good.LogDensity(candidate) - of_others.LogDensity(candidate);
      if (gain <= highest) continue;
      highest = gain;
      for (const std::size_t parameter : group) best[parameter] = candidate[parameter];
    }
  }

  const Space* const space_;
  const TpeOptions options_;
};

}  // namespace

std::unique_ptr<Sampler> MakeTpeSampler(const Space* space, TpeOptions options) {
  return std::make_unique<TpeSampler>(space, options);
}

}  // namespace tuning
