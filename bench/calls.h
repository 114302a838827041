#ifndef BENCH_CALLS_H_
#define BENCH_CALLS_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// All figures here are the median time of one call over ipc in microseconds, one call at a time for
// `time`.

// Measures bus::Client to bus::Service: encoded, verified, dispatched, and handled on the service's
// bus thread or on a thread pool.
absl::StatusOr<double> Call(bool through_the_pool, absl::Duration time);
// Sends the same bytes from a DEALER to a ROUTER socket and back, without encoding or checking.
absl::StatusOr<double> RawRoundTrip(absl::Duration time);

}  // namespace bench

#endif  // BENCH_CALLS_H_
