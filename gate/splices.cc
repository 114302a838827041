#include "gate/splices.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/access/gate_messages.h"
#include "bus/access/node_channels.h"
#include "bus/access/role_names.h"
#include "bus/event/hub_addresses.h"
#include "bus/thread/bus_thread.h"
#include "bus/thread/key_check.h"
#include "bus/thread/socket.h"
#include "bus/thread/tcp_door.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "bus/wire/sender.h"
#include "gate/admission.h"
#include "gate/node_connection.h"
#include "glog/logging.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

// Always true:
// - Sockets, connections and splices belong to the bus thread; other threads read only counters.
// - A splice is in its connection's map until Close(), which is the last use of its socket. A
//   callback that may run later holds the splice by shared_ptr and checks whether it is closed.
// - The data queued for a client is one message per splice plus the sockets' queues (socket.cc): a
//   splice whose message waits is not read.
// - Cut() and Drop() are the last use of a Connection.
// - Before anything is sent to a service or the hub, its key is looked up in the KeyBook and must
//   have the required role.

namespace gate {
namespace {

using bus::Frame;
using bus::Socket;

constexpr int kMessagesAtOnce = 256;
constexpr absl::Duration kRetrySend = absl::Milliseconds(2);
constexpr absl::Duration kSweep = absl::Seconds(2);
// A subscriber that reads nothing for this long is cut; it recovers the missed events from their
// owners.
constexpr absl::Duration kMostBlocked = absl::Seconds(10);
constexpr absl::Duration kToHear = absl::Milliseconds(100);
constexpr std::size_t kMostEnded = 1000;
constexpr int kLinesASecond = 50;
constexpr char kBegins = '\1';

struct Connection;

// The gate's connection to a service or to the hub, on behalf of one client connection.
struct Splice {
  Connection* connection = nullptr;
  std::string service;
  std::unique_ptr<Socket> socket;
  bus::BusThread::WatchId watch = 0;
  bus::BusThread::WatchId monitor_watch = 0;
  std::vector<Frame> waiting;  // A message for which the client's queue had no room; usually empty.
  absl::Duration waiting_since;
  std::set<std::string> subscribed;
  bool closed = false;

