#ifndef BENCH_CALLS_H_
#define BENCH_CALLS_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// The median time of one call over ipc in microseconds, one call at a time for `time`.

// bus::Client to bus::Service: built, verified, dispatched; handled on the service's bus thread or
// on a thread pool.
absl::StatusOr<double> Call(bool through_the_pool, absl::Duration time);
// The same bytes, DEALER to ROUTER and back, with nothing built or looked at.
absl::StatusOr<double> RawRoundTrip(absl::Duration time);

}  // namespace bench

#endif  // BENCH_CALLS_H_
