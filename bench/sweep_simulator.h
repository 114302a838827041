#ifndef BENCH_SWEEP_SIMULATOR_H_
#define BENCH_SWEEP_SIMULATOR_H_

#include <cstdint>

#include "tuning/engine/plan.h"

namespace bench {

// A sweep of simulated trainings on eight workers, in simulated time: 81 epochs each, with losses
// that fall by a power of the epoch, some slow ones that end well, noise on each report, and epochs
// of different cost. Configurations are random, and the same for every rule.
struct SimulatedSweep {
  double seconds = 0;        // Until a trial reaches the target, or the limit.
  std::uint64_t epochs = 0;  // Until then; one report for each.
};
inline constexpr double kSimulatedLimit = 2592;

SimulatedSweep SimulateSweep(tuning::Stopping stopping, std::uint64_t seed, double target);
// Returns the final loss that only the best 1 % of this seed's configurations undercut.
double SimulatedTarget(std::uint64_t seed);

}  // namespace bench

#endif  // BENCH_SWEEP_SIMULATOR_H_
