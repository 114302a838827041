#include "runtime/http_responder.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/string_view.h"

namespace runtime {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
// Bytes that a client may still send after its answer, before its connection is closed.
constexpr std::size_t kMaxIgnored = 64 << 10;
constexpr absl::Duration kRest = absl::Seconds(1);

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
}

std::string Render(const HttpResponder::Page& page) {
  return absl::StrCat("HTTP/1.1 ", page.status, " ", Absl(ReasonOf(page.status)),
                      "\r\nContent-Type: ", page.type, "\r\nContent-Length: ", page.body.size(),
                      "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n",
                      page.status == 405 ? "Allow: GET\r\n" : "", "Connection: close\r\n\r\n",
                      page.body);
}

HttpResponder::Page Refusal(int status, std::string_view why) {
  return {.status = status, .body = absl::StrCat(Absl(why), "\n")};
}

// "localhost:9464", "127.0.0.1", "[::1]:80".
bool IsThisMachine(absl::string_view host) {
  const std::size_t end = host.rfind(':');
  if (end != host.npos && host.find_first_not_of("0123456789", end + 1) == host.npos &&
      (host.front() != '[' || (end > 0 && host[end - 1] == ']'))) {
    host = host.substr(0, end);
  }
  return absl::EqualsIgnoreCase(host, "localhost") || host == "127.0.0.1" || host == "[::1]";
}

struct Request {
  absl::string_view method, path;
  std::vector<absl::string_view> hosts;
};

// `head` is without its empty line. False if it is no request.
bool Parse(absl::string_view head, Request* request) {
  std::vector<absl::string_view> lines = absl::StrSplit(head, "\r\n");
  const std::vector<absl::string_view> words = absl::StrSplit(lines[0], ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1.")) return false;
  request->method = words[0];
  request->path = words[1].substr(0, words[1].find('?'));
  lines.erase(lines.begin());
  for (const absl::string_view line : lines) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos || colon == 0) return false;
    if (!absl::EqualsIgnoreCase(line.substr(0, colon), "host")) continue;
    request->hosts.push_back(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return true;
}

struct Connection {
  UniqueFd socket;
  EventLoop::WatchId watch = 0;
  EventLoop::TimerId deadline = 0;
  std::string request;
  std::string answer;  // Empty until it is known.
  std::size_t sent = 0, ignored = 0;
};

class Responder : public HttpResponder {
 public:
  explicit Responder(Options options) : options_(std::move(options)) {}
  ~Responder() override {
    while (!connections_.empty()) Close(connections_.begin()->first);
    options_.loop->Unwatch(watch_);
    options_.loop->Cancel(rest_);
  }

  absl::Status Listen() {
    const auto failed = [this] {
      return absl::UnavailableError(
          absl::StrCat("cannot serve on 127.0.0.1:", options_.port, ": ", strerror(errno)));
    };
    listener_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int yes = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(options_.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!listener_.valid() ||
        setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener_.get(), kMaxHttpConnections) != 0) {
      return failed();
    }
    WatchListener();
    return absl::OkStatus();
  }

 private:
  void WatchListener() {
    watch_ = options_.loop->Watch(listener_.get(), EventLoop::Readiness::kReadable,
                                  [this] { Accept(); });
  }

  void Accept() {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      // Out of descriptors, say; the listener stays readable.
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) Rest();
      return;
    }
    const int id = socket.get();
    Connection& connection = connections_[id];
    connection.socket = std::move(socket);
    connection.deadline = options_.loop->RunAfter(options_.deadline, [this, id] { Close(id); });
    connection.watch =
        options_.loop->Watch(id, EventLoop::Readiness::kReadable, [this, id] { OnReadable(id); });
    if (connections_.size() < kMaxHttpConnections) return;
    options_.loop->Unwatch(std::exchange(watch_, 0));
  }

  void Rest() {
    options_.loop->Unwatch(std::exchange(watch_, 0));
    rest_ = options_.loop->RunAfter(kRest, [this] {
      if (watch_ == 0) WatchListener();
    });
  }

  void Close(int id) {
    const auto found = connections_.find(id);
    options_.loop->Cancel(found->second.deadline);
    options_.loop->Unwatch(found->second.watch);
    connections_.erase(found);
    if (watch_ == 0) WatchListener();
  }

  void OnReadable(int id) {
    Connection& connection = connections_.at(id);
    char bytes[4096];
    const ssize_t got = recv(id, bytes, sizeof bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return Close(id);
    if (!connection.answer.empty()) {
      // Closed with unread bytes, a connection is reset, and its answer may be lost.
      connection.ignored += static_cast<std::size_t>(got);
      if (connection.ignored > kMaxIgnored) Close(id);
      return;
    }
    connection.request.append(bytes, static_cast<std::size_t>(got));
    const std::size_t end = connection.request.find(kEndOfHead);
    if (end == std::string::npos && connection.request.size() <= kMaxHttpRequest) return;
    connection.answer =
        Render(end == std::string::npos || end > kMaxHttpRequest
                   ? Refusal(431, "the request is too large")
                   : Answer(Absl(std::string_view(connection.request).substr(0, end))));
    Send(id);
  }

  Page Answer(absl::string_view head) const {
    Request request;
    if (!Parse(head, &request)) return Refusal(400, "this is no HTTP/1 request");
    if (request.hosts.size() != 1) return Refusal(400, "a request has one Host");
    if (request.hosts[0].empty() || !IsThisMachine(request.hosts[0])) {
      return Refusal(403, "the Host must be localhost or 127.0.0.1");
    }
    const auto page = options_.pages.find(std::string(request.path));
    if (page == options_.pages.end()) return Refusal(404, "there is no such page");
    if (request.method != "GET") return Refusal(405, "only GET is answered");
    return page->second();
  }

  // All that the kernel takes now; the rest when it is ready for more.
  void Send(int id) {
    Connection& connection = connections_.at(id);
    while (connection.sent < connection.answer.size()) {
      const ssize_t sent = send(id, connection.answer.data() + connection.sent,
                                connection.answer.size() - connection.sent, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno != EAGAIN) return Close(id);
      if (sent < 0) return WatchFor(id, EventLoop::Readiness::kWritable, [this, id] { Send(id); });
      connection.sent += static_cast<std::size_t>(sent);
    }
    shutdown(id, SHUT_WR);
    WatchFor(id, EventLoop::Readiness::kReadable, [this, id] { OnReadable(id); });
  }

  void WatchFor(int id, EventLoop::Readiness readiness, std::function<void()> ready) {
    Connection& connection = connections_.at(id);
    const EventLoop::WatchId before = connection.watch;
    connection.watch = options_.loop->Watch(id, readiness, std::move(ready));
    options_.loop->Unwatch(before);
  }

  const Options options_;
  UniqueFd listener_;
  EventLoop::WatchId watch_ = 0;  // 0 while no more connections can be taken.
  EventLoop::TimerId rest_ = 0;
  std::map<int, Connection> connections_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpResponder>> HttpResponder::Start(Options options) {
  auto responder = std::make_unique<Responder>(std::move(options));
  if (absl::Status listening = responder->Listen(); !listening.ok()) return listening;
  return responder;
}

}  // namespace runtime
