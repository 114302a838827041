#include "bus/call/client.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bus/access/access_file.h"
#include "bus/access/gate_connection.h"
#include "bus/access/gate_messages.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/bus_thread.h"
#include "bus/thread/counters.h"
#include "bus/thread/reply_parts.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "bus/wire/receive.h"
#include "bus/wire/trace.h"
#include "glog/logging.h"
#include "runtime/mutex.h"
#include "runtime/text/random_id.h"
#include "runtime/text/string_view.h"

// Invariants:
// - Everything in State but `last_id` belongs to the bus thread.
// - A call is in `calls` until it ends, and it ends once: only End() ends it, and removes it first.
// - A call that has not ended is in exactly one set of its connection: `waiting` (to be sent once
//   the connection is open) or `sent`.
// - With a gate (the registry's address is "gate:PATH"), every service has the gate's address, and
//   a frame that names the service precedes each request; nothing else differs.
// - Each connection has a new socket. When the connection breaks, its socket is closed together
//   with its queue, so that ZeroMQ never delivers a request late or twice.

namespace bus {
namespace {

constexpr std::string_view kRegistry = "registry";
constexpr int kMessagesAtOnce = 256;
constexpr std::size_t kMaxCallsOfOne = 1024;      // Limit of a Service for each caller.
constexpr std::size_t kMaxUnreadBytes = 4 << 20;  // Limit of a blocking caller's unread parts.
constexpr int kMaxAttempts = 3;                   // Unless the call has wait_for_service.
// Retries of such a call when a gate closes the connection before the keys are agreed, which a gate
// may do while many clients connect at once.
constexpr int kMaxGateTries = 5;
// How long a call with wait_for_service retries a gate that refuses the key: an operator may be
// adding the key to the gate at this moment.
constexpr absl::Duration kMaxRefused = absl::Seconds(2);
constexpr absl::Duration kMaxSilence = absl::Seconds(3);  // A stream Pings every 0.5 s.
constexpr absl::Duration kSilenceCheck = absl::Milliseconds(250);
constexpr absl::Duration kLookupTimeout = absl::Seconds(2);
constexpr absl::Duration kFirstPause = absl::Milliseconds(10);  // Before the first retry.
constexpr absl::Duration kLongestPause = absl::Milliseconds(160);

struct Connection;

struct OpenCall {
  std::uint64_t id = 0;
  MethodInfo method;
  std::string service;
  msg::EnvelopeT request;
  bool wait_for_service = false;
  absl::Duration deadline = absl::InfiniteDuration();
  BusTimer timer;
  absl::Duration last_heard;
  int attempt = 0;   // Number of times the request was sent.
  ReplyMerge merge;  // Joins the parts of this attempt's answer.
  std::function<void(msg::EnvelopeT, std::size_t bytes)> on_part;
  std::function<void(absl::StatusOr<msg::EnvelopeT>)> done;
  Connection* connection = nullptr;
};

// The connection to one service. Each blocking stream has a connection of its own, so that a slow
// reader delays its own stream only.
struct Connection {
  std::string service;
  std::uint64_t own_of = 0;  // Id of the call that owns it; 0: shared.
  std::string endpoint;
  std::string gate_key;  // Name of the key that identifies this client to a gate.
  int gate_tries = 0;    // Consecutive connections that a gate closed before the keys were agreed.
  absl::Duration refused_since = absl::InfiniteDuration();  // When the gate first refused the key.
  std::string trouble;  // Why the gate, or the service behind it, was last unreachable.
  std::unique_ptr<Socket> socket;
  BusThread::WatchId watch = 0;
  BusThread::WatchId monitor_watch = 0;
  bool resolving = false;
  bool paused = false;
  BusTimer pause_timer;  // Retries the connection when it fires.
  absl::Duration pause = kFirstPause;
  std::set<std::uint64_t> waiting;
  std::set<std::uint64_t> sent;
};

std::string NameOf(const OpenCall& call) {
  return absl::StrCat(call.service, ".", runtime::Absl(call.method.name));
}

// Adds the call's name to an error of joining its parts.
absl::Status Whole(const OpenCall& call, const absl::Status& merged) {
  if (merged.ok()) return merged;
  return absl::Status(merged.code(), absl::StrCat(NameOf(call), ": ", merged.message()));
}

// Trace id for work that this call causes; empty if the call has no parent trace.
std::string TraceBehind(const OpenCall& call) {
  return call.request.trace == call.request.request_id ? "" : call.request.trace;
}

std::string InWords(absl::Duration time) {
  return absl::StrFormat("%gs", absl::ToDoubleSeconds(time));
}

}  // namespace

struct Client::State : std::enable_shared_from_this<Client::State> {
  explicit State(Node* n)
      : node(n),
        thread(n->bus_thread()),
        counters(n->counters()),
        access_file(PathOfAccessFile(n->locations().registry_address)) {}