  bool is_hub() const { return service == bus::kHubOfGate; }
};

// One connection of a client.
struct Connection {
  std::string identity;
  std::string key;           // The client's public key.
  std::uint64_t ticket = 0;  // For TcpDoor::Cut().
  absl::Duration last_sent;  // Time of the last message to the client.
  bool is_logged = false;    // A malformed message of it was logged.
  std::map<std::string, std::shared_ptr<Splice>, std::less<>> splices;
  std::unique_ptr<NodeConnection> node;  // Set for a node's connection, which has no splices.
};

}  // namespace

class Splices::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)), thread_(options_.node->bus_thread()) {}
  ~Impl() {
    thread_.Run([this] { CloseAll(); });
    key_check_.reset();
  }

  absl::Status Open();
  std::vector<std::string> endpoints() const { return endpoints_; }
  void KeysChanged() {
    thread_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.lock() != nullptr) CutRemoved();
    });
  }
  Stats GetStats() const;

 private:
  absl::Duration Now() const { return options_.node->clock()->Monotonic(); }
  void CloseAll();

  // From clients.
  void OnFront();
  void OnClient(std::vector<Frame>& frames);
  void OnCall(Connection& connection, const bus::AllowedKey& key, const bus::Sender& sender,
              std::vector<Frame>& frames);
  void OnSubscription(Connection& connection, std::vector<Frame>& frames);
  void OnNode(Connection& connection, const bus::AllowedKey& key, const bus::Sender& sender,
              std::string_view message);
  void CountChannels();
  void DropMalformed(Connection& connection, const bus::Sender& sender, const absl::Status& why);
  void LogCall(const bus::AllowedKey& key, const bus::Sender& sender, std::string_view service,
               const Admission& verdict);

  // To services.
  absl::StatusOr<std::shared_ptr<Splice>> SpliceOf(Connection& connection,
                                                   const std::string& service);
  absl::StatusOr<std::unique_ptr<Socket>> ConnectTo(const std::string& service) const;
  void WatchSplice(const std::shared_ptr<Splice>& splice);
  void OnServiceLost(const std::shared_ptr<Splice>& splice);
  void Close(Splice& splice);

  // To clients.
  void OnService(const std::shared_ptr<Splice>& splice);
  bool PassOn(const std::shared_ptr<Splice>& splice, std::vector<Frame>& frames);
  void RetryWaiting();
  Socket::Sent Send(Connection& connection, std::span<Frame> frames);
  void Answer(Connection& connection, std::uint64_t corr, const absl::Status& error);
  // Returns false if the message could not be sent and the client was cut off.
  bool SayWayLost(Connection& connection, const absl::Status& why);

  // Connections.
  Connection* ConnectionOf(const std::string& identity, const bus::Sender& sender);
  void Drop(const std::string& identity);
  void Cut(Connection& connection, std::string_view why);
  void CutRemoved();
  void Sweep();
  bool MayLog();

  const Options options_;
  bus::BusThread& thread_;
  std::unique_ptr<bus::KeyCheck> key_check_;  // Must outlive front_.
  std::vector<std::string> endpoints_;

  std::atomic<std::uint64_t> calls_passed_{0}, calls_refused_{0}, malformed_{0}, events_passed_{0},
      cut_{0};
  std::atomic<std::uint64_t> node_count_{0}, channel_count_{0};
  std::atomic<std::uint64_t> connection_count_{0}, splice_count_{0}, subscription_count_{0};

  // Bus thread only.
  std::unique_ptr<Socket> front_;
  bus::BusThread::WatchId front_watch_ = 0;
  bus::BusTimer sweep_;
  bus::BusTimer retry_;
  std::unordered_map<std::string, std::unique_ptr<Connection>> connections_;  // By identity.
  // Identities of the last kMostEnded connections that were cut.
  std::unordered_set<std::string> ended_;
  std::deque<std::string> ended_order_;
  std::vector<std::shared_ptr<Splice>> blocked_;  // Splices whose message waits for the client.
  std::uint64_t unused_ = 0;  // Connections that ended without any message of a client.
  absl::Duration log_second_ = -absl::InfiniteDuration();
  int log_lines_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

absl::Status Splices::Impl::Open() {
  const bus::CurveKeys keys{.own = options_.own, .server_key = {}};
  absl::Status opened;
  thread_.Run([&] {
    KeyBook* const book = options_.keys;
    auto check = bus::KeyCheck::Start(thread_.context(),
                                      [book](const std::string& key, const std::string& address) {
                                        return book->LetIn(key, address);
                                      });
    if (!check.ok()) return (void)(opened = check.status());
    key_check_ = *std::move(check);
    auto front = Socket::Open(thread_.context(), Socket::Use::kGate, &keys);
    if (!front.ok()) return (void)(opened = front.status());
    for (const std::string& endpoint : options_.endpoints) {
      opened = (*front)->Bind(endpoint);
      if (!opened.ok()) return;
      endpoints_.push_back((*front)->BoundTo());
    }
    front_ = *std::move(front);
    front_watch_ = thread_.Watch(front_->handle(), [this] { OnFront(); });
    sweep_.Start(&thread_, kSweep, [this] { Sweep(); });
  });
  return opened;
}

void Splices::Impl::CloseAll() {
  alive_.reset();
  sweep_.Cancel();
  retry_.Cancel();
  for (auto& [identity, connection] : connections_) {
    for (auto& [service, splice] : connection->splices) Close(*splice);
  }
  connections_.clear();
  blocked_.clear();
  thread_.Unwatch(front_watch_);
  front_.reset();
}

Splices::Stats Splices::Impl::GetStats() const {
  return {.connections = connection_count_,
          .splices = splice_count_,
          .subscriptions = subscription_count_,
          .nodes = node_count_,
          .channels = channel_count_,
          .calls_passed = calls_passed_,
          .calls_refused = calls_refused_,
          .malformed = malformed_,
          .events_passed = events_passed_,
          .connections_cut = cut_};
}

// ---- From clients

void Splices::Impl::OnFront() {
  std::vector<Frame> frames;
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    if (!front_->Receive(frames)) return thread_.Drained(front_watch_);
    OnClient(frames);
  }
}

