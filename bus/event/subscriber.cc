#include "bus/event/subscriber.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/access/access_file.h"
#include "bus/access/gate_connection.h"
#include "bus/access/gate_messages.h"
#include "bus/event/hub_addresses.h"
#include "bus/schema/common_methods.h"
#include "bus/thread/bus_thread.h"
#include "bus/thread/counters.h"
#include "bus/thread/socket.h"
#include "bus/wire/frame.h"
#include "bus/wire/receive.h"
#include "bus/wire/topic.h"
#include "glog/logging.h"
#include "runtime/mutex.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr int kMessagesAtOnce = 256;
// Limit of tracked sequences. Over it all positions are forgotten; the next message of each
// sequence then counts as its first one, which never shows a gap.
constexpr std::size_t kMaxSequences = 200'000;
constexpr std::string_view kHello = "$hello/";
constexpr absl::Duration kOwnerTimeout = absl::Seconds(2);
// Pause before reconnecting to a lost gate. (A socket to the hub reconnects by itself.)
constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestPause = absl::Milliseconds(320);

// Asks the owners of topics through a Client.
class OwnerCalls : public RecoveryCalls {
 public:
  OwnerCalls(Node* node, Client* client) : node_(*node), client_(*client) {}
  ~OwnerCalls() override { *alive_ = false; }

  void Ends(const std::string& service, const msg::EndsRequestT& request,
            std::function<void(absl::StatusOr<msg::EndsReplyT>)> done) override {
    Ask<rpc::Common::Ends>(service, request, std::move(done));
  }
  void Since(const std::string& service, const msg::SinceRequestT& request,
             std::function<void(absl::StatusOr<msg::SinceReplyT>)> done) override {
    Ask<rpc::Common::Since>(service, request, std::move(done));
  }
  void RunAfter(absl::Duration delay, std::function<void()> function) override {
    node_.bus_thread().RunAfter(delay, [alive = alive_, function = std::move(function)] {
      if (*alive) function();
    });
  }
  absl::Duration Now() override { return node_.clock()->Monotonic(); }

 private:
  template <typename M>
  void Ask(const std::string& service, const typename M::RequestT& request,
           std::function<void(absl::StatusOr<typename M::ReplyT>)> done) {
    client_.Start<M>(request, nullptr,
                     [alive = alive_, done = std::move(done)](auto reply) {
                       if (*alive) done(std::move(reply));
                     },
                     {.timeout = kOwnerTimeout, .service = service});
  }

  Node& node_;
  Client& client_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Bus thread only.
};

}  // namespace

struct Subscriber::State : std::enable_shared_from_this<Subscriber::State> {
  State(Node* n, Options o)
      : node(n),
        thread(n->bus_thread()),
        options(std::move(o)),
        access_file(PathOfAccessFile(n->locations().registry_address)) {}

  // How a message continues the sequence of its topic.
  struct InSequence {
    bool deliver = false;
    std::uint64_t lost = 0;  // Number of messages missing before it.
  };

  Node* const node;
  BusThread& thread;
  const Options options;
  const std::optional<std::string> access_file;  // Set: the hub is behind a gate.

  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool connected ABSL_GUARDED_BY(mutex) = false;
  absl::Status trouble ABSL_GUARDED_BY(mutex);  // Why the gate was last lost.

  // Bus thread only.
  struct Place {
    std::uint64_t epoch = 0;
    std::uint64_t seq = 0;
  };
  std::unique_ptr<Socket> socket;
  BusThread::WatchId watch = 0;
  std::vector<std::string> subscribed;  // Prefixes to which the socket subscribes.
  std::string gate_address, gate_key;
  BusThread::WatchId gate_watch = 0;  // Watches for the end of the connection.
  BusTimer gate_timer;                // Reconnects when it fires.
  absl::Duration gate_pause = kFirstPause;
  // The gate was reconnected: events may have been missed although the hub is the same.
  bool connected_anew = false;
  // By topic and source.
  std::unordered_map<std::string, std::unordered_map<std::uint64_t, Place>> places;
  std::size_t place_count = 0;
  std::uint64_t hub_epoch = 0;
  std::map<std::string, std::uint64_t> nonces;  // Nonces of the serving processes, by service.
  std::int64_t heard_us = 0;                    // Time of the hub's first message, on its clock.
  std::unique_ptr<OwnerCalls> owner_calls;
  std::unique_ptr<Recovery> recovery;
  Stats stats;

