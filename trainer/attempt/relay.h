#ifndef TRAINER_ATTEMPT_RELAY_H_
#define TRAINER_ATTEMPT_RELAY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/event_loop.h"
#include "trainer/report/line_receiver.h"

namespace trainer {

// The trainer's end of the report channel (docs/report-channel.md): a unix stream socket to which
// shims connect. Lines that arrive in one turn of the loop, on whatever connections, go to the
// receiver together. A process that nobody has launched asks for its trial with the greeting of its
// shim, and is told when that has ended without it. On the loop's thread.
//
// Input of a connection is bounded by one line and a few more that wait for their turn, or are held
// back by the receiver; a connection that does not read its answers is not read from. A second
// connection with the same nonce replaces the first.
class Relay {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the Relay.
    LineReceiver* receiver = nullptr;    // Not owned; outlives the Relay.
    // In a directory that only we can enter. A socket left there is removed: the caller holds the
    // service's lock.
    std::string socket_path;
    // Called at each named point between two writes: a test kills itself there.
    std::function<void(std::string_view point)> fault = {};
  };
  struct Stats {
    std::uint64_t connections = 0;  // Now.
    std::uint64_t lines = 0, batches = 0, refused = 0;
  };
  // InvalidArgument: the path is too long for a socket.
  static absl::StatusOr<std::unique_ptr<Relay>> Listen(Options options);
  virtual ~Relay() = default;
  virtual Stats GetStats() const = 0;  // Any thread.
  // Makes the socket anew, whose file was removed: connections that there are go on.
  virtual absl::Status ListenAgain() = 0;
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_RELAY_H_
