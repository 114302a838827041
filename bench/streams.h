#ifndef BENCH_STREAMS_H_
#define BENCH_STREAMS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// Messages a second from one publisher to one subscriber, over ipc. Each call makes all it needs
// (a directory, contexts, threads) and takes it down again.

// The connection between publisher and subscriber.
enum class Way {
  kHub,       // bus::Hub
  kRawProxy,  // zmq_proxy, XSUB to XPUB
  kDirect,    // nothing: the subscriber is connected to the publisher
};

// Envelopes of about `bytes` (not less than 64), with a topic frame before each, sent and received
// by plain ZeroMQ sockets. With `stalled`, a second subscriber wants the same and never reads.
// Counting begins when its queues are full, and with or without it after as many messages.
absl::StatusOr<double> Messages(Way way, std::size_t bytes, bool stalled, absl::Duration time);

// Messages of kPoints points: each built, encoded, published, received, verified and summed.
inline constexpr int kPoints = 128;
// By plain ZeroMQ sockets.
absl::StatusOr<double> PointMessages(Way way, absl::Duration time);
// By bus::Publisher and bus::Subscriber through the hub.
absl::StatusOr<double> PointMessagesOfTheBus(absl::Duration time);

}  // namespace bench

#endif  // BENCH_STREAMS_H_