// A client's message is [identity][service][frame for the service].
void Splices::Impl::OnClient(std::vector<Frame>& frames) {
  if (frames.size() < 2) return;
  const std::string identity(frames[0].text());
  if (ended_.contains(identity)) return;
  // (If the message has too many frames, the last one stands for the dropped ones.)
  const bus::Sender sender = bus::SenderOf(frames[1]);
  Connection& connection = *ConnectionOf(identity, sender);
  const auto key = options_.keys->Find(sender.key);
  if (!key.has_value()) return Cut(connection, "its key was removed");
  if (frames.size() != 3) {
    return DropMalformed(connection, sender, absl::InvalidArgumentError("not two frames"));
  }
  if (frames[1].text() == bus::kHubOfGate) {
    const absl::Status good = CheckSubscription(frames[2].text(), *key);
    if (absl::IsPermissionDenied(good)) return (void)SayWayLost(connection, good);
    if (!good.ok()) return DropMalformed(connection, sender, good);
    return OnSubscription(connection, frames);
  }
  if (key->is_of_node() && frames[1].text() == bus::kNodeOfGate) {
    return OnNode(connection, *key, sender, frames[2].text());
  }
  OnCall(connection, *key, sender, frames);
}

void Splices::Impl::OnNode(Connection& connection, const bus::AllowedKey& key,
                           const bus::Sender& sender, std::string_view message) {
  const std::string& identity = connection.identity;
  const bool is_new = connection.node == nullptr;
  if (is_new) {
    connection.node = std::make_unique<NodeConnection>(NodeConnection::Options{
        .thread = &thread_,
        .key = key,
        .runtime_directory = options_.node->locations().runtime_directory,
        .send =
            [this, &connection](std::string_view bytes) {
              std::array<Frame, 2> frames = {Frame(std::string_view(connection.identity)),
                                             Frame(bytes)};
              return Send(connection, frames);
            },
        .on_stuck = [this, &connection](std::string_view why) { Cut(connection, why); }});
  }
  if (absl::Status good = connection.node->Receive(message); !good.ok()) {
    malformed_ += absl::IsInvalidArgument(good) ? 1 : 0;
    return Cut(connection, {good.message().data(), good.message().size()});
  }
  if (!is_new) return;
  if (MayLog()) LOG(INFO) << "node " << key.name << " has come from " << sender.address;
  // A node that reconnects has given up its earlier connections.
  std::vector<std::string> earlier;
  for (const auto& [other, one] : connections_) {
    if (other != identity && one->node != nullptr && one->key == key.public_key) {
      earlier.push_back(other);
    }
  }
  for (const std::string& other : earlier) Cut(*connections_.at(other), "it has connected again");
}

void Splices::Impl::CountChannels() {
  std::uint64_t nodes = 0, channels = 0;
  for (const auto& [identity, connection] : connections_) {
    if (connection->node == nullptr) continue;
    ++nodes;
    channels += connection->node->channels();
  }
  node_count_ = nodes;
  channel_count_ = channels;
}

void Splices::Impl::OnCall(Connection& connection, const bus::AllowedKey& key,
                           const bus::Sender& sender, std::vector<Frame>& frames) {
  const std::string service(frames[1].text());
  const Admission verdict = Judge(service, frames[2].bytes(), key);
  if (verdict.what == Admission::What::kMalformed) {
    return DropMalformed(connection, sender, verdict.why);
  }
  if (verdict.what == Admission::What::kRefuse) {
    calls_refused_ += 1;
    if (MayLog()) {
      LOG(INFO) << "refused " << key.name << " at " << sender.address << ": "
                << runtime::Printable(runtime::Std(verdict.why.message()));
    }
    return Answer(connection, verdict.corr, verdict.why);
  }
  if (!verdict.opens && !connection.splices.contains(service)) return;
  const auto splice = SpliceOf(connection, service);
  if (!splice.ok()) return (void)SayWayLost(connection, splice.status());
  if (verdict.method != nullptr && verdict.method->role != bus::Role::kRead) {
    LogCall(key, sender, service, verdict);
  }
  const Socket::Sent sent = (*splice)->socket->Send(std::span(frames).subspan(2));
  if (sent == Socket::Sent::kYes) {
    calls_passed_ += verdict.opens ? 1 : 0;
  } else if (verdict.opens) {
    Answer(connection, verdict.corr,
           absl::UnavailableError(absl::StrCat("the ", service, " does not read its requests")));
  }
}

