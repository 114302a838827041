#ifndef BENCH_ROUND_TRIPS_H_
#define BENCH_ROUND_TRIPS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// Does `once` again and again for `time`, after some that are not counted: the median time of one
// in microseconds.
absl::StatusOr<double> MedianRoundTrip(absl::Duration time,
                                       const std::function<absl::Status()>& once);

}  // namespace bench

#endif  // BENCH_ROUND_TRIPS_H_
