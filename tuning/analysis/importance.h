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

// Measures which parameters must be right for a result to be among the best: for each parameter of
// `space`, in order, how much the distribution of its values among the best `share` of the results
// differs from that among all. The numbers sum to 1 (all are 0 if no parameter matters, or with
// fewer than two results). This is PED-ANOVA (Watanabe et al. 2023), as in Optuna's
// PedAnovaImportanceEvaluator. It does not measure how much a parameter moves the value: a
// parameter that was right in nearly all trials has little importance here.
//
// For each parameter, results in which it is inactive are ignored.
std::vector<double> Importances(const Space& space, std::span<const ScoredPoint> results,
                                double share = 0.1);

}  // namespace tuning

#endif  // TUNING_ANALYSIS_IMPORTANCE_H_