  Node* const node;
  BusThread& thread;
  Counters& counters;
  const std::optional<std::string> access_file;  // Set: all services are behind a gate.
  std::atomic<std::uint64_t> last_id{0};

  // Bus thread only.
  bool closed = false;
  std::unordered_map<std::uint64_t, std::unique_ptr<OpenCall>> calls;
  std::map<std::pair<std::string, std::uint64_t>, std::unique_ptr<Connection>> connections;
  std::map<std::string, std::string> endpoints;  // As the registry returned them, by service.
  BusTimer silence_timer;
  std::uint64_t malformed = 0;

  absl::Duration Now() const { return node->clock()->Monotonic(); }

  // Calls.
  std::unique_ptr<OpenCall> MakeCall(const MethodInfo& method, msg::EnvelopeT request,
                                     const CallOptions& options);
  void Begin(std::unique_ptr<OpenCall> call, bool own_connection);
  void End(std::uint64_t id, absl::StatusOr<msg::EnvelopeT> result);
  void CancelCall(std::uint64_t id, const absl::Status& why);
  void OnDeadline(std::uint64_t id);
  void CheckSilence();
  void CloseAll();

  // Connections.
  Connection& ConnectionFor(const OpenCall& call, bool own);
  void EndIfUnused(Connection* connection);
  void Advance(Connection& connection);
  void LookUp(Connection& connection);
  void OnLookup(const std::string& service, std::uint64_t own_of,
                const absl::StatusOr<msg::LookupReplyT>& reply);
  absl::Status Connect(Connection& connection, const std::string& endpoint);
  absl::Status ConnectThroughGate(Connection& connection);
  void Connected(Connection& connection, std::unique_ptr<Socket> socket,
                 const std::string& endpoint);
  // Fails or postpones the waiting calls. `for_good`: a retry cannot help, so all of them fail.
  void NotThere(Connection& connection, const absl::Status& why, bool for_good = false);
  void Pause(Connection& connection);
  void Lost(Connection& lost);
  // Closes the lost connection and moves its sent calls back to `waiting`.
  void WaitAgain(Connection& connection);
  bool NeverThere(Connection& connection);
  bool WasRefusedForLong(Connection& connection, Socket::Reached reached) const;
  void OnWayLost(Connection& connection, const absl::Status& why);
  void Disconnect(Connection& connection);
  void SetReading(std::uint64_t id, bool reading);

