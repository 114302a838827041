#ifndef WEB_HTTP_SERVER_H_
#define WEB_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "web/http/message.h"

namespace web {

// The answer to one request: either Send(), or Begin(), any number of Write() and End().
// Thread-safe; no method blocks. A Reply destroyed without an answer sends status 500; one
// destroyed between Begin() and End() closes its connection, so that no client takes a part for the
// whole.
class Reply {
 public:
  virtual ~Reply() = default;

  // Sends the whole answer.
  virtual void Send(Response response) = 0;

  // Starts a streamed body; ignores the body of `head`.
  virtual void Begin(Response head) = 0;
  // Queues a part of the body. The caller must bound Waiting() (back-pressure).
  virtual void Write(std::string part) = 0;
  // Ends a streamed body; the client then knows that it is complete.
  virtual void End() = 0;
  // Returns the number of queued bytes that have not been sent to the client yet.
  virtual std::size_t Waiting() const = 0;
  // Returns true if the client has disconnected; later data is discarded.
  virtual bool IsGone() const = 0;
  // Calls `progress` on the server's thread whenever all queued data has been sent (soon, if it
  // already has), and once when the client has disconnected. It must not block, and is dropped
  // after End().
  virtual void OnProgress(std::function<void()> progress) = 0;
};

// Serves HTTP/1.1 on a unix socket and on ports, on its own thread. Limits what a client may send
// and hold: 8 KiB of header, 64 KiB of body, no Transfer-Encoding in requests, a whole request
// within `request_deadline` of its first byte, each write within `write_deadline`.
class HttpServer {
 public:
  struct Options {
    // Path of the unix socket (mode 0600), empty for none. Replaces a stale socket file; closes
    // connections of other users.
    std::string socket = {};
    // Addresses to listen on, all with the same port; empty for none. The first must succeed;
    // others that this machine lacks are skipped.
    std::vector<std::string> addresses = {};
    int port = 0;  // 0 for a free one.
    std::size_t max_connections = 256;
    absl::Duration request_deadline = absl::Seconds(5);
    absl::Duration idle_deadline = absl::Seconds(75);  // Between two requests of a connection.
    absl::Duration write_deadline = absl::Seconds(30);
    // Runs on the server's thread; must not block.
    std::function<void(Request request, std::shared_ptr<Reply> reply)> handler = {};
  };
  struct Stats {
    std::size_t connections = 0;    // Open now.
    std::uint64_t requests = 0;     // Complete ones, so far.
    std::uint64_t refused = 0;      // Malformed, too long, or too late.
    std::uint64_t turned_away = 0;  // Connections beyond max_connections, or of another user.
  };

  // Unavailable names the address and the cause.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options);
  // Closes all connections and joins the thread. Replies may outlive the server.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Returns the port of all addresses; 0 without one.
  int port() const;
  Stats GetStats() const;
  // Recreates the socket after its file was deleted; open connections continue.
  absl::Status BindAgain();

 private:
  class Impl;  // Keeps Boost out of this header.

  explicit HttpServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};
inline constexpr std::size_t kMaxHttpHeader = 8 << 10;
inline constexpr std::size_t kMaxHttpBody = 64 << 10;

}  // namespace web

#endif  // WEB_HTTP_SERVER_H_
