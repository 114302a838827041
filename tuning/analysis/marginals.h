#ifndef TUNING_ANALYSIS_MARGINALS_H_
#define TUNING_ANALYSIS_MARGINALS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "tuning/analysis/importance.h"
#include "tuning/space/space.h"

namespace tuning {

// Results whose values of a parameter lie together. Smaller is better.
struct Bin {
  double low = 0, high = 0;  // The least and the greatest value; of a category its index, twice.
  std::size_t results = 0;
  double best = 0, median = 0;
};

// The values of one parameter, whatever the others were.
struct Marginal {
  std::size_t parameter = 0;
  // A number has at most kMostBins, from the least to the greatest value, with equally many results
  // as far as equal values stay together; a category has one a value, the best first.
  std::vector<Bin> bins = {};
};
inline constexpr std::size_t kMostBins = 5;

// The marginals say how good the results with each value were. A parameter that has one value in
// all results, or is active in none, is left out.
std::vector<Marginal> Marginals(const Space& space, std::span<const ScoredPoint> results);

}  // namespace tuning

#endif  // TUNING_ANALYSIS_MARGINALS_H_