  // Messages.
  // Returns false if the connection was broken already: the call is in `waiting` again.
  bool SendCall(Connection& connection, OpenCall& call);
  void SendCancel(Connection& connection, std::uint64_t id);
  bool Send(Connection& connection, Frame frame);
  void OnReadable(Connection* connection);
  // kSome: more messages may be queued; kAll: the queue is empty; kNoMore: the connection is paused
  // or closed.
  enum class Read { kSome, kAll, kNoMore };
  Read ReadAll(Connection* connection, int at_most);
  void OnMessage(Connection& connection, const std::vector<Frame>& frames);
  void OnPart(OpenCall& call, msg::EnvelopeT part, std::size_t bytes);
};

// ---- Calls

std::unique_ptr<OpenCall> Client::State::MakeCall(const MethodInfo& method, msg::EnvelopeT request,
                                                  const CallOptions& options) {
  auto call = std::make_unique<OpenCall>();
  call->id = ++last_id;
  call->method = method;
  call->service = options.service.empty() ? std::string(method.service) : options.service;
  call->wait_for_service = options.wait_for_service;
  const absl::Duration timeout =
      options.timeout > absl::ZeroDuration() ? options.timeout : method.default_timeout;
  call->deadline = Now() + timeout;
  call->request = std::move(request);
  call->request.kind = msg::Kind::Request;
  call->request.corr = call->id;
  call->request.method = std::string(method.name);
  call->request.request_id =
      options.request_id.empty() ? runtime::RandomHex128() : options.request_id;
  const msg::EnvelopeT& own = call->request;
  for (const std::string* trace :
       {&options.trace, &CurrentTrace(), &node->trace(), &own.request_id}) {
    call->request.trace = *trace;
    if (!trace->empty()) break;
  }
  return call;
}

void Client::State::Begin(std::unique_ptr<OpenCall> owned, bool own_connection) {
  OpenCall& call = *owned;
  if (closed) return call.done(absl::CancelledError("the client is being destroyed"));
  if (call.service.empty()) {
    return call.done(absl::InvalidArgumentError(absl::StrCat(
        runtime::Absl(call.method.name), " is a method of every service: which one is meant?")));
  }
  const std::uint64_t id = call.id;
  if (call.deadline != absl::InfiniteDuration()) {
    call.timer.Start(&thread, call.deadline - Now(), [this, id] { OnDeadline(id); });
  }
  Connection& connection = ConnectionFor(call, own_connection);
  call.connection = &connection;
  call.last_heard = Now();
  calls.emplace(id, std::move(owned));
  if (connection.sent.size() + connection.waiting.size() >= kMaxCallsOfOne) {
    return End(id, absl::ResourceExhaustedError(
                       absl::StrCat(call.service, ": ", kMaxCallsOfOne, " calls are under way")));
  }
  connection.waiting.insert(id);
  if (call.method.streaming && !silence_timer.is_set()) {
    silence_timer.Start(&thread, kSilenceCheck, [this] { CheckSilence(); });
  }
  Advance(connection);
}

void Client::State::End(std::uint64_t id, absl::StatusOr<msg::EnvelopeT> result) {
  auto node_of_call = calls.extract(id);
  if (node_of_call.empty()) return;
  OpenCall& call = *node_of_call.mapped();
  call.timer.Cancel();
  Connection* const connection = call.connection;
  connection->waiting.erase(id);
  connection->sent.erase(id);
  const bool own = connection->own_of == id;
  {
    const TraceScope scope(TraceBehind(call));
    call.done(std::move(result));
  }
  // (No callback can have removed the connection: only this function and the client's destructor
  // do.)
  if (own) EndIfUnused(connection);
}

void Client::State::CancelCall(std::uint64_t id, const absl::Status& why) {
  const auto found = calls.find(id);
  if (found == calls.end()) return;
  Connection& connection = *found->second->connection;
  if (connection.sent.contains(id)) SendCancel(connection, id);
  End(id, why);
}

void Client::State::OnDeadline(std::uint64_t id) {
  const auto found = calls.find(id);
  if (found == calls.end()) return;
  OpenCall& call = *found->second;
  // If this process was stopped for a while, the answer may be queued unread.
  if (ReadAll(call.connection, kMessagesAtOnce); !calls.contains(id)) return;
  counters.deadlines_expired.Add();
  const bool sent = call.connection->sent.contains(id);
  const std::string what =
      sent ? absl::StrCat(" at ", call.connection->endpoint, " did not answer in time")
           : absl::StrCat(": ", call.service, " could not be reached in time",
                          call.connection->trouble.empty() ? "" : ": ", call.connection->trouble);
  CancelCall(id, absl::DeadlineExceededError(absl::StrCat(NameOf(call), what)));
}

void Client::State::CheckSilence() {
  std::vector<std::uint64_t> streams;
  for (const auto& [id, call] : calls) {
    if (call->method.streaming) streams.push_back(id);
  }
  for (const std::uint64_t id : streams) {
    auto call = calls.find(id);
    if (call == calls.end() || !call->second->connection->sent.contains(id)) continue;
    if (call->second->connection->paused || Now() - call->second->last_heard <= kMaxSilence) {
      continue;
    }
    // If this process was stopped for a while, messages of the service may be queued unread.
    ReadAll(call->second->connection, kMessagesAtOnce);
    call = calls.find(id);
    if (call == calls.end() || Now() - call->second->last_heard <= kMaxSilence) continue;
    CancelCall(id, absl::UnavailableError(absl::StrCat(
                       NameOf(*call->second), " at ", call->second->connection->endpoint,
                       " has been silent for ", InWords(kMaxSilence))));
  }
  if (streams.empty()) return;
  silence_timer.Start(&thread, kSilenceCheck, [this] { CheckSilence(); });
}

void Client::State::CloseAll() {
  closed = true;
  while (!calls.empty()) {
    CancelCall(calls.begin()->first, absl::CancelledError("the client is being destroyed"));
  }
  for (auto& [key, connection] : connections) {
    connection->pause_timer.Cancel();
    Disconnect(*connection);
  }
  connections.clear();
  silence_timer.Cancel();
}

// ---- Connections

Connection& Client::State::ConnectionFor(const OpenCall& call, bool own) {
  const std::uint64_t own_of = own ? call.id : 0;
  auto& connection = connections[{call.service, own_of}];
  if (connection == nullptr) {
    connection = std::make_unique<Connection>();
    connection->service = call.service;
    connection->own_of = own_of;
  }
  return *connection;
}

void Client::State::EndIfUnused(Connection* connection) {
  if (closed) return;
  connection->pause_timer.Cancel();
  Disconnect(*connection);
  connections.erase({connection->service, connection->own_of});
}

// Opens the connection if it is closed, then sends the waiting calls.
void Client::State::Advance(Connection& connection) {
  if (connection.socket == nullptr) {
    if (connection.resolving || connection.pause_timer.is_set() || connection.waiting.empty())
      return;
    if (access_file.has_value()) {
      const absl::Status status = ConnectThroughGate(connection);
      if (!status.ok()) return NotThere(connection, status, true);
    } else if (connection.service == kRegistry) {
      const absl::Status status = Connect(connection, node->locations().registry_address);
      if (!status.ok()) return NotThere(connection, status);
    } else {
      const auto known = endpoints.find(connection.service);
      if (known == endpoints.end()) return LookUp(connection);
      if (!Connect(connection, known->second).ok()) {
        endpoints.erase(known);
        return LookUp(connection);
      }
    }
  }
  const auto waiting = std::exchange(connection.waiting, {});
  connection.sent.insert(waiting.begin(), waiting.end());
  bool is_lost = false;
  for (const std::uint64_t id : waiting) {
    const auto call = calls.find(id);
    if (call != calls.end() && !SendCall(connection, *call->second)) is_lost = true;
  }
  if (is_lost) Lost(connection);
}

void Client::State::LookUp(Connection& connection) {
  using Lookup = rpc::Registry::Lookup;
  connection.resolving = true;
  msg::EnvelopeT request;
  msg::LookupRequestT body;
  body.name = connection.service;
  request.body.Set(std::move(body));
  const auto first = calls.find(connection.waiting.empty() ? 0 : *connection.waiting.begin());
  auto call = MakeCall(Lookup::kInfo, std::move(request),
                       {.timeout = kLookupTimeout,
                        .trace = first == calls.end() ? "" : TraceBehind(*first->second)});
  call->done = [this, service = connection.service,
                own_of = connection.own_of](absl::StatusOr<msg::EnvelopeT> end) {
    if (!end.ok()) return OnLookup(service, own_of, end.status());
    auto* const reply = Lookup::ReplyOf(end->body);
    if (reply == nullptr) return OnLookup(service, own_of, absl::InternalError("not a lookup"));
    OnLookup(service, own_of, std::move(*reply));
  };
  Begin(std::move(call), false);
}

void Client::State::OnLookup(const std::string& service, std::uint64_t own_of,
                             const absl::StatusOr<msg::LookupReplyT>& reply) {
  const auto found = connections.find({service, own_of});
  if (closed || found == connections.end()) return;
  Connection& connection = *found->second;
  connection.resolving = false;
  std::vector<std::string> candidates;
  absl::Status why = absl::UnavailableError(
      absl::StrCat("not registered at ", node->locations().registry_address));
  if (reply.ok()) {
    // The newest lease first.
    for (auto lease = reply->leases.rbegin(); lease != reply->leases.rend(); ++lease) {
      for (const std::string& endpoint : (*lease)->endpoints) candidates.push_back(endpoint);
    }
  } else {
    why =
        absl::UnavailableError(absl::StrCat("cannot ask the registry: ", reply.status().message()));
    // While the registry restarts, a service still has its default address.
    candidates.push_back(node->locations().ServiceAddress(service));
  }
  for (const std::string& endpoint : candidates) {
    const absl::Status connected = Connect(connection, endpoint);
    if (connected.ok()) {
      if (reply.ok()) endpoints[service] = endpoint;
      return Advance(connection);
    }
    if (reply.ok()) why = connected;
  }
  NotThere(connection, why);
}

absl::Status Client::State::Connect(Connection& connection, const std::string& endpoint) {
  if (absl::Status probed = ProbeListener(endpoint); !probed.ok()) return probed;
  auto socket = Socket::Open(thread.context(),
                             connection.own_of == 0 ? Socket::Use::kCaller : Socket::Use::kReader);
  if (!socket.ok()) return socket.status();
  if (absl::Status connected = (*socket)->Connect(endpoint); !connected.ok()) return connected;
  connection.pause = kFirstPause;
  Connected(connection, *std::move(socket), endpoint);
  return absl::OkStatus();
}

absl::Status Client::State::ConnectThroughGate(Connection& connection) {
  auto gate = ConnectToGate(thread.context(),
                            connection.own_of == 0 ? Socket::Use::kCaller : Socket::Use::kReader,
                            *access_file);
  if (!gate.ok()) return gate.status();
  connection.gate_key = std::move(gate->key);
  Connected(connection, std::move(gate->socket), gate->address);
  return absl::OkStatus();
}

void Client::State::Connected(Connection& connection, std::unique_ptr<Socket> socket,
                              const std::string& endpoint) {
  connection.socket = std::move(socket);
  connection.endpoint = endpoint;
  Connection* const raw = &connection;
  connection.watch = thread.Watch(connection.socket->handle(), [this, raw] { OnReadable(raw); });
  connection.monitor_watch = thread.Watch(
      connection.socket->monitor(),
      [this, raw] {
        if (raw->socket->ReadConnectionLost()) Lost(*raw);
      },
      BusThread::UsedBy::kReadable);
}

void Client::State::Disconnect(Connection& connection) {
  if (connection.socket == nullptr) return;
  thread.Unwatch(connection.watch);
  thread.Unwatch(connection.monitor_watch);
  connection.watch = connection.monitor_watch = 0;
  connection.socket.reset();
}

// Handles an unreachable service: fails its waiting calls, except those with wait_for_service.
void Client::State::NotThere(Connection& connection, const absl::Status& why, bool for_good) {
  if (access_file.has_value()) connection.trouble = std::string(why.message());
  const std::string service = connection.service;
  std::vector<std::uint64_t> failed;
  for (const std::uint64_t id : connection.waiting) {
    if (for_good || !calls.at(id)->wait_for_service) failed.push_back(id);
  }
  if (failed.size() < connection.waiting.size()) Pause(connection);
  const absl::Status status(why.code(), absl::StrCat(service, ": ", why.message()));
  for (const std::uint64_t id : failed) End(id, status);
}

// Schedules the next attempt to connect, with exponential backoff.
void Client::State::Pause(Connection& connection) {
  if (connection.pause_timer.is_set()) return;
  connection.pause_timer.Start(&thread, connection.pause,
                               [this, raw = &connection] { Advance(*raw); });
  connection.pause = std::min(2 * connection.pause, kLongestPause);
}

void Client::State::WaitAgain(Connection& connection) {
  Disconnect(connection);
  const auto sent = std::exchange(connection.sent, {});
  connection.waiting.insert(sent.begin(), sent.end());
}

// Returns true, and restarts the period, once a gate has refused the key for kMaxRefused.
bool Client::State::WasRefusedForLong(Connection& connection, Socket::Reached reached) const {
  if (reached != Socket::Reached::kRefused) return false;
  connection.refused_since = std::min(connection.refused_since, Now());
  if (Now() - connection.refused_since < kMaxRefused) return false;
  connection.refused_since = absl::InfiniteDuration();
  return true;
}

// Handles a connection to a gate that was never established, on which no request can have arrived.
// Returns false for every other connection.
bool Client::State::NeverThere(Connection& connection) {
  const Socket::Reached reached = connection.socket->reached();
  if (!access_file.has_value() || reached == Socket::Reached::kGate) return false;
  const absl::Status why = WhyGateIsLost(reached, connection.endpoint, connection.gate_key);
  WaitAgain(connection);
  if (reached == Socket::Reached::kPeer && ++connection.gate_tries < kMaxGateTries) {
    Pause(connection);
  } else {
    connection.gate_tries = 0;
    NotThere(connection, why, WasRefusedForLong(connection, reached));
  }
  return true;
}

void Client::State::OnWayLost(Connection& connection, const absl::Status& why) {
  if (absl::IsAborted(why)) return Lost(connection);
  WaitAgain(connection);
  NotThere(connection, why, !absl::IsUnavailable(why));
}

void Client::State::Lost(Connection& lost) {
  if (NeverThere(lost)) return;
  const auto key = std::make_pair(lost.service, lost.own_of);
  // Reads the messages that the service sent before the connection broke; they may end the call
  // and, with it, the connection.
  while (ReadAll(&lost, kMessagesAtOnce) == Read::kSome) {
  }
  const auto still = connections.find(key);
  if (still == connections.end()) return;
  Connection& connection = *still->second;
  const std::string endpoint = connection.endpoint;
  Disconnect(connection);
  endpoints.erase(connection.service);
  const auto sent = std::exchange(connection.sent, {});
  connection.waiting.insert(sent.begin(), sent.end());
  std::vector<std::uint64_t> failed;
  bool again = false;
  for (const std::uint64_t id : sent) {
    const OpenCall& call = *calls.at(id);
    // The caller has seen parts of a stream already, so only the caller can decide to continue it.
    const bool repeat =
        !call.method.streaming && (call.wait_for_service || call.attempt < kMaxAttempts);
    if (!repeat) failed.push_back(id);
    again = again || call.attempt > 1;
  }
  if (again) Pause(connection);
  for (const std::uint64_t id : failed) {
    const auto call = calls.find(id);
    if (call == calls.end()) continue;
    End(id, absl::UnavailableError(
                absl::StrCat(NameOf(*call->second), ": the connection to ", endpoint, " broke")));
  }
  if (const auto left = connections.find(key); left != connections.end()) Advance(*left->second);
}

// ---- Messages

bool Client::State::SendCall(Connection& connection, OpenCall& call) {
  msg::EnvelopeT& request = call.request;
  const absl::Duration left = call.deadline - Now();
  request.budget_ms =
      call.deadline == absl::InfiniteDuration()
          ? 0
          : static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                absl::ToInt64Milliseconds(left), 1, std::numeric_limits<std::uint32_t>::max()));
  request.attempt = static_cast<std::uint8_t>(std::min(call.attempt++, 255));
  request.head = std::make_unique<msg::Head>(node->source(), node->epoch(), 0,
                                             absl::ToUnixMicros(node->clock()->Now()));
  call.last_heard = Now();
  call.merge.Reset();
  Frame frame = Encode(request);
  const std::uint64_t id = call.id;
  if (!Receive(frame.bytes(), kMaxRequestBytes).ok()) {
    End(id,
        absl::InvalidArgumentError(absl::StrCat(
            NameOf(call), ": the request is over the limits of a message: it has ", frame.size(),
            " bytes (at most ", kMaxRequestBytes, ") or over ", kMaxTables, " entries")));
    return true;
  }
  if (request.attempt > 0) counters.retries_sent.Add();
  if (Send(connection, std::move(frame))) return true;
  // A gate that refuses the key closes the connection; the monitor knows the reason by then.
  if (connection.socket->ReadConnectionLost()) {
    --call.attempt;
    connection.sent.erase(id);
    connection.waiting.insert(id);
    return false;
  }
  End(id, absl::UnavailableError(absl::StrCat(connection.service, " at ", connection.endpoint,
                                              " does not read its requests")));
  return true;
}