  absl::Status Open();
  absl::Status OpenSocket();
  absl::Status OpenGate();
  void CloseSocket();
  void OnGateLost(const absl::Status& why);
  void Subscribe(const std::string& prefix);
  bool SendSubscription(const std::string& prefix);
  void Close();
  void OnReadable();
  void OnMessage(const std::vector<Frame>& frames);
  void OnHello(const msg::Envelope& hello);
  void NoteLease(const msg::Envelope& event);
  void SayConnected();
  void Deliver(std::string_view topic, const msg::Envelope& event,
               std::span<const std::uint8_t> message);
  void Lost(std::string_view topic, std::uint64_t count);
  bool Handles(std::string_view topic) const {
    return recovery != nullptr && recovery->Handles(topic);
  }
  InSequence Note(std::string_view topic, const msg::Head& head, bool is_event);
  bool IsStale(std::string_view topic, const msg::Head& head) const;
  bool Wants(std::string_view topic) const;
};

absl::Status Subscriber::State::OpenSocket() {
  auto opened = Socket::Open(thread.context(), Socket::Use::kSubscriber);
  if (!opened.ok()) return opened.status();
  for (const std::string& prefix : subscribed) (*opened)->Subscribe(prefix);
  if (absl::Status connected = (*opened)->Connect(HubSubscribeAddress(node->locations()));
      !connected.ok()) {
    return connected;
  }
  socket = std::move(*opened);
  watch = thread.Watch(socket->handle(), [this] { OnReadable(); });
  return absl::OkStatus();
}

// Subscribes to kHello last: the hub's greeting confirms that all earlier prefixes are registered.
absl::Status Subscriber::State::OpenGate() {
  auto gate = ConnectToGate(thread.context(), Socket::Use::kCaller, *access_file);
  if (!gate.ok()) return gate.status();
  socket = std::move(gate->socket);
  gate_address = std::move(gate->address);
  gate_key = std::move(gate->key);
  watch = thread.Watch(socket->handle(), [this] { OnReadable(); });
  gate_watch = thread.Watch(
      socket->monitor(),
      [this] {
        if (!socket->ReadConnectionLost()) return;
        OnGateLost(WhyGateIsLost(socket->reached(), gate_address, gate_key));
      },
      BusThread::UsedBy::kReadable);
  for (const std::string& prefix : subscribed) {
    if (SendSubscription(prefix)) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat("too many subscriptions for a gate: ", subscribed.size()));
  }
  return absl::OkStatus();
}

void Subscriber::State::OnGateLost(const absl::Status& why) {
  if (socket != nullptr) OnReadable();  // Reads the gate's last messages.
  CloseSocket();
  {
    runtime::MutexLock lock(mutex);
    trouble = why;
  }
  if (gate_timer.is_set()) return;
  connected_anew = hub_epoch != 0;
  gate_timer.Start(&thread, gate_pause, [this] {
    if (absl::Status opened = OpenGate(); !opened.ok()) OnGateLost(opened);
  });
  gate_pause = std::min(2 * gate_pause, kLongestPause);
}

void Subscriber::State::CloseSocket() {
  thread.Unwatch(std::exchange(watch, 0));
  thread.Unwatch(std::exchange(gate_watch, 0));
  socket.reset();
}

bool Subscriber::State::SendSubscription(const std::string& prefix) {
  std::array<Frame, 2> frames = {Frame(kHubOfGate),
                                 Frame(std::string_view(absl::StrCat("\1", prefix)))};
  return socket->Send(frames) == Socket::Sent::kYes;
}

void Subscriber::State::Subscribe(const std::string& prefix) {
  subscribed.push_back(prefix);
  if (socket == nullptr) return;
  access_file.has_value() ? (void)SendSubscription(prefix) : socket->Subscribe(prefix);
}

