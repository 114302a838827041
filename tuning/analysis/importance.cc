// Counts each parameter's values on a grid of at most 50 places and estimates two densities on it,
// of the best results and of all. The importance is the Pearson divergence of the first from the
// second.

#include "tuning/analysis/importance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "tuning/space/space.h"

namespace tuning {
namespace {

constexpr double kMostPlaces = 50;
constexpr double kLeastDensity = 1e-12;  // Avoids a division by 0.

using Counts = std::vector<double>;

bool IsLog(const Parameter& parameter) {
  return parameter.distribution == Distribution::kLogUniform ||
         parameter.distribution == Distribution::kInverseLogUniform;
}

// Returns where a number lies on its grid: from 0 to places - 1, and both bounds are places.
double Place(const Parameter& parameter, double value, double places) {
  const bool bounded = parameter.distribution != Distribution::kNormal &&
                       parameter.distribution != Distribution::kLogNormal;
  double unit = parameter.ToUnit(value);
  if (bounded) {
    const auto scale = [&](double x) { return IsLog(parameter) ? std::log(x) : x; };
    unit = (scale(value) - scale(parameter.low)) / (scale(parameter.high) - scale(parameter.low));
  }
  // Rounds to the nearest place; ties round down.
  return std::clamp(std::ceil(unit * (places - 1) - 0.5), 0.0, places - 1);
}

double Places(const Parameter& parameter) {
  if (parameter.kind == Kind::kCategory) return static_cast<double>(parameter.values.size());
  if (parameter.kind == Kind::kFloat || !parameter.Count()) return kMostPlaces;
  const double range = parameter.high - parameter.low;
  const double wanted = IsLog(parameter) ? std::ceil(std::log2(range + 1)) + 1 : range + 1;
  return std::min(wanted, kMostPlaces);
}

struct Kernel {
  double center, width, weight;
};

// Returns the kernel width by Scott's rule for the counted values, but at least half a place.
double Width(const Counts& counts, double total) {
  double mean = 0, variance = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) mean += static_cast<double>(i) * counts[i];
  mean /= total;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double distance = static_cast<double>(i) - mean;
    variance += counts[i] * distance * distance;
  }
  const double sigma = std::sqrt(variance / std::max(1.0, total - 1));
  std::vector<std::size_t> filled;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) filled.push_back(i);
  }
  const double lower = std::floor(total / 4), upper = std::floor(total * 3 / 4);
  double sum = 0;
  std::size_t first = filled.back(), third = filled.back();
  bool has_first = false, has_third = false;
  for (const std::size_t place : filled) {
    sum += counts[place];
    if (!has_first && sum >= lower) {
      first = place;
      has_first = true;
    }
    if (!has_third && sum > upper) {
      third = place;
      has_third = true;
    }
  }
  const double quartiles = static_cast<double>(third) - static_cast<double>(first);
  return std::max(1.059 * std::min(quartiles / 1.34, sigma) * std::pow(total, -0.2), 0.5 / 1.64);
}

// Returns the probability of each place: one kernel for each count, and one of weight 1 that covers
// all.
Counts NumberDensity(const Counts& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double places = static_cast<double>(counts.size());
  std::vector<Kernel> kernels;
  const double width = Width(counts, total);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) kernels.push_back({static_cast<double>(i), width, counts[i] / (total + 1)});
  }
  kernels.push_back({(places - 1) / 2, places, 1 / (total + 1)});
  Counts density(counts.size(), kLeastDensity);
  for (const Kernel& kernel : kernels) {
    const auto below = [&](double x) { return NormalCdf((x - kernel.center) / kernel.width); };
    const double inside = below(places - 0.5) - below(-0.5);
    for (std::size_t i = 0; i < density.size(); ++i) {
      const double place = static_cast<double>(i);
      density[i] += kernel.weight * (below(place + 0.5) - below(place - 0.5)) / inside;
    }
  }
  return density;
}

Counts CategoryDensity(const Counts& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double values = static_cast<double>(counts.size());
  const auto kinds = static_cast<double>(
      std::count_if(counts.begin(), counts.end(), [](double count) { return count > 0; }) + 1);
  Counts density(counts.size(), kLeastDensity + 1 / values / (total + 1));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::size_t j = 0; j < counts.size(); ++j) {
      density[j] +=
          counts[i] / (total + 1) * ((1 / kinds + (i == j ? 1 : 0)) / (1 + values / kinds));
    }
  }
  return density;
}

// Returns how much the distribution of the results up to `best` differs from that of all results.
double Divergence(const Parameter& parameter, std::size_t index,
                  std::span<const ScoredPoint> results, double best) {
  const double places = Places(parameter);
  Counts of_best(static_cast<std::size_t>(places), 0.0), of_all = of_best;
  for (const ScoredPoint& result : results) {
    const double value = result.point[index];
    if (std::isnan(value)) continue;
    const auto place = static_cast<std::size_t>(
        parameter.kind == Kind::kCategory ? value : Place(parameter, value, places));
    ++of_all[place];
    if (result.value <= best) ++of_best[place];
  }
  const auto is_empty = [](const Counts& counts) {
    return std::all_of(counts.begin(), counts.end(), [](double count) { return count == 0; });
  };
  // (Never active, or in none of the best: there is nothing to compare.)
  if (is_empty(of_all) || is_empty(of_best)) return 0;
  const auto density = parameter.kind == Kind::kCategory ? CategoryDensity : NumberDensity;
  const Counts p = density(of_best), q = density(of_all);
  double divergence = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    divergence += q[i] * (p[i] / q[i] - 1) * (p[i] / q[i] - 1);
  }
  return divergence;
}

}  // namespace

std::vector<double> Importances(const Space& space, std::span<const ScoredPoint> results,
                                double share) {
  std::vector<double> importances(space.size(), 0.0);
  if (results.size() < 2) return importances;
  std::vector<double> values;
  for (const ScoredPoint& result : results) values.push_back(result.value);
  const double wanted = std::ceil(share * static_cast<double>(values.size()));
  const auto last =
      values.begin() +
      static_cast<std::ptrdiff_t>(std::clamp(wanted, 1.0, static_cast<double>(values.size())) - 1);
  std::nth_element(values.begin(), last, values.end());
  double sum = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    importances[i] = Divergence(space[i], i, results, *last);
    sum += importances[i];
  }
  if (sum > 0) {
    for (double& importance : importances) importance /= sum;
  }
  return importances;
}

}  // namespace tuning