void Client::State::SendCancel(Connection& connection, std::uint64_t id) {
  if (connection.socket == nullptr) return;
  msg::EnvelopeT cancel;
  cancel.kind = msg::Kind::Cancel;
  cancel.corr = id;
  (void)Send(connection, Encode(cancel));  // Best effort.
}

bool Client::State::Send(Connection& connection, Frame frame) {
  const std::size_t bytes = frame.size();
  std::array<Frame, 2> frames = {Frame(std::string_view(connection.service)), std::move(frame)};
  const auto sent = std::span(frames).subspan(access_file.has_value() ? 0 : 1);
  if (connection.socket->Send(sent) != Socket::Sent::kYes) return false;
  counters.messages_sent.Add();
  counters.bytes_sent.Add(bytes);
  return true;
}

void Client::State::OnReadable(Connection* connection) {
  const BusThread::WatchId watch = connection->watch;
  if (ReadAll(connection, kMessagesAtOnce) == Read::kAll) thread.Drained(watch);
}

Client::State::Read Client::State::ReadAll(Connection* connection, int at_most) {
  const auto key = std::make_pair(connection->service, connection->own_of);
  std::vector<Frame> frames;
  for (int i = 0; i < at_most; ++i) {
    if (connection->socket == nullptr || connection->paused) return Read::kNoMore;
    if (!connection->socket->Receive(frames)) return Read::kAll;
    OnMessage(*connection, frames);
    // A connection that one call owns ends with that call.
    if (const auto found = connections.find(key);
        found == connections.end() || found->second.get() != connection) {
      return Read::kNoMore;
    }
  }
  return Read::kSome;
}

