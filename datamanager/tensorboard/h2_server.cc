#include "datamanager/tensorboard/h2_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/tensorboard/h2_session.h"

// Everything but Reply happens on the loop's thread. A connection is known by a number that never
// comes again: an answer that comes late finds nobody.

namespace datamanager::tensorboard {
namespace {

using runtime::EventLoop;
using runtime::UniqueFd;

constexpr std::size_t kPortion = 256 << 10;  // Read or written before others have their turn.
// After a failure to accept: there is no descriptor, say.
constexpr absl::Duration kRest = absl::Milliseconds(100);

struct Connection {
  UniqueFd socket;
  std::unique_ptr<H2Session> session;
  EventLoop::WatchId readable = 0, writable = 0;
  EventLoop::TimerId stall = 0;
  std::string out;
  std::size_t sent = 0;     // Bytes of `out`.
  std::uint64_t heard = 0;  // When the client was heard last: a larger number is later.
};

class Server : public H2Server, public std::enable_shared_from_this<Server> {
 public:
  explicit Server(Options options)
      : listeners_(std::move(options.listeners)), options_(std::move(options)) {}

  void Start() {
    for (const UniqueFd& listener : listeners_) Listen(listener.get());
  }

  void StopListening(std::function<void()> last_gone) override {
    ListenNoMore();
    listeners_.clear();
    last_gone_ = std::move(last_gone);
    SayLastIsGone();
  }

  // Closes all connections; tasks on their way to the loop find that.
  void Close() {
    closed_ = true;
    while (!connections_.empty()) HangUp(connections_.begin()->first);
    ListenNoMore();
  }

 private:
  using ConnectionId = std::uint64_t;

  void Listen(int fd) {
    watches_[fd] =
        options_.loop->Watch(fd, EventLoop::Readiness::kReadable, [this, fd] { Accept(fd); });
  }

  void ListenNoMore() {
    for (const auto& [fd, watch] : watches_) options_.loop->Unwatch(watch);
    watches_.clear();
    if (rest_ != 0) options_.loop->Cancel(std::exchange(rest_, 0));
  }

  void SayLastIsGone() {
    if (!connections_.empty() || closed_ || last_gone_ == nullptr) return;
    options_.loop->Post([self = weak_from_this()] {
      const auto server = self.lock();
      if (server != nullptr && !server->closed_) std::exchange(server->last_gone_, nullptr)();
    });
  }

