#ifndef TUNING_ANALYSIS_MARGINALS_H_
#define TUNING_ANALYSIS_MARGINALS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "tuning/analysis/importance.h"
#include "tuning/space/space.h"

namespace tuning {

// A group of results with neighbouring values of a parameter. Smaller is better.
struct Bin {
  double low = 0, high = 0;  // Smallest and largest value; for a category twice its index.
  std::size_t results = 0;
  double best = 0, median = 0;
};

// The distribution of results over one parameter, regardless of the others.
struct Marginal {
  std::size_t parameter = 0;
  // A number has at most kMostBins bins from its smallest to its largest value, with equal numbers
  // of results as far as equal values stay together. A category has one bin for each value, best
  // first.
  std::vector<Bin> bins = {};
};
inline constexpr std::size_t kMostBins = 5;

// Returns how good the results with each value were. Omits a parameter that has the same value in
// all results, or is active in none.
std::vector<Marginal> Marginals(const Space& space, std::span<const ScoredPoint> results);

}  // namespace tuning

#endif  // TUNING_ANALYSIS_MARGINALS_H_