void Client::State::OnMessage(Connection& connection, const std::vector<Frame>& frames) {
  const auto received = frames.size() == 1 ? Receive(frames[0].bytes(), kMaxMessageBytes)
                                           : absl::InvalidArgumentError("more than one frame");
  counters.messages_received.Add();
  for (const Frame& frame : frames) counters.bytes_received.Add(frame.size());
  if (!received.ok()) {
    counters.malformed_dropped.Add();
    LOG_IF(WARNING, malformed++ == 0)
        << "dropped a message of " << connection.service << " at " << connection.endpoint << ": "
        << received.status().message() << " (said once)";
    return;
  }
  if (access_file.has_value()) {
    connection.gate_tries = 0;
    connection.refused_since = absl::InfiniteDuration();
    if (const auto why = WayLost(**received)) return OnWayLost(connection, *why);
    connection.pause = kFirstPause;
    connection.trouble.clear();
  }
  const std::uint64_t id = (*received)->corr();
  const auto found = calls.find(id);
  if (found == calls.end() || !connection.sent.contains(id)) return;  // The call has ended.
  OpenCall& call = *found->second;
  call.last_heard = Now();
  const msg::Kind kind = (*received)->kind();
  if (kind != msg::Kind::Reply && kind != msg::Kind::ReplyPart) return;
  absl::Status status =
      CheckProtocol(**received, absl::StrCat("the answer of ", NameOf(call)), "this program");
  if (status.ok() && !received->body_known()) {
    status = absl::UnimplementedError(
        absl::StrCat(NameOf(call), ": the answer has a type of a newer version"));
  }
  if (!status.ok()) {
    return kind == msg::Kind::Reply ? End(id, status) : CancelCall(id, status);
  }
  const std::unique_ptr<msg::EnvelopeT> reply((*received)->UnPack());
  if (kind == msg::Kind::ReplyPart) return OnPart(call, std::move(*reply), frames[0].size());
  status = FromWire(reply->status.get());
  if (status.ok()) status = Whole(call, call.merge.Finish(reply->body, frames[0].size()));
  if (!status.ok()) return End(id, status);
  End(id, std::move(*reply));
}

