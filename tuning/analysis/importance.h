#ifndef TUNING_ANALYSIS_IMPORTANCE_H_
#define TUNING_ANALYSIS_IMPORTANCE_H_

#include <span>
#include <vector>

#include "tuning/space/space.h"

namespace tuning {

struct ScoredPoint {
  Point point;
  double value = 0;  // Smaller is better; finite.
};

// The importances say what has to be right to be among the best: for each parameter of `space`, in
// its order, how differently the best `share` of the results and all of them are spread over its
// values. The numbers sum to 1 (they are 0 if no parameter matters, or there are fewer than two
// results). This is PED-ANOVA (Watanabe et al. 2023), as Optuna's PedAnovaImportanceEvaluator
// computes it. It does not say how much a parameter moves the value: one that has been right in
// nearly all trials is of little importance here.
//
// Results in which a parameter is not active do not count for it.
std::vector<double> Importances(const Space& space, std::span<const ScoredPoint> results,
                                double share = 0.1);

}  // namespace tuning

#endif  // TUNING_ANALYSIS_IMPORTANCE_H_
