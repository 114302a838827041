// Everything except Reply runs on the loop's thread. Connections have numbers that are never
// reused, so a late answer for a closed connection is dropped. A function posted to the loop checks
// alive_ there before it uses the server, which is destroyed on the loop's thread.

#include "datamanager/tensorboard/h2_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace datamanager::tensorboard {
namespace {

using runtime::EventLoop;
using runtime::UniqueFd;

// Bytes read or written before other connections have their turn.
constexpr std::size_t kPortion = 256 << 10;
// Pause after a failure to accept, for example without a free descriptor.
constexpr absl::Duration kRest = absl::Milliseconds(100);

}  // namespace

H2Server::H2Server(Options options)
    : listeners_(std::move(options.listeners)), options_(std::move(options)) {
  Listen();
}

H2Server::~H2Server() {
  last_gone_ = nullptr;
  while (!connections_.empty()) HangUp(connections_.begin()->first);
  ListenNoMore();
}

void H2Server::StopListening(std::function<void()> last_gone) {
  ListenNoMore();
  listeners_.clear();
  last_gone_ = std::move(last_gone);
  SayLastIsGone();
}

void H2Server::Listen() {
  for (const UniqueFd& listener : listeners_) {
    const int fd = listener.get();
    watches_[fd] =
        options_.loop->Watch(fd, EventLoop::Readiness::kReadable, [this, fd] { Accept(fd); });
  }
}

void H2Server::ListenNoMore() {
  for (const auto& [fd, watch] : watches_) options_.loop->Unwatch(watch);
  watches_.clear();
  rest_.Cancel();
}

void H2Server::SayLastIsGone() {
  if (!connections_.empty() || last_gone_ == nullptr) return;
  options_.loop->Post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) std::exchange(last_gone_, nullptr)();
  });
}

void H2Server::Accept(int listener) {
  UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.valid()) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) Rest();
    return;
  }
  // Without this, an answer of several writes would wait for the client's delayed
  // acknowledgement: 40 ms.
  const int yes = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connections_.size() >= options_.max_connections) HangUpOnTheMostSilent();
  const ConnectionId id = ++last_connection_;
  Connection& connection = connections_[id];
  connection.socket = std::move(socket);
  connection.heard = ++moment_;
  connection.session = std::make_unique<H2Session>(
      [this, id](H2Session::StreamId stream, std::string path, std::string body) {
        Call(id, stream, std::move(path), body);
      });
  connection.readable = options_.loop->Watch(
      connection.socket.get(), EventLoop::Readiness::kReadable, [this, id] { Read(id); });
  Write(id);
}

void H2Server::Rest() {
  ListenNoMore();
  rest_.Start(options_.loop, kRest, [this] { Listen(); });
}

void H2Server::HangUpOnTheMostSilent() {
  const auto most_silent = std::min_element(
      connections_.begin(), connections_.end(),
      [](const auto& a, const auto& b) { return a.second.heard < b.second.heard; });
  HangUp(most_silent->first);
}

void H2Server::HangUp(ConnectionId id) {
  const auto found = connections_.find(id);
  Connection& connection = found->second;
  options_.loop->Unwatch(connection.readable);
  if (connection.writable != 0) options_.loop->Unwatch(connection.writable);
  connections_.erase(found);
  SayLastIsGone();
}

void H2Server::Read(ConnectionId id) {
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

void H2Server::Write(ConnectionId id) {
  Connection& connection = connections_.at(id);
  bool moved = false;
  for (std::size_t written = 0;;) {
    if (connection.sent == connection.out.size()) {
      connection.out.clear();
      connection.sent = 0;
      connection.session->Produce(kPortion, &connection.out);
      if (connection.out.empty()) break;
    }
    if (written >= kPortion) break;  // (`out` has the next portion: the loop returns to it.)
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

void H2Server::WatchWritable(ConnectionId id, Connection& connection) {
  const bool wanted = connection.sent < connection.out.size();
  if (wanted == (connection.writable != 0)) return;
  if (wanted) {
    connection.writable = options_.loop->Watch(
        connection.socket.get(), EventLoop::Readiness::kWritable, [this, id] { Write(id); });
  } else {
    options_.loop->Unwatch(std::exchange(connection.writable, 0));
  }
}

void H2Server::WatchForStall(ConnectionId id, Connection& connection, bool moved) {
  const bool waits = connection.sent < connection.out.size() || connection.session->unsent() > 0;
  if (moved || !waits) connection.stall.Cancel();
  if (waits && !connection.stall.is_set()) {
    connection.stall.Start(options_.loop, options_.stall_limit, [this, id] { HangUp(id); });
  }
}

void H2Server::Call(ConnectionId id, H2Session::StreamId stream, std::string path,
                    const std::string& body) {
  const auto message = OnlyMessage(body);
  Reply reply = [this, alive = std::weak_ptr<bool>(alive_), loop = options_.loop, id,
                 stream](GrpcAnswer answer) {
    // (The loop outlives the server; shared, because a posted function may be copied.)
    auto shared = std::make_shared<GrpcAnswer>(std::move(answer));
    loop->Post([this, alive, id, stream, shared] {
      if (!alive.expired()) Answer(id, stream, std::move(*shared));
    });
  };
  if (!message.ok()) return reply({message.status(), {}});
  options_.on_call(std::move(path), std::string(*message), std::move(reply));
}

void H2Server::Answer(ConnectionId id, H2Session::StreamId stream, GrpcAnswer answer) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (UnsentBytes() + answer.frames.size() > options_.max_unsent_bytes) {
    answer = {
        absl::ResourceExhaustedError(absl::StrCat(
            "answers of ", UnsentBytes(), " bytes wait to be read: ask again when they were")),
        {}};
  }
  found->second.session->Answer(stream, std::move(answer));
  Write(id);
}

std::size_t H2Server::UnsentBytes() const {
  std::size_t bytes = 0;
  for (const auto& [id, connection] : connections_) bytes += connection.session->unsent();
  return bytes;
}

}  // namespace datamanager::tensorboard
