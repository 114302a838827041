#include "tuning/analysis/front.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace tuning {

std::vector<std::size_t> Front(std::span<const Pair> results) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!std::isnan(results[i][0]) && !std::isnan(results[i][1])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return results[a] < results[b]; });
  // In order of the first objective, takes each result that improves on the second.
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    if (front.empty() || results[i][1] < results[front.back()][1]) front.push_back(i);
  }
  return front;
}

double Hypervolume(std::span<const Pair> results, const Pair& worst) {
  double area = 0, above = worst[1];
  for (const std::size_t i : Front(results)) {
    const Pair& result = results[i];
    if (!(result[0] < worst[0]) || !(result[1] < above)) continue;
    area += (worst[0] - result[0]) * (above - result[1]);
    above = result[1];
  }
  return area;
}

}  // namespace tuning