absl::Status Subscriber::State::Open() {
  for (const std::string& prefix : options.prefixes) {
    // No topic is that long, and the hub would close the connection.
    if (prefix.size() <= kMaxTopicBytes) subscribed.push_back(prefix);
  }
  subscribed.emplace_back(kHello);
  if (access_file.has_value()) {
    if (absl::Status opened = OpenGate(); !opened.ok()) OnGateLost(opened);
  } else if (absl::Status opened = OpenSocket(); !opened.ok()) {
    return opened;
  }
  if (options.client == nullptr) return absl::OkStatus();
  owner_calls = std::make_unique<OwnerCalls>(node, options.client);
  recovery = std::make_unique<Recovery>(Recovery::Options{
      .prefixes = options.prefixes,
      .calls = owner_calls.get(),
      .beginning = options.beginning,
      .has_room = options.has_room,
      .deliver =
          [this](std::string_view topic, const msg::Envelope& event,
                 std::span<const std::uint8_t> message, bool recovered) {
            stats.recovered += recovered;
            node->counters().events_recovered.Add(recovered);
            Deliver(topic, event, message);
          },
      .lost = [this](std::string_view topic, std::uint64_t count) { Lost(topic, count); },
      .ready = [this] { SayConnected(); }});
  for (const std::string& service : recovery->Services()) {
    Subscribe(TopicOf({"$sys", "reg", service}));
  }
  return absl::OkStatus();
}

void Subscriber::State::Close() {
  gate_timer.Cancel();
  CloseSocket();
  recovery.reset();
  owner_calls.reset();
}

void Subscriber::State::SayConnected() {
  runtime::MutexLock lock(mutex);
  connected = true;
  changed.SignalAll();
}

void Subscriber::State::Deliver(std::string_view topic, const msg::Envelope& event,
                                std::span<const std::uint8_t> message) {
  ++stats.received;
  node->counters().events_received.Add();
  if (options.on_message) return options.on_message(topic, event, message);
  options.on_event(topic, event);
}

void Subscriber::State::Lost(std::string_view topic, std::uint64_t count) {
  stats.lost += count;
  node->counters().events_lost.Add(count);
  if (options.on_lost) options.on_lost(topic, count);
}

void Subscriber::State::OnReadable() {
  std::vector<Frame> frames;
  for (int i = 0; i < kMessagesAtOnce && socket != nullptr && socket->Receive(frames); ++i) {
    OnMessage(frames);
  }
}

void Subscriber::State::OnMessage(const std::vector<Frame>& frames) {
  if (access_file.has_value() && frames.size() == 1) {
    const auto said = Receive(frames[0].bytes(), kMaxMessageBytes);
    const auto why = said.ok() ? WayLost(**said) : std::nullopt;
    if (why.has_value()) OnGateLost(*why);
    return;  // (Otherwise the message is a Ping.)
  }
  const std::string_view topic = frames[0].text();
  absl::Status bad;
  if (frames.size() != 2) {
    bad = absl::InvalidArgumentError("not two frames");
  } else {
    bad = CheckTopic(topic);
  }
  const auto received = bad.ok() ? Receive(frames[1].bytes(), kMaxMessageBytes) : bad;
  if (!received.ok() || (*received)->head() == nullptr) {
    node->counters().malformed_dropped.Add();
    LOG_IF(WARNING, stats.malformed++ == 0)
        << "dropped an event: " << (received.ok() ? "it has no head" : received.status().message())
        << " (said once)";
    return;
  }
  const msg::Envelope& event = **received;
  const bool is_event = event.kind() == msg::Kind::Event;
  if (!is_event && event.kind() != msg::Kind::Tail) return;
  if (topic == kHello) OnHello(event);
  const InSequence place = Note(topic, *event.head(), is_event);
  if (Handles(topic)) {
    if (place.deliver || !is_event) {
      recovery->OnMessage(topic, frames[1], event, place.lost != 0);
    }
    return;
  }
  if (place.deliver && recovery != nullptr) NoteLease(event);
  if (!Wants(topic)) return;
  if (place.lost != 0) Lost(topic, place.lost);
  if (place.deliver && received->body_known()) Deliver(topic, event, frames[1].bytes());
}

// Tells the Recovery when a topic owner has been started.
void Subscriber::State::NoteLease(const msg::Envelope& event) {
  const msg::LeaseEvent* const change = event.body_as_LeaseEvent();
  if (change == nullptr || change->lease() == nullptr || change->lease()->name() == nullptr) return;
  if (change->lease()->state() != msg::LeaseState::Up) return;
  // A lease event is also published when a slow process recovers; only a new nonce means a new
  // process.
  std::uint64_t& nonce = nonces[change->lease()->name()->str()];
  if (std::exchange(nonce, change->lease()->nonce()) == change->lease()->nonce()) return;
  recovery->ServiceStarted(change->lease()->name()->string_view());
}