void Splices::Impl::OnSubscription(Connection& connection, std::vector<Frame>& frames) {
  const std::string_view frame = frames[2].text();
  const std::string prefix(frame.substr(1));
  const auto splice = SpliceOf(connection, std::string(bus::kHubOfGate));
  if (!splice.ok()) return (void)SayWayLost(connection, splice.status());
  std::set<std::string>& subscribed = (*splice)->subscribed;
  if (frame.front() != kBegins) {
    if (subscribed.erase(prefix) != 0) {
      --subscription_count_;
      (*splice)->socket->Unsubscribe(prefix);
    }
    return;
  }
  if (subscribed.contains(prefix)) return;
  if (subscribed.size() >= kMostSubscriptions || subscription_count_ >= kMostSubscriptionsOfAll) {
    const bool told = SayWayLost(
        connection, absl::ResourceExhaustedError(absl::StrCat(
                        "too many subscriptions through the gate: at most ", kMostSubscriptions,
                        " of one client, ", kMostSubscriptionsOfAll, " of all")));
    if (told) Cut(connection, "it has too many subscriptions");
    return;
  }
  subscribed.insert(prefix);
  ++subscription_count_;
  (*splice)->socket->Subscribe(prefix);
}

void Splices::Impl::DropMalformed(Connection& connection, const bus::Sender& sender,
                                  const absl::Status& why) {
  malformed_ += 1;
  if (std::exchange(connection.is_logged, true) || !MayLog()) return;
  const auto key = options_.keys->Find(connection.key);
  LOG(WARNING) << "dropped a message of " << (key ? key->name : "a removed key") << " at "
               << sender.address << ": " << why.message() << " (said once for each connection)";
}

// Logs each call that may change something, because the service's own log cannot name the client.
void Splices::Impl::LogCall(const bus::AllowedKey& key, const bus::Sender& sender,
                            std::string_view service, const Admission& verdict) {
  if (!MayLog()) return;
  LOG(INFO) << key.name << " (" << bus::NameOfRole(key.role) << ") at " << sender.address << ": "
            << service << "." << verdict.method->name << ", request "
            << runtime::Printable(verdict.request_id) << ", trace "
            << runtime::Printable(verdict.trace);
}

bool Splices::Impl::MayLog() {
  if (Now() - log_second_ >= absl::Seconds(1)) {
    log_second_ = Now();
    log_lines_ = 0;
  }
  return ++log_lines_ <= kLinesASecond;
}

// ---- To services

absl::StatusOr<std::unique_ptr<Socket>> Splices::Impl::ConnectTo(const std::string& service) const {
  const runtime::Locations& locations = options_.node->locations();
  const bool is_hub = service == bus::kHubOfGate;
  const std::string address = is_hub                  ? bus::HubSubscribeAddress(locations)
                              : service == "registry" ? locations.registry_address
                                                      : locations.ServiceAddress(service);
  // (Subscribers wait for the hub, which reconnects by itself.)
  if (absl::Status there = is_hub ? absl::OkStatus() : bus::ProbeListener(address); !there.ok()) {
    return absl::UnavailableError(there.message());
  }
  auto socket =
      Socket::Open(thread_.context(), is_hub ? Socket::Use::kSubscriber : Socket::Use::kReader);
  if (!socket.ok()) return socket.status();
  if (absl::Status connected = (*socket)->Connect(address); !connected.ok()) return connected;
  return socket;
}

absl::StatusOr<std::shared_ptr<Splice>> Splices::Impl::SpliceOf(Connection& connection,
                                                                const std::string& service) {
  if (const auto found = connection.splices.find(service); found != connection.splices.end()) {
    return found->second;
  }
  if (splice_count_ >= kMostSplices) {
    return absl::UnavailableError(absl::StrCat("the gate has ", kMostSplices,
                                               " connections to services, and takes no more now"));
  }
  auto socket = ConnectTo(service);
  if (!socket.ok()) return socket.status();
  auto splice = std::make_shared<Splice>();
  splice->connection = &connection;
  splice->service = service;
  splice->socket = *std::move(socket);
  connection.splices.emplace(service, splice);
  ++splice_count_;
  WatchSplice(splice);
  if (!splice->is_hub()) {
    splice->monitor_watch = thread_.Watch(
        splice->socket->monitor(), [this, splice] { OnServiceLost(splice); },
        bus::BusThread::UsedBy::kReadable);
  }
  return splice;
}

