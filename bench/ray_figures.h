#ifndef BENCH_RAY_FIGURES_H_
#define BENCH_RAY_FIGURES_H_

#include "absl/status/statusor.h"

namespace bench {

// The figures of Ray Tune with its default loggers (ray_figures.py): 8 functions that report
// `reports` times each, and `trials` trials of one report, one after the other. NotFound if Ray is
// not installed (tools/peers ray).
struct RayFigures {
  double reports_per_second = 0;
  double one_report_trial_ms = 0;
  double at_rest_megabytes = 0;  // Memory of all Ray processes before the first trial.
};
absl::StatusOr<RayFigures> MeasureRay(int reports, int trials);

}  // namespace bench

#endif  // BENCH_RAY_FIGURES_H_
