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

// The trainer's end of the report channel (docs/report-channel.md): a Unix stream socket to which
// shims connect. Lines that arrive in one turn of the loop, on any connection, are given to the
// receiver together. A process that was not launched requests its trial in the greeting of its
// shim; the Relay tells the shim when the trial is over. Use it on the loop's thread.
//
// Buffered input of a connection is bounded: one line, plus up to 256 complete lines that wait for
// their transaction or are held back by the receiver. The Relay stops reading from a connection
// that does not read its answers. A new connection with the same nonce replaces the old one.
class Relay {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the Relay.
    LineReceiver* receiver = nullptr;    // Not owned; outlives the Relay.
    // Path in a directory that only this user can enter. Listen() removes an old socket there: the
    // caller holds the service's lock.
    std::string socket_path;
    // Called at each named point between two writes, where a test may kill the process.
    std::function<void(std::string_view point)> fault = {};
  };
  struct Stats {
    std::uint64_t connections = 0;  // Open now.
    std::uint64_t lines = 0, batches = 0, refused = 0;
  };
  // Returns InvalidArgument if the path is too long for a socket.
  static absl::StatusOr<std::unique_ptr<Relay>> Listen(Options options);
  virtual ~Relay() = default;
  virtual Stats GetStats() const = 0;  // Any thread.
  // Recreates the socket after its file was removed. Open connections stay open.
  virtual absl::Status ListenAgain() = 0;
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_RELAY_H_