void Splices::Impl::WatchSplice(const std::shared_ptr<Splice>& splice) {
  splice->watch = thread_.Watch(splice->socket->handle(), [this, splice] { OnService(splice); });
}

void Splices::Impl::OnServiceLost(const std::shared_ptr<Splice>& splice) {
  if (splice->closed || !splice->socket->ReadConnectionLost()) return;
  // Passes on the answers that the service gave before it ended.
  OnService(splice);
  if (splice->closed) return;
  Connection& connection = *splice->connection;
  const std::string service = splice->service;
  // (A message that waits for the client is lost with the rest: the client repeats the call.)
  Close(*splice);
  connection.splices.erase(service);
  (void)SayWayLost(connection, absl::AbortedError(
                                   absl::StrCat("the ", service, " has ended, or was restarted")));
}

void Splices::Impl::Close(Splice& splice) {
  splice.closed = true;
  thread_.Unwatch(splice.watch);
  thread_.Unwatch(splice.monitor_watch);
  splice.socket.reset();
  splice.waiting.clear();
  subscription_count_ -= splice.subscribed.size();
  splice.subscribed.clear();
  --splice_count_;
}

// ---- To clients

void Splices::Impl::OnService(const std::shared_ptr<Splice>& splice) {
  std::vector<Frame> frames;
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    if (splice->closed || !splice->waiting.empty() || !splice->socket->Receive(frames)) return;
    frames.insert(frames.begin(), Frame(std::string_view(splice->connection->identity)));
    if (!PassOn(splice, frames)) return;
  }
}

// Returns false if the message waits or the client has disconnected.
bool Splices::Impl::PassOn(const std::shared_ptr<Splice>& splice, std::vector<Frame>& frames) {
  const Socket::Sent sent = Send(*splice->connection, frames);
  if (sent == Socket::Sent::kYes) {
    if (splice->is_hub()) events_passed_ += 1;
    return true;
  }
  if (sent == Socket::Sent::kGone) {
    Drop(std::string(splice->connection->identity));
    return false;
  }
  splice->waiting = std::move(frames);
  splice->waiting_since = Now();
  thread_.Unwatch(std::exchange(splice->watch, 0));
  blocked_.push_back(splice);
  if (!retry_.is_set()) retry_.Start(&thread_, kRetrySend, [this] { RetryWaiting(); });
  return false;
}

// Retries by timer, because ZeroMQ does not report when a client's queue has room again.
void Splices::Impl::RetryWaiting() {
  const auto now = std::exchange(blocked_, {});
  for (const auto& splice : now) {
    if (splice->closed) continue;
    const absl::Duration since = splice->waiting_since;
    auto frames = std::exchange(splice->waiting, {});
    if (PassOn(splice, frames)) {
      WatchSplice(splice);
    } else if (!splice->closed) {
      splice->waiting_since = since;
      if (splice->is_hub() && Now() - since > kMostBlocked) {
        Cut(*splice->connection, "it has not read its events for 10 s");
      }
    }
  }
}

Socket::Sent Splices::Impl::Send(Connection& connection, std::span<Frame> frames) {
  const Socket::Sent sent = front_->Send(frames);
  if (sent == Socket::Sent::kYes) connection.last_sent = Now();
  return sent;
}

void Splices::Impl::Answer(Connection& connection, std::uint64_t corr, const absl::Status& error) {
  msg::EnvelopeT reply;
  reply.kind = msg::Kind::Reply;
  reply.corr = corr;
  reply.status = bus::ToWire(error);
  std::array<Frame, 2> frames = {Frame(std::string_view(connection.identity)), bus::Encode(reply)};
  // A client that does not read its messages loses this one.
  (void)Send(connection, frames);
}

