#ifndef BENCH_STREAMS_H_
#define BENCH_STREAMS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// Measure messages per second from one publisher to one subscriber, over ipc. Each call creates
// what it needs (a directory, contexts, threads) and removes it at the end.

// The connection between publisher and subscriber.
enum class Way {
  kHub,       // bus::Hub
  kRawProxy,  // zmq_proxy, XSUB to XPUB
  kDirect,    // No proxy: the subscriber connects to the publisher
};

// Envelopes of about `bytes` (at least 64), each after a topic frame, over plain ZeroMQ sockets.
// With `stalled`, a second subscriber has the same subscription and never reads. Timing begins
// after as many messages as fill its queues, with or without it.
absl::StatusOr<double> Messages(Way way, std::size_t bytes, bool stalled, absl::Duration time);

// Messages with kPoints points, each encoded, published, received, verified and summed.
inline constexpr int kPoints = 128;
// Over plain ZeroMQ sockets.
absl::StatusOr<double> PointMessages(Way way, absl::Duration time);
// Through bus::Publisher, the hub and bus::Subscriber.
absl::StatusOr<double> PointMessagesOfTheBus(absl::Duration time);

}  // namespace bench

#endif  // BENCH_STREAMS_H_
