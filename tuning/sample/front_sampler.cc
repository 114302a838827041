#include "tuning/sample/front_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tuning/sample/sampler.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// How many results of a front are ordered by the area that they add; samplers look at fewer.
constexpr std::size_t kMostChosen = 32;
// The area extends beyond the worst results of a front by this share of its width.
constexpr double kBeyond = 0.1;
constexpr double kOfSum = 0.05;

using Values = std::array<double, 2>;

bool HasSecond(std::span<const Observation> history) {
  return std::any_of(history.begin(), history.end(),
                     [](const Observation& trial) { return !std::isnan(trial.second); });
}

// Returns the values, with NaN replaced by the worst value.
Values ValuesOf(const Observation& trial) {
  return {std::isnan(trial.value) ? kInfinity : trial.value,
          std::isnan(trial.second) ? kInfinity : trial.second};
}

// Returns for each of `results` how many fronts precede its own.
std::vector<std::size_t> FrontsOf(const std::vector<Values>& results) {
  std::vector<std::size_t> order(results.size()), fronts(results.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return results[a] < results[b]; });
  // The newest result of each front, which has the smallest second value there. These values
  // increase from front to front.
  std::vector<Values> newest;
  for (const std::size_t i : order) {
    auto front =
        std::upper_bound(newest.begin(), newest.end(), results[i][1],
                         [](double second, const Values& last) { return second < last[1]; });
    // (Equal results belong to the same front.)
    if (front != newest.begin() && *std::prev(front) == results[i]) --front;
    fronts[i] = static_cast<std::size_t>(front - newest.begin());
    if (front == newest.end()) {
      newest.push_back(results[i]);
    } else {
      *front = results[i];
    }
  }
  return fronts;
}

// Moves the results that add most to the area to the beginning of `front`, each in addition to
// those before it. (A result that is not finite adds nothing.)
void ChooseByArea(const std::vector<Values>& results, std::vector<std::size_t>& front) {
  Values least = {kInfinity, kInfinity}, worst = {-kInfinity, -kInfinity};
  for (const std::size_t i : front) {
    for (std::size_t k = 0; k < 2; ++k) {
      if (!std::isfinite(results[i][k])) continue;
      least[k] = std::min(least[k], results[i][k]);
      worst[k] = std::max(worst[k], results[i][k]);
    }
  }
  for (std::size_t k = 0; k < 2; ++k) {
    worst[k] += kBeyond * (worst[k] > least[k] ? worst[k] - least[k] : 1);
  }
  std::map<double, double> chosen = {{-kInfinity, worst[1]}, {worst[0], -kInfinity}};
  const auto area = [&](std::size_t i) {
    const auto& [first, second] = results[i];
    if (!std::isfinite(first) || !std::isfinite(second)) return 0.0;
    if (first >= worst[0] || second >= worst[1]) return 0.0;
    const auto next = chosen.lower_bound(first);
    const double above = std::prev(next)->second;
    return (next->first - first) * std::max(above - second, 0.0);
  };
  for (std::size_t begin = 0; begin < std::min(front.size(), kMostChosen); ++begin) {
    const auto here = front.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto most = std::max_element(
        here, front.end(), [&](std::size_t a, std::size_t b) { return area(a) < area(b); });
    std::rotate(here, most, std::next(most));
    chosen.emplace(results[*here][0], results[*here][1]);
  }
}

// Returns the indices of the trials in `history` that have results.
std::vector<std::size_t> ResultsIn(std::span<const Observation> history) {
  std::vector<std::size_t> results;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (HasResult(history[i])) results.push_back(i);
  }
  return results;
}

std::vector<Observation> ByRank(std::span<const Observation> history) {
  const std::vector<std::size_t> indices = ResultsIn(history);
  std::vector<Values> results;
  for (const std::size_t i : indices) results.push_back(ValuesOf(history[i]));
  const std::vector<std::size_t> front_of = FrontsOf(results);
  std::vector<std::vector<std::size_t>> fronts;
  for (std::size_t i = 0; i < front_of.size(); ++i) {
    fronts.resize(std::max(fronts.size(), front_of[i] + 1));
    fronts[front_of[i]].push_back(i);
  }
  std::vector<Observation> ranked(history.begin(), history.end());
  std::size_t place = 0;
  for (std::vector<std::size_t>& front : fronts) {
    if (place < kMostChosen) ChooseByArea(results, front);
    for (const std::size_t i : front) ranked[indices[i]].value = static_cast<double>(place++);
  }
  return ranked;
}

// The smallest value of each objective, and its range over the front.
struct Scale {
  Values least, width;

  // Limits an infinitely good value to one width better than the smallest.
  double Place(std::size_t k, double value) const {
    return std::max((value - least[k]) / width[k], -1.0);
  }
};
Scale ScaleOf(std::span<const Observation> history) {
  std::vector<Values> results;
  for (const std::size_t i : ResultsIn(history)) {
    const Values values = ValuesOf(history[i]);
    if (std::isfinite(values[0]) && std::isfinite(values[1])) results.push_back(values);
  }
  if (results.empty()) return {{0, 0}, {1, 1}};
  const std::vector<std::size_t> front_of = FrontsOf(results);
  Scale scale = {{kInfinity, kInfinity}, {1, 1}};
  Values of_front = {-kInfinity, -kInfinity}, of_all = of_front;
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (std::size_t k = 0; k < 2; ++k) {
      scale.least[k] = std::min(scale.least[k], results[i][k]);
      of_all[k] = std::max(of_all[k], results[i][k]);
      if (front_of[i] == 0) of_front[k] = std::max(of_front[k], results[i][k]);
    }
  }
  for (std::size_t k = 0; k < 2; ++k) {
    const double worst = of_front[k] > scale.least[k] ? of_front[k] : of_all[k];
    if (worst > scale.least[k]) scale.width[k] = worst - scale.least[k];
  }
  return scale;
}

std::vector<Observation> ByWeights(std::span<const Observation> history, double weight) {
  const Scale scale = ScaleOf(history);
  std::vector<Observation> weighed(history.begin(), history.end());
  for (Observation& trial : weighed) {
    if (!HasResult(trial)) continue;
    const Values values = ValuesOf(trial);
    const double first = weight * scale.Place(0, values[0]);
    const double second = (1 - weight) * scale.Place(1, values[1]);
    trial.value = std::max(first, second) + kOfSum * (first + second);
  }
  return weighed;
}

class FrontSampler : public Sampler {
 public:
  FrontSampler(std::unique_ptr<Sampler> sampler, std::optional<std::uint64_t> seed)
      : sampler_(std::move(sampler)), seed_(seed) {}
  std::optional<Point> Suggest(std::span<const Observation> history,
                               std::uint64_t number) const override {
    if (!HasSecond(history)) return sampler_->Suggest(history, number);
    if (!seed_) return sampler_->Suggest(ByRank(history), number);
    const double weight = Draws(*seed_, "weights", number).Uniform();
    return sampler_->Suggest(ByWeights(history, weight), number);
  }

 private:
  const std::unique_ptr<Sampler> sampler_;
  const std::optional<std::uint64_t> seed_;  // Seed of the weights; unset: by rank.
};

}  // namespace

std::unique_ptr<Sampler> MakeFrontSamplerByRank(std::unique_ptr<Sampler> sampler) {
  return std::make_unique<FrontSampler>(std::move(sampler), std::nullopt);
}

std::unique_ptr<Sampler> MakeFrontSamplerByWeights(std::unique_ptr<Sampler> sampler,
                                                   std::uint64_t seed) {
  return std::make_unique<FrontSampler>(std::move(sampler), seed);
}

}  // namespace tuning
