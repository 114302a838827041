#ifndef DATAMANAGER_TENSORBOARD_H2_SERVER_H_
#define DATAMANAGER_TENSORBOARD_H2_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "datamanager/tensorboard/grpc_framing.h"
#include "datamanager/tensorboard/h2_session.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

namespace datamanager::tensorboard {

// Serves gRPC over HTTP/2 on listening sockets, for programs of this machine; it does not interpret
// messages. Limits the memory that clients can use: connections (over the limit, the connection
// that was silent longest is closed), requests (H2Session), and answers that wait to be sent.
class H2Server {
 public:
  // Sends the answer of one call, once. Any thread; does nothing if the server was destroyed.
  using Reply = std::function<void(GrpcAnswer answer)>;
  // Handles a call, given its path and its message. Loop's thread; must not block.
  using OnCall = std::function<void(std::string path, std::string message, Reply reply)>;
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; must outlive the server.
    std::vector<runtime::UniqueFd> listeners = {};
    OnCall on_call = {};
    std::size_t max_connections = 64;
    // Limit of all unsent answers together; an answer beyond it becomes ResourceExhausted.
    std::size_t max_unsent_bytes = std::size_t{512} << 20;
    // The server closes a connection whose client accepts nothing of a waiting answer for this
    // long.
    absl::Duration stall_limit = absl::Seconds(60);
  };

  // Call this, and the destructor, before the loop runs or on its thread.
  explicit H2Server(Options options);
  ~H2Server();
  H2Server(const H2Server&) = delete;
  H2Server& operator=(const H2Server&) = delete;

  // Closes the listeners. Calls `last_gone` once no client is connected any more, but not within
  // this call. On the loop's thread.
  void StopListening(std::function<void()> last_gone);

 private:
  using ConnectionId = std::uint64_t;
  struct Connection {
    runtime::UniqueFd socket;
    std::unique_ptr<H2Session> session;
    runtime::EventLoop::WatchId readable = 0, writable = 0;
    runtime::Timer stall;
    std::string out;
    std::size_t sent = 0;     // Bytes of `out` already sent.
    std::uint64_t heard = 0;  // When the client was last heard: a larger number is later.
  };

  void Listen();
  void ListenNoMore();
  void SayLastIsGone();
  void Accept(int listener);
  void Rest();
  void HangUpOnTheMostSilent();
  void HangUp(ConnectionId id);
  void Read(ConnectionId id);
  void Write(ConnectionId id);
  void WatchWritable(ConnectionId id, Connection& connection);
  void WatchForStall(ConnectionId id, Connection& connection, bool moved);
  void Call(ConnectionId id, H2Session::StreamId stream, std::string path, const std::string& body);
  void Answer(ConnectionId id, H2Session::StreamId stream, GrpcAnswer answer);
  std::size_t UnsentBytes() const;

  std::vector<runtime::UniqueFd> listeners_;
  const Options options_;
  // Expires with the server; used on the loop's thread only.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::function<void()> last_gone_;
  std::map<int, runtime::EventLoop::WatchId> watches_;  // Watches of the listeners, by descriptor.
  runtime::Timer rest_;
  std::map<ConnectionId, Connection> connections_;
  ConnectionId last_connection_ = 0;
  std::uint64_t moment_ = 0;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_H2_SERVER_H_