void Subscriber::State::OnHello(const msg::Envelope& hello) {
  const msg::HubInfo* const info = hello.body_as_HubInfo();
  // The hub greets every new subscriber, so the same greeting arrives again and again.
  if (info == nullptr) return;
  const bool anew = std::exchange(connected_anew, false);
  gate_pause = kFirstPause;
  if (info->epoch() == hub_epoch && !anew) return;
  const std::uint64_t before = std::exchange(hub_epoch, info->epoch());
  const bool again = before != 0;
  nonces.clear();
  if (heard_us == 0) heard_us = hello.head()->sent_us();
  if (recovery == nullptr) {
    SayConnected();
  } else if (before == info->epoch()) {
    recovery->ConnectedAnew();
  } else {
    recovery->HubHeard(hello.head()->sent_us());
  }
  // A new hub did not receive events that were published while no hub ran, and a new gate
  // connection did not receive those in between.
  for (const std::string& prefix : options.prefixes) {
    if (again && !Handles(prefix)) Lost(prefix, 0);
  }
  if (options.on_connected) options.on_connected(hub_epoch);
}

// Updates the position of the message's sequence.
Subscriber::State::InSequence Subscriber::State::Note(std::string_view topic, const msg::Head& head,
                                                      bool is_event) {
  if (place_count >= kMaxSequences) {
    places.clear();
    place_count = 0;
  }
  auto& sources = places[std::string(topic)];
  const auto [place, first] = sources.try_emplace(head.source(), Place{head.epoch(), head.seq()});
  if (first) {
    ++place_count;
    return {is_event && !IsStale(topic, head)};
  }
  Place& last = place->second;
  if (last.epoch != head.epoch()) {
    last = {head.epoch(), head.seq()};
    return {is_event};
  }
  // An event advances the sequence; a Tail repeats the number of its last event.
  const std::uint64_t expected = last.seq + (is_event ? 1 : 0);
  if (head.seq() < expected) return {};  // A repeated last value, for another subscriber.
  const std::uint64_t lost = head.seq() - expected;
  last.seq = head.seq();
  return {is_event, lost};
}

// The hub sends a topic's last value to every new subscription of exactly that topic. Subscribers
// with a shorter prefix receive it too, and must not take it for a new event.
bool Subscriber::State::IsStale(std::string_view topic, const msg::Head& head) const {
  if (head.sent_us() >= heard_us || topic == kHello) return false;
  return std::find(options.prefixes.begin(), options.prefixes.end(), topic) ==
         options.prefixes.end();
}

// Filters out the hub's greeting and the owners' leases, which no caller of on_event asked for.
bool Subscriber::State::Wants(std::string_view topic) const {
  return std::any_of(options.prefixes.begin(), options.prefixes.end(), [&](const auto& prefix) {
    return topic.starts_with(prefix) && !(prefix.empty() && topic == kHello);
  });
}

Subscriber::Subscriber(Node* node, Options options)
    : state_(std::make_shared<State>(node, std::move(options))) {
  state_->thread.Run([this] {
    if (absl::Status opened = state_->Open(); !opened.ok()) {
      LOG(ERROR) << "events cannot be received: " << opened.message();
    }
  });
}

Subscriber::~Subscriber() {
  state_->thread.Run([this] { state_->Close(); });
}

Subscriber::Stats Subscriber::GetStats() const {
  Stats stats;
  state_->thread.Run([&] {
    stats = state_->stats;
    if (state_->recovery != nullptr) stats.asked = state_->recovery->asked();
  });
  return stats;
}

absl::Status Subscriber::WaitUntilConnected(absl::Duration timeout) {
  State& state = *state_;
  const absl::Duration deadline = state.node->clock()->Monotonic() + timeout;
  runtime::MutexLock lock(state.mutex);
  while (!state.connected) {
    if (!state.node->clock()->WaitUntil(state.changed, state.mutex, deadline) && !state.connected) {
      if (!state.trouble.ok()) return state.trouble;
      const std::string address = state.access_file.has_value()
                                      ? "the gate of " + *state.access_file
                                      : HubSubscribeAddress(state.node->locations());
      return absl::DeadlineExceededError(absl::StrCat("no event hub at ", address));
    }
  }
  return absl::OkStatus();
}

}  // namespace bus
