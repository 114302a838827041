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

// The answer to one request: either Send(), or Begin(), any number of Write() and End(). Any thread
// may call any method, none blocks. A Reply that is destroyed without an answer answers with 500; a
// Reply that is destroyed between Begin() and End() closes its connection, so that no client takes
// a part for the whole.
class Reply {
 public:
  virtual ~Reply() = default;

  virtual void Send(Response response) = 0;

  // The body follows in parts; that of `head` is ignored.
  virtual void Begin(Response head) = 0;
  // Queues a part of the body. The caller keeps Waiting() within a bound of its own.
  virtual void Write(std::string part) = 0;
  virtual void End() = 0;
  // Bytes that were queued and that the client has not been sent yet.
  virtual std::size_t Waiting() const = 0;
  // The client has left: data written now goes nowhere.
  virtual bool IsGone() const = 0;
  // `progress` runs on the server's thread whenever everything queued has been sent (soon, if it
  // has been already), and once when the client has left. It must not block, and is dropped after
  // End().
  virtual void OnProgress(std::function<void()> progress) = 0;
};

// Serves HTTP/1.1 on a unix socket and on ports, on one thread of its own. Bounds what a client may
// send and hold: 8 KiB of header, 64 KiB of body, no Transfer-Encoding in a request, a whole
// request within `request_deadline` of its first byte, a write within `write_deadline`.
class HttpServer {
 public:
  struct Options {
    // 0600; a stale socket file there is replaced. Connections of another user are closed. Empty:
    // none.
    std::string socket = {};
    // Addresses to listen on, all with the same port. The first has to work; others that this
    // machine lacks are skipped. Empty: none.
    std::vector<std::string> addresses = {};
    int port = 0;  // 0: one that is free.
    std::size_t max_connections = 256;
    absl::Duration request_deadline = absl::Seconds(5);
    absl::Duration idle_deadline = absl::Seconds(75);  // Between two requests of a connection.
    absl::Duration write_deadline = absl::Seconds(30);
    // Runs on the server's thread; must not block.
    std::function<void(Request request, std::shared_ptr<Reply> reply)> handler = {};
  };
  struct Stats {
    std::size_t connections = 0;    // Now.
    std::uint64_t requests = 0;     // Whole ones, so far.
    std::uint64_t refused = 0;      // Malformed, too long, or too late.
    std::uint64_t turned_away = 0;  // Connections beyond max_connections, or of another user.
  };

  // Unavailable names the address and the reason why the server cannot listen there.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options);
  // Closes every connection and waits for the thread. Replies may outlive it.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The port that addresses are served on; 0 without one.
  int port() const;
  Stats GetStats() const;
  // Listens anew on the socket after its file was removed; open connections go on.
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
