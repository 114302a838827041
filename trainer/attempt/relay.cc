#include "trainer/attempt/relay.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/time/time.h"
#include "glog/logging.h"
#include "runtime/process/peer.h"
#include "runtime/process/unix_listener.h"
#include "runtime/report_channel/relay_protocol.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

// Invariants: lines_ holds the lines of all connections in order of arrival, and a Commit() is
// posted while it is not empty. A connection whose lines are held back has no line in lines_. A
// closing connection neither reads nor receives more answers.

namespace trainer {
namespace {

constexpr std::size_t kMaxOutput = 4 << 20;
constexpr std::size_t kMaxWaiting = 256;  // Lines of one connection for the next transaction.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);
constexpr int kQueuedConnections = 256;  // Until they are accepted.

}  // namespace

Relay::Relay(Options options, runtime::UniqueFd listener)
    : options_(std::move(options)), listener_(std::move(listener)) {
  WatchListener();
  options_.receiver->OnWanted([this](const AttemptKey& attempt) { BringAgain(attempt); });
  options_.receiver->OnOver(
      [this](const AttemptKey& attempt, const std::string& why) { TellOver(attempt, why); });
}

Relay::~Relay() {
  options_.receiver->OnWanted(nullptr);
  options_.receiver->OnOver(nullptr);
  options_.loop->Unwatch(accept_watch_);
  for (auto& [id, connection] : connections_) Unwatch(connection);
  *alive_ = false;
}

Relay::Stats Relay::GetStats() const {
  return {open_.load(), received_.load(), batches_.load(), refused_.load()};
}

absl::Status Relay::ListenAgain() {
  auto listener = runtime::ListenAtPath(options_.socket_path, kQueuedConnections);
  if (!listener.ok()) return listener.status();
  options_.loop->Unwatch(accept_watch_);
  accept_timer_.Cancel();
  listener_ = *std::move(listener);
  WatchListener();
  return absl::OkStatus();
}

void Relay::WatchListener() {
  accept_watch_ = options_.loop->Watch(listener_.get(), runtime::EventLoop::Readiness::kReadable,
                                       [this] { Accept(); });
}

void Relay::Accept() {
  for (;;) {
    runtime::UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.valid()) {
      if (runtime::IsOfOurUser(fd.get())) Add(std::move(fd));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN) PauseAccepting();
    return;
  }
}

// Called when no descriptors are left: without a pause the listener would be readable again at
// once.
void Relay::PauseAccepting() {
  PLOG(ERROR) << "cannot accept on " << options_.socket_path;
  options_.loop->Unwatch(accept_watch_);
  accept_timer_.Start(options_.loop, kAcceptPause, [this] { WatchListener(); });
}

void Relay::Add(runtime::UniqueFd fd) {
  const ConnectionId id = ++last_id_;
  connections_[id].fd = std::move(fd);
  ++open_;
  UpdateWatches(id);
}

void Relay::Close(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Unwatch(found->second);
  const bool was_greeted = found->second.greeted;
  const AttemptKey attempt = found->second.attempt;
  connections_.erase(found);
  --open_;
  if (was_greeted) options_.receiver->OnConnection(attempt, false);
}

void Relay::Unwatch(Connection& connection) {
  options_.loop->Unwatch(std::exchange(connection.read_watch, 0));
  options_.loop->Unwatch(std::exchange(connection.write_watch, 0));
}

// Watches for input while there is room for lines and answers, and for output while some is
// pending.
void Relay::UpdateWatches(ConnectionId id) {
  Connection& connection = connections_.at(id);
  const bool reads =
      !connection.closing && connection.waiting < kMaxWaiting && connection.out.size() < kMaxOutput;
  using runtime::EventLoop;
  if (reads && connection.read_watch == 0) {
    connection.read_watch = options_.loop->Watch(
        connection.fd.get(), EventLoop::Readiness::kReadable, [this, id] { Read(id); });
  } else if (!reads && connection.read_watch != 0) {
    options_.loop->Unwatch(std::exchange(connection.read_watch, 0));
  }
  const bool writes = !connection.out.empty();
  if (writes && connection.write_watch == 0) {
    connection.write_watch = options_.loop->Watch(
        connection.fd.get(), EventLoop::Readiness::kWritable, [this, id] { Flush(id); });
  } else if (!writes && connection.write_watch != 0) {
    options_.loop->Unwatch(std::exchange(connection.write_watch, 0));
  }
}

