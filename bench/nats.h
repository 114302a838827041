#ifndef BENCH_NATS_H_
#define BENCH_NATS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// nats-server on tcp loopback, started for the measurement, spoken to by plain sockets. NotFound
// if it is not installed: says how to do that.

// Messages of `bytes` a second from one publisher, which writes 64 KiB at a time, to one
// subscriber.
absl::StatusOr<double> NatsMessages(std::size_t bytes, absl::Duration time);
// The median time in microseconds of a request of `bytes` and an answer of as many, from one client
// through the server to another and back.
absl::StatusOr<double> NatsRoundTrip(std::size_t bytes, absl::Duration time);

}  // namespace bench

#endif  // BENCH_NATS_H_
