#ifndef BENCH_NATS_H_
#define BENCH_NATS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// Measures a nats-server on TCP loopback, started for the measurement and used through plain
// sockets. NotFound if it is not installed; the message says how to install it.

// Returns messages of `bytes` per second from one publisher, which writes 64 KiB at a time, to one
// subscriber.
absl::StatusOr<double> NatsMessages(std::size_t bytes, absl::Duration time);
// Returns the median time in microseconds of a request of `bytes` and a reply of the same size,
// from one client through the server to another and back.
absl::StatusOr<double> NatsRoundTrip(std::size_t bytes, absl::Duration time);

}  // namespace bench

#endif  // BENCH_NATS_H_