void Relay::Read(ConnectionId id) {
  Connection& connection = connections_.at(id);
  const ssize_t count = recv(connection.fd.get(), chunk_.get(), kReadBytes, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return Close(id);
  connection.in.append(chunk_.get(), static_cast<std::size_t>(count));
  TakeLines(id);
}

void Relay::TakeLines(ConnectionId id) {
  Connection& connection = connections_.at(id);
  std::size_t begin = 0;
  std::size_t from = connection.searched;
  while (!connection.closing) {
    const std::size_t newline = connection.in.find('\n', from);
    if (newline == connection.in.npos) break;
    TakeLine(id, std::string_view(connection.in).substr(begin, newline - begin));
    begin = from = newline + 1;
  }
  connection.in.erase(0, begin);
  connection.searched = connection.in.size();
  if (!connection.closing && connection.in.size() > runtime::kMaxRelayedLine)
    Refuse(id, "line too long");
  if (connections_.count(id) != 0) UpdateWatches(id);
}

void Relay::TakeLine(ConnectionId id, std::string_view text) {
  Connection& connection = connections_.at(id);
  if (!connection.greeted) return Greet(id, text);
  if (text == runtime::kAlive) return options_.receiver->OnAlive(connection.attempt);
  const auto parsed = runtime::ParseRelayLine(text);
  if (text.size() > runtime::kMaxRelayedLine || !parsed) {
    return Refuse(id, "not a numbered line");
  }
  RelayedLine line{connection.attempt, static_cast<std::int64_t>(parsed->number),
                   std::string(parsed->text), parsed->is_end};
  ++connection.waiting;
  ++received_;
  if (!connection.held.empty()) return connection.held.push_back(std::move(line));
  Queue(id, std::move(line));
}

void Relay::Queue(ConnectionId id, RelayedLine line) {
  lines_.push_back(std::move(line));
  origins_.push_back(id);
  if (lines_.size() == 1) {
    options_.loop->Post([this, alive = alive_] {
      if (*alive) Commit();
    });
  }
}

void Relay::BringAgain(const AttemptKey& attempt) {
  for (auto& [id, connection] : connections_) {
    if (!connection.greeted || connection.attempt != attempt || connection.closing) continue;
    for (RelayedLine& line : std::exchange(connection.held, {})) Queue(id, std::move(line));
  }
}

// Tells the attempt's shim that the attempt is over. The connection stays open until the shim
// closes it.
void Relay::TellOver(const AttemptKey& attempt, const std::string& why) {
  for (auto& [id, connection] : connections_) {
    if (!connection.greeted || connection.attempt != attempt || connection.closing) continue;
    connection.out += runtime::RelayOver(why);
    connection.held.clear();
    return Flush(id);
  }
}

absl::StatusOr<AttemptKey> Relay::AttemptOf(std::string_view greeting) {
  if (const auto nonce = runtime::NonceOfGreeting(greeting)) {
    return options_.receiver->Greet(*nonce);
  }
  const auto attach = runtime::ParseAttachGreeting(greeting);
  if (!attach) return absl::InvalidArgumentError("expected YARD1 NONCE");
  return options_.receiver->Attach({.nonce = std::string(attach->nonce),
                                    .pid = static_cast<std::int64_t>(attach->pid),
                                    .request = std::string(attach->request)});
}

void Relay::Greet(ConnectionId id, std::string_view text) {
  auto attempt = AttemptOf(text);
  if (!attempt.ok()) return Refuse(id, runtime::Std(attempt.status().message()));
  std::vector<ConnectionId> replaced;
  for (const auto& [other, connection] : connections_) {
    if (connection.greeted && connection.attempt == *attempt) replaced.push_back(other);
  }
  for (const ConnectionId other : replaced) Close(other);
  Connection& connection = connections_.at(id);
  connection.greeted = true;
  connection.attempt = *attempt;
  connection.out.append(runtime::kGreeted).append("\n");
  options_.receiver->OnConnection(*attempt, true);
}

void Relay::Refuse(ConnectionId id, std::string_view reason) {
  Refuse(id, runtime::RelayRefusal(reason), reason);
}

void Relay::Refuse(ConnectionId id, const absl::Status& error) {
  const auto reason = runtime::Std(error.message());
  const bool is_over = absl::IsPermissionDenied(error);  // A retry will never be accepted.
  Refuse(id, is_over ? runtime::RelayOver(reason) : runtime::RelayRefusal(reason), reason);
}

void Relay::Refuse(ConnectionId id, const std::string& line, std::string_view reason) {
  Connection& connection = connections_.at(id);
  LOG_EVERY_N(WARNING, 100) << "refused a report connection: " << runtime::Printable(reason);
  connection.out += line;
  connection.closing = true;
  ++refused_;
}

void Relay::Commit() {
  std::vector<RelayedLine> lines = std::exchange(lines_, {});
  std::vector<ConnectionId> origins = std::exchange(origins_, {});
  ++batches_;
  const auto answers = options_.receiver->Receive(lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto found = connections_.find(origins[i]);
    if (found == connections_.end()) continue;
    if (absl::IsUnavailable(answers[i].status()) && !found->second.closing) {
      found->second.held.push_back(std::move(lines[i]));
      continue;
    }
    --found->second.waiting;
    if (!found->second.closing) Answer(origins[i], lines[i], answers[i]);
  }
  for (const ConnectionId id : origins) Flush(id);
  if (options_.fault) options_.fault("after replies");
}

void Relay::Answer(ConnectionId id, const RelayedLine& line,
                   const absl::StatusOr<std::string>& answer) {
  if (!answer.ok()) return Refuse(id, answer.status());
  std::string& out = connections_.at(id).out;
  if (line.is_end) {
    out.append(runtime::kEnded).append("\n");
  } else {
    runtime::AppendRelayAnswer(static_cast<std::uint64_t>(line.number), *answer, out);
  }
}

void Relay::Flush(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if (options_.fault && connection.out.size() > 1) SendHalf(connection);
  while (!connection.out.empty()) {
    const ssize_t count = send(connection.fd.get(), connection.out.data(), connection.out.size(),
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) return Close(id);
    connection.out.erase(0, static_cast<std::size_t>(count));
  }
  if (connection.out.empty() && connection.closing) return Close(id);
  UpdateWatches(id);
}

void Relay::SendHalf(Connection& connection) {
  const ssize_t count = send(connection.fd.get(), connection.out.data(), connection.out.size() / 2,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count > 0) connection.out.erase(0, static_cast<std::size_t>(count));
  options_.fault("inside a reply");
}

absl::StatusOr<std::unique_ptr<Relay>> Relay::Listen(Options options) {
  auto listener = runtime::ListenAtPath(options.socket_path, kQueuedConnections);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<Relay>(new Relay(std::move(options), *std::move(listener)));
}

}  // namespace trainer
