#ifndef DATAMANAGER_TENSORBOARD_H2_SERVER_H_
#define DATAMANAGER_TENSORBOARD_H2_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "datamanager/tensorboard/grpc_framing.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace datamanager::tensorboard {

// Serves gRPC over HTTP/2 on sockets that listen already, for programs of this machine; it knows no
// message. Limits the memory that clients can take: connections (beyond the limit, the connection
// that was silent longest is closed), requests (H2Session), and answers that wait to be sent.
class H2Server {
 public:
  // Sends the answer of one call, once. Any thread; also when the server is gone.
  using Reply = std::function<void(GrpcAnswer answer)>;
  // A call: its path and its message. On the loop's thread; must not block.
  using OnCall = std::function<void(std::string path, std::string message, Reply reply)>;
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the server.
    std::vector<runtime::UniqueFd> listeners = {};
    OnCall on_call = {};
    std::size_t max_connections = 64;
    // Limit of all answers together; an answer beyond it becomes ResourceExhausted.
    std::size_t max_unsent_bytes = std::size_t{512} << 20;
    // The server hangs up on a client that takes nothing of a waiting answer for so long.
    absl::Duration stall_limit = absl::Seconds(60);
  };

  // Call this, and the destructor, before the loop runs or on its thread.
  static std::unique_ptr<H2Server> Create(Options options);
  virtual ~H2Server() = default;

  // Closes the listeners. Calls `last_gone` once no client is connected any more, but not within
  // this call. On the loop's thread.
  virtual void StopListening(std::function<void()> last_gone) = 0;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_H2_SERVER_H_