  void Accept(int listener) {
    UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) Rest();
      return;
    }
    // An answer of several writes would wait for the client's delayed acknowledgement: 40 ms.
    const int yes = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connections_.size() >= options_.max_connections) HangUpOnTheMostSilent();
    const ConnectionId id = ++last_connection_;
    Connection& connection = connections_[id];
    connection.socket = std::move(socket);
    connection.heard = ++moment_;
    connection.session = H2Session::Create(
        [this, id](H2Session::StreamId stream, std::string path, std::string body) {
          Call(id, stream, std::move(path), body);
        });
    connection.readable = options_.loop->Watch(
        connection.socket.get(), EventLoop::Readiness::kReadable, [this, id] { Read(id); });
    Write(id);
  }

  void Rest() {
    ListenNoMore();
    rest_ = options_.loop->RunAfter(kRest, [this] {
      rest_ = 0;
      Start();
    });
  }

  void HangUpOnTheMostSilent() {
    const auto most_silent = std::min_element(
        connections_.begin(), connections_.end(),
        [](const auto& a, const auto& b) { return a.second.heard < b.second.heard; });
    HangUp(most_silent->first);
  }

  void HangUp(ConnectionId id) {
    const auto found = connections_.find(id);
    Connection& connection = found->second;
    options_.loop->Unwatch(connection.readable);
    if (connection.writable != 0) options_.loop->Unwatch(connection.writable);
    if (connection.stall != 0) options_.loop->Cancel(connection.stall);
    connections_.erase(found);
    SayLastIsGone();
  }

  void Read(ConnectionId id) {
    Connection& connection = connections_.at(id);
    connection.heard = ++moment_;
    char buffer[16 << 10];
    for (std::size_t taken = 0; taken < kPortion;) {
      const ssize_t size = read(connection.socket.get(), buffer, sizeof buffer);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) break;
      if (size <= 0) return HangUp(id);
      if (!connection.session->Receive({buffer, static_cast<std::size_t>(size)})) {
        Write(id);
        if (connections_.contains(id)) HangUp(id);
        return;
      }
      taken += static_cast<std::size_t>(size);
    }
    Write(id);
  }

  void Write(ConnectionId id) {
    Connection& connection = connections_.at(id);
    bool moved = false;
    for (std::size_t written = 0;;) {
      if (connection.sent == connection.out.size()) {
        connection.out.clear();
        connection.sent = 0;
        connection.session->Produce(kPortion, &connection.out);
        if (connection.out.empty()) break;
      }
      if (written >= kPortion)
        break;  // (The next portion is in `out`: the loop comes back for it.)
      const ssize_t size = send(connection.socket.get(), connection.out.data() + connection.sent,
                                connection.out.size() - connection.sent, MSG_NOSIGNAL);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) break;
      if (size < 0) return HangUp(id);
      connection.sent += static_cast<std::size_t>(size);
      written += static_cast<std::size_t>(size);
      moved = true;
    }
    if (connection.sent == connection.out.size() && connection.session->done()) return HangUp(id);
    WatchWritable(id, connection);
    WatchForStall(id, connection, moved);
  }

  void WatchWritable(ConnectionId id, Connection& connection) {
    const bool wanted = connection.sent < connection.out.size();
    if (wanted == (connection.writable != 0)) return;
    if (wanted) {
      connection.writable = options_.loop->Watch(
          connection.socket.get(), EventLoop::Readiness::kWritable, [this, id] { Write(id); });
    } else {
      options_.loop->Unwatch(std::exchange(connection.writable, 0));
    }
  }

  void WatchForStall(ConnectionId id, Connection& connection, bool moved) {
    const bool waits = connection.sent < connection.out.size() || connection.session->unsent() > 0;
    if (connection.stall != 0 && (moved || !waits)) {
      options_.loop->Cancel(std::exchange(connection.stall, 0));
    }
    if (waits && connection.stall == 0) {
      connection.stall = options_.loop->RunAfter(options_.stall_limit, [this, id] { HangUp(id); });
    }
  }

  void Call(ConnectionId id, H2Session::StreamId stream, std::string path,
            const std::string& body) {
    const auto message = OnlyMessage(body);
    Reply reply = [server = weak_from_this(), loop = options_.loop, id, stream](GrpcAnswer answer) {
      // (The loop outlives the server, and a function that is posted may be copied.)
      auto shared = std::make_shared<GrpcAnswer>(std::move(answer));
      loop->Post([server, id, stream, shared] {
        if (const auto self = server.lock()) self->Answer(id, stream, std::move(*shared));
      });
    };
    if (!message.ok()) return reply({message.status(), {}});
    options_.on_call(std::move(path), std::string(*message), std::move(reply));
  }

  void Answer(ConnectionId id, H2Session::StreamId stream, GrpcAnswer answer) {
    const auto found = connections_.find(id);
    if (closed_ || found == connections_.end()) return;
    if (UnsentBytes() + answer.frames.size() > options_.max_unsent_bytes) {
      answer = {
          absl::ResourceExhaustedError(absl::StrCat(
              "answers of ", UnsentBytes(), " bytes wait to be read: ask again when they were")),
          {}};
    }
    found->second.session->Answer(stream, std::move(answer));
    Write(id);
  }

  std::size_t UnsentBytes() const {
    std::size_t bytes = 0;
    for (const auto& [id, connection] : connections_) bytes += connection.session->unsent();
    return bytes;
  }

  std::vector<UniqueFd> listeners_;
  const Options options_;
  bool closed_ = false;
  std::function<void()> last_gone_;
  std::map<int, EventLoop::WatchId> watches_;  // The listeners'.
  EventLoop::TimerId rest_ = 0;
  std::map<ConnectionId, Connection> connections_;
  ConnectionId last_connection_ = 0;
  std::uint64_t moment_ = 0;
};

// A late reply may keep the server for a moment, and nothing of the loop then.
class Owner : public H2Server {
 public:
  explicit Owner(std::shared_ptr<Server> server) : server_(std::move(server)) {}
  ~Owner() override { server_->Close(); }
  void StopListening(std::function<void()> last_gone) override {
    server_->StopListening(std::move(last_gone));
  }

 private:
  const std::shared_ptr<Server> server_;
};

}  // namespace

std::unique_ptr<H2Server> H2Server::Create(Options options) {
  auto server = std::make_shared<Server>(std::move(options));
  server->Start();
  return std::make_unique<Owner>(std::move(server));
}

}  // namespace datamanager::tensorboard
