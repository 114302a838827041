#ifndef BENCH_SWEEP_FIGURES_H_
#define BENCH_SWEEP_FIGURES_H_

#include "absl/status/statusor.h"

namespace bench {

// A sweep of 10,000 trials with six events each in the trainer's database, in a temporary
// directory.
struct SweepFigures {
  double event_us_at_10 = 0;  // To apply and store an event with this many trials.
  double event_us_at_10000 = 0;
  double bytes_per_trial = 0;  // Its share of the database.
  double load_seconds = 0;     // To open the database and restore the sweep.
};
absl::StatusOr<SweepFigures> MeasureSweepStorage();

}  // namespace bench

#endif  // BENCH_SWEEP_FIGURES_H_