void Client::State::OnPart(OpenCall& call, msg::EnvelopeT part, std::size_t bytes) {
  if (call.method.streaming) {
    const TraceScope scope(TraceBehind(call));
    if (call.on_part) call.on_part(std::move(part), bytes);
    return;
  }
  const absl::Status added = Whole(call, call.merge.Add(std::move(part.body), bytes));
  if (!added.ok()) CancelCall(call.id, added);
}

void Client::State::SetReading(std::uint64_t id, bool reading) {
  const auto call = calls.find(id);
  if (call == calls.end()) return;
  Connection& connection = *call->second->connection;
  if (connection.paused == !reading || connection.socket == nullptr) return;
  connection.paused = !reading;
  thread.Unwatch(connection.watch);
  connection.watch = 0;
  if (!reading) return;
  call->second->last_heard = Now();
  connection.watch =
      thread.Watch(connection.socket->handle(), [this, raw = &connection] { OnReadable(raw); });
}

// ---- Public methods

namespace {

// The queue from the bus thread to a blocking caller.
struct Waiter {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  std::deque<std::pair<msg::EnvelopeT, std::size_t>> parts ABSL_GUARDED_BY(mutex);
  std::size_t bytes ABSL_GUARDED_BY(mutex) = 0;
  bool paused ABSL_GUARDED_BY(mutex) = false;
  bool done ABSL_GUARDED_BY(mutex) = false;
  absl::StatusOr<msg::EnvelopeT> result ABSL_GUARDED_BY(mutex) = absl::UnknownError("");

