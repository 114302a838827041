#ifndef BENCH_ROUND_TRIPS_H_
#define BENCH_ROUND_TRIPS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// Repeats `once` for `time`, after a warm-up that is not counted. Returns the median time of one
// call in microseconds.
absl::StatusOr<double> MedianRoundTrip(absl::Duration time,
                                       const std::function<absl::Status()>& once);

}  // namespace bench

#endif  // BENCH_ROUND_TRIPS_H_