bool Splices::Impl::SayWayLost(Connection& connection, const absl::Status& why) {
  std::array<Frame, 2> frames = {Frame(std::string_view(connection.identity)),
                                 bus::EncodeWayLost(why)};
  // This message must not be lost: a client that cannot receive it is cut off, and sees that
  // instead.
  if (Send(connection, frames) != Socket::Sent::kFull) return true;
  Cut(connection, "it does not read");
  return false;
}

// ---- Connections

Connection* Splices::Impl::ConnectionOf(const std::string& identity, const bus::Sender& sender) {
  auto& connection = connections_[identity];
  if (connection != nullptr) return connection.get();
  connection = std::make_unique<Connection>();
  connection->identity = identity;
  connection->key = sender.key;
  connection->ticket = bus::TcpDoor::OfThisProcess().NoteInUse(sender.descriptor);
  connection->last_sent = Now();
  connection_count_ = connections_.size();
  return connection.get();
}

void Splices::Impl::Drop(const std::string& identity) {
  const auto found = connections_.find(identity);
  if (found == connections_.end()) return;
  for (auto& [service, splice] : found->second->splices) Close(*splice);
  connections_.erase(found);
  connection_count_ = connections_.size();
}

void Splices::Impl::Cut(Connection& connection, std::string_view why) {
  const auto key = options_.keys->Find(connection.key);
  if (MayLog()) {
    LOG(INFO) << "cut a connection of " << (key ? key->name : "a removed key") << ": " << why;
  }
  cut_ += 1;
  if (connection.node != nullptr) connection.node->Refuse(why);
  // Closes the connection a little later, so that the last message can still arrive.
  thread_.RunAfter(kToHear,
                   [ticket = connection.ticket] { bus::TcpDoor::OfThisProcess().Cut(ticket); });
  // Ignores the messages that the client has already queued.
  ended_.insert(connection.identity);
  ended_order_.push_back(connection.identity);
  if (ended_order_.size() > kMostEnded) {
    ended_.erase(ended_order_.front());
    ended_order_.pop_front();
  }
  Drop(std::string(connection.identity));
}

void Splices::Impl::CutRemoved() {
  std::vector<std::string> removed;
  for (const auto& [identity, connection] : connections_) {
    const auto key = options_.keys->Find(connection->key);
    const bool is_other = key.has_value() && connection->node != nullptr &&
                          key->nonce != connection->node->key().nonce;
    if (!key.has_value() || is_other) removed.push_back(identity);
  }
  for (const std::string& identity : removed) {
    Cut(*connections_.at(identity), "its key was removed");
  }
}

// Pings all clients, which detects those that have disconnected. Reports connections without a
// valid key.
void Splices::Impl::Sweep() {
  const std::uint64_t unused = bus::TcpDoor::OfThisProcess().GetStats().unused;
  if (std::exchange(unused_, unused) != unused) {
    LOG_EVERY_T(WARNING, 60) << unused
                             << " connections until now have shown no key that is allowed";
  }
  sweep_.Start(&thread_, kSweep, [this] { Sweep(); });
  msg::EnvelopeT ping;
  ping.kind = msg::Kind::Ping;
  const Frame encoded = bus::Encode(ping);
  std::vector<std::string> gone;
  for (const auto& [identity, connection] : connections_) {
    if (Now() - connection->last_sent < kSweep) continue;
    if (connection->node != nullptr) {
      connection->node->Ping();
      continue;
    }
    std::array<Frame, 2> frames = {Frame(std::string_view(identity)), encoded.Share()};
    if (Send(*connection, frames) == Socket::Sent::kGone) gone.push_back(identity);
  }
  for (const std::string& identity : gone) Drop(identity);
  CountChannels();
}

Splices::Splices(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Splices::~Splices() = default;
std::vector<std::string> Splices::endpoints() const { return impl_->endpoints(); }
void Splices::KeysChanged() { impl_->KeysChanged(); }
Splices::Stats Splices::GetStats() const { return impl_->GetStats(); }

absl::StatusOr<std::unique_ptr<Splices>> Splices::Open(Options options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (absl::Status opened = impl->Open(); !opened.ok()) return opened;
  return std::unique_ptr<Splices>(new Splices(std::move(impl)));
}

}  // namespace gate
