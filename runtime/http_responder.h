#ifndef RUNTIME_HTTP_RESPONDER_H_
#define RUNTIME_HTTP_RESPONDER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/event_loop.h"

namespace runtime {

// Answers GET for a few pages on 127.0.0.1: what a monitoring system asks a process for. It is no
// web server. One request a connection; a request has no body, kMaxHttpRequest bytes at most, and
// must name this machine as its host (localhost or a loopback address), so that no web page whose
// name has been pointed here reads it through a browser. At most kMaxHttpConnections are served at
// once, others wait in the kernel; each has `deadline` from its first to its last byte.
class HttpResponder {
 public:
  struct Page {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body = {};
  };
  struct Options {
    EventLoop* loop = nullptr;  // Not owned; outlives the responder.
    int port = 0;
    // By path: "/metrics". Called on the loop's thread; must not block.
    std::map<std::string, std::function<Page()>> pages = {};
    absl::Duration deadline = absl::Seconds(5);
  };
  // Before the loop runs, or on its thread; so is the destruction, which drops open connections.
  // Unavailable names the port and why it cannot be used.
  static absl::StatusOr<std::unique_ptr<HttpResponder>> Start(Options options);
  virtual ~HttpResponder() = default;
};
inline constexpr std::size_t kMaxHttpRequest = 8 << 10;
inline constexpr int kMaxHttpConnections = 8;

}  // namespace runtime

#endif  // RUNTIME_HTTP_RESPONDER_H_
