#include "tuning/analysis/marginals.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "tuning/space/space.h"

namespace tuning {
namespace {

using Pair = std::pair<double, double>;  // A parameter's value and the result.

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double above = *middle;
  return (*std::max_element(values.begin(), middle) + above) / 2;
}

// `pairs` are sorted by the parameter.
Bin BinOf(std::span<const Pair> pairs) {
  std::vector<double> values;
  for (const Pair& pair : pairs) values.push_back(pair.second);
  return {.low = pairs.front().first,
          .high = pairs.back().first,
          .results = pairs.size(),
          .best = *std::min_element(values.begin(), values.end()),
          .median = Median(values)};
}

// Returns the end of the pairs with the same value as the pair at `begin`.
std::size_t EndOfEqual(std::span<const Pair> pairs, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < pairs.size() && pairs[end].first == pairs[begin].first) ++end;
  return end;
}

std::vector<Bin> BinsOf(std::span<const Pair> pairs, bool is_category) {
  std::size_t kinds = 0;
  for (std::size_t i = 0; i < pairs.size(); i = EndOfEqual(pairs, i)) ++kinds;
  const bool is_each = is_category || kinds <= kMostBins;
  std::vector<Bin> bins;
  for (std::size_t begin = 0; begin < pairs.size();) {
    std::size_t end = EndOfEqual(pairs, begin);
    // (The remaining results are spread over the remaining bins.)
    const std::size_t left = is_each ? 1 : kMostBins - bins.size();
    const std::size_t wanted = is_each ? 1 : (pairs.size() - begin + left - 1) / left;
    while (end < pairs.size() && end - begin < wanted) end = EndOfEqual(pairs, end);
    bins.push_back(BinOf(pairs.subspan(begin, end - begin)));
    begin = end;
  }
  return bins;
}

}  // namespace

std::vector<Marginal> Marginals(const Space& space, std::span<const ScoredPoint> results) {
  std::vector<Marginal> marginals;
  for (std::size_t i = 0; i < space.size(); ++i) {
    std::vector<Pair> pairs;
    for (const ScoredPoint& result : results) {
      if (!std::isnan(result.point[i])) pairs.emplace_back(result.point[i], result.value);
    }
    if (pairs.empty()) continue;
    std::sort(pairs.begin(), pairs.end());
    const bool is_active_in_all = pairs.size() == results.size();
    if (is_active_in_all && pairs.front().first == pairs.back().first) continue;
    const bool is_category = space[i].kind == Kind::kCategory;
    Marginal marginal = {.parameter = i, .bins = BinsOf(pairs, is_category)};
    if (is_category) {
      std::stable_sort(marginal.bins.begin(), marginal.bins.end(),
                       [](const Bin& a, const Bin& b) { return a.best < b.best; });
    }
    marginals.push_back(std::move(marginal));
  }
  return marginals;
}

}  // namespace tuning