  void Finish(absl::StatusOr<msg::EnvelopeT> end) {
    {
      runtime::MutexLock lock(mutex);
      result = std::move(end);
      done = true;
    }
    changed.Signal();  // Unlocked, so that the woken thread need not wait for it.
  }
};

}  // namespace

Client::Client(Node* node) : state_(std::make_shared<State>(node)) {}

Client::~Client() {
  state_->thread.Run([this] { state_->CloseAll(); });
}

absl::StatusOr<msg::EnvelopeT> Client::CallEnvelope(const MethodInfo& method,
                                                    msg::EnvelopeT request,
                                                    const CallOptions& options) {
  return StreamEnvelope(method, std::move(request), nullptr, options);
}

absl::StatusOr<msg::EnvelopeT> Client::StreamEnvelope(
    const MethodInfo& method, msg::EnvelopeT request,
    const std::function<bool(msg::EnvelopeT part)>& on_part, const CallOptions& options) {
  if (state_->thread.InThread()) {
    return absl::FailedPreconditionError("a call that blocks cannot be made on the bus thread");
  }
  auto waiter = std::make_shared<Waiter>();
  auto call = state_->MakeCall(method, std::move(request), options);
  const std::uint64_t id = call->id;
  call->done = [waiter](absl::StatusOr<msg::EnvelopeT> end) { waiter->Finish(std::move(end)); };
  if (on_part) {
    State* const state = state_.get();  // State outlives its calls.
    call->on_part = [waiter, state, id](msg::EnvelopeT part, std::size_t bytes) {
      runtime::MutexLock lock(waiter->mutex);
      waiter->bytes += bytes;
      waiter->parts.emplace_back(std::move(part), bytes);
      waiter->changed.Signal();
      if (waiter->bytes <= kMaxUnreadBytes || waiter->paused) return;
      waiter->paused = true;
      state->SetReading(id, false);
    };
  }
  state_->thread.Post([state = state_, own = static_cast<bool>(on_part),
                       shared = std::make_shared<std::unique_ptr<OpenCall>>(std::move(call))] {
    state->Begin(std::move(*shared), own);
  });
  bool wanted = true;
  while (true) {
    msg::EnvelopeT part;
    bool resume = false;
    {
      runtime::MutexLock lock(waiter->mutex);
      while (waiter->parts.empty() && !waiter->done) waiter->changed.Wait(waiter->mutex);
      if (waiter->parts.empty() || !wanted) {
        if (!waiter->done) {
          waiter->parts.clear();
          continue;
        }
        return std::move(waiter->result);
      }
      part = std::move(waiter->parts.front().first);
      waiter->bytes -= waiter->parts.front().second;
      waiter->parts.pop_front();
      if (waiter->paused && waiter->bytes < kMaxUnreadBytes / 4) {
        resume = true;
        waiter->paused = false;
      }
    }
    if (resume) {
      state_->thread.Post([state = state_, id] { state->SetReading(id, true); });
    }
    if (on_part(std::move(part))) continue;
    wanted = false;
    Cancel(id);
  }
}

std::uint64_t Client::StartEnvelope(const MethodInfo& method, msg::EnvelopeT request,
                                    std::function<void(msg::EnvelopeT part)> on_part,
                                    std::function<void(absl::StatusOr<msg::EnvelopeT>)> done,
                                    const CallOptions& options) {
  auto call = state_->MakeCall(method, std::move(request), options);
  const std::uint64_t id = call->id;
  if (on_part) {
    call->on_part = [on_part = std::move(on_part)](msg::EnvelopeT part, std::size_t) {
      on_part(std::move(part));
    };
  }
  call->done = std::move(done);
  state_->thread.Post(
      [state = state_, shared = std::make_shared<std::unique_ptr<OpenCall>>(std::move(call))] {
        state->Begin(std::move(*shared), false);
      });
  return id;
}

void Client::Cancel(std::uint64_t call) {
  state_->thread.Post(
      [state = state_, call] { state->CancelCall(call, absl::CancelledError("cancelled")); });
}

}  // namespace bus
