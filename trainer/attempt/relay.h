#ifndef TRAINER_ATTEMPT_RELAY_H_
#define TRAINER_ATTEMPT_RELAY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"
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
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  Stats GetStats() const;  // Any thread.
  // Recreates the socket after its file was removed. Open connections stay open.
  absl::Status ListenAgain();

 private:
  static constexpr std::size_t kReadBytes = 256 << 10;

  struct Connection {
    runtime::UniqueFd fd;
    runtime::EventLoop::WatchId read_watch = 0;
    runtime::EventLoop::WatchId write_watch = 0;
    std::string in;
    std::size_t searched = 0;  // Bytes of `in` known to hold no newline.
    std::string out;
    bool greeted = false;
    AttemptKey attempt;
    std::size_t waiting = 0;  // Its lines in lines_ and in held.
    std::vector<RelayedLine> held;
    bool closing = false;  // Closed once `out` is written.
  };
  using ConnectionId = std::uint64_t;

  Relay(Options options, runtime::UniqueFd listener);
  void WatchListener();
  void Accept();
  void PauseAccepting();
  void Add(runtime::UniqueFd fd);
  void Close(ConnectionId id);
  void Unwatch(Connection& connection);
  void UpdateWatches(ConnectionId id);
  void Read(ConnectionId id);
  void TakeLines(ConnectionId id);
  void TakeLine(ConnectionId id, std::string_view text);
  void Queue(ConnectionId id, RelayedLine line);
  void BringAgain(const AttemptKey& attempt);
  void TellOver(const AttemptKey& attempt, const std::string& why);
  absl::StatusOr<AttemptKey> AttemptOf(std::string_view greeting);
  void Greet(ConnectionId id, std::string_view text);
  void Refuse(ConnectionId id, std::string_view reason);
  void Refuse(ConnectionId id, const absl::Status& error);
  void Refuse(ConnectionId id, const std::string& line, std::string_view reason);
  void Commit();
  void Answer(ConnectionId id, const RelayedLine& line, const absl::StatusOr<std::string>& answer);
  void Flush(ConnectionId id);
  void SendHalf(Connection& connection);

  const Options options_;
  runtime::UniqueFd listener_;
  runtime::EventLoop::WatchId accept_watch_ = 0;
  runtime::Timer accept_timer_;
  // One buffer for all reads: reserving as much in each `in` would fill it with zeros each time.
  const std::unique_ptr<char[]> chunk_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
  std::map<ConnectionId, Connection> connections_;
  ConnectionId last_id_ = 0;
  std::vector<RelayedLine> lines_;     // Lines of the next transaction,
  std::vector<ConnectionId> origins_;  // and the connection of each.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::atomic<std::uint64_t> open_{0}, received_{0}, batches_{0}, refused_{0};
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_RELAY_H_
