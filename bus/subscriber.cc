#include "bus/subscriber.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/bus_thread.h"
#include "bus/frame.h"
#include "bus/hub_addresses.h"
#include "bus/receive.h"
#include "bus/socket.h"
#include "bus/topic.h"
#include "glog/logging.h"
#include "runtime/mutex.h"
#include "runtime/string_view.h"

namespace bus {
namespace {

constexpr int kMessagesAtOnce = 256;
// Over this the places in all sequences are forgotten; the next message of each is then a first
// one, which is never a gap.
constexpr std::size_t kMaxSequences = 200'000;
constexpr std::string_view kHello = "$hello/";

}  // namespace

struct Subscriber::State : std::enable_shared_from_this<Subscriber::State> {
  State(Node* n, Options o) : node(n), thread(n->bus_thread()), options(std::move(o)) {}

  Node* const node;
  BusThread& thread;
  const Options options;

  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool connected ABSL_GUARDED_BY(mutex) = false;

  // The bus thread's own.
  struct Place {
    std::uint64_t epoch = 0;
    std::uint64_t seq = 0;
  };
  std::unique_ptr<Socket> socket;
  BusThread::WatchId watch = 0;
  // By topic and source.
  std::unordered_map<std::string, std::unordered_map<std::uint64_t, Place>> places;
  std::size_t place_count = 0;
  std::uint64_t hub_epoch = 0;
  std::int64_t heard_us = 0;  // When the hub was heard first, on the hub's clock.
  std::uint64_t malformed = 0;

  absl::Status Open();
  void Close();
  void OnReadable();
  void OnMessage(const std::vector<Frame>& frames);
  void OnHello(const msg::Envelope& hello);
  bool InSequence(std::string_view topic, const msg::Head& head, bool is_event);
  bool IsStale(std::string_view topic, const msg::Head& head) const;
  bool Wants(std::string_view topic) const;
};

absl::Status Subscriber::State::Open() {
  auto opened = Socket::Open(thread.context(), Socket::Use::kSubscriber);
  if (!opened.ok()) return opened.status();
  for (const std::string& prefix : options.prefixes) (*opened)->Subscribe(prefix);
  (*opened)->Subscribe(kHello);
  if (absl::Status connected = (*opened)->Connect(HubSubscribeAddress(node->locations()));
      !connected.ok()) {
    return connected;
  }
  socket = std::move(*opened);
  watch = thread.Watch(socket->handle(), [this] { OnReadable(); });
  return absl::OkStatus();
}

void Subscriber::State::Close() {
  thread.Unwatch(watch);
  socket.reset();
}

void Subscriber::State::OnReadable() {
  std::vector<Frame> frames;
  for (int i = 0; i < kMessagesAtOnce && socket != nullptr && socket->Receive(frames); ++i) {
    OnMessage(frames);
  }
}

void Subscriber::State::OnMessage(const std::vector<Frame>& frames) {
  const std::string_view topic = frames[0].text();
  absl::Status bad;
  if (frames.size() != 2) {
    bad = absl::InvalidArgumentError("not two frames");
  } else {
    bad = CheckTopic(topic);
  }
  const auto received = bad.ok() ? Receive(frames[1].bytes(), kMaxMessageBytes) : bad;
  if (!received.ok() || (*received)->head() == nullptr) {
    LOG_IF(WARNING, malformed++ == 0)
        << "dropped an event: " << received.status().message() << " (said once)";
    return;
  }
  const msg::Envelope& event = **received;
  const bool is_event = event.kind() == msg::Kind::Event;
  if (!is_event && event.kind() != msg::Kind::Tail) return;
  if (topic == kHello) OnHello(event);
  if (!InSequence(topic, *event.head(), is_event)) return;
  if (is_event && received->body_known() && Wants(topic)) options.on_event(topic, event);
}

void Subscriber::State::OnHello(const msg::Envelope& hello) {
  const msg::HubInfo* const info = hello.body_as_HubInfo();
  // It greets whoever comes, so that it is heard again and again.
  if (info == nullptr || info->epoch() == hub_epoch) return;
  hub_epoch = info->epoch();
  if (heard_us == 0) heard_us = hello.head()->sent_us();
  {
    runtime::MutexLock lock(mutex);
    connected = true;
    changed.SignalAll();
  }
  if (options.on_connected) options.on_connected(hub_epoch);
}

// Notes the place of a message in its sequence; false if it must not be delivered.
bool Subscriber::State::InSequence(std::string_view topic, const msg::Head& head, bool is_event) {
  if (place_count >= kMaxSequences) {
    places.clear();
    place_count = 0;
  }
  auto& sources = places[std::string(topic)];
  const auto [place, first] = sources.try_emplace(head.source(), Place{head.epoch(), head.seq()});
  if (first) {
    ++place_count;
    return is_event && !IsStale(topic, head);
  }
  Place& last = place->second;
  if (last.epoch != head.epoch()) {
    last = {head.epoch(), head.seq()};
    return is_event;
  }
  // An event adds itself; a Tail says only how many there were.
  const std::uint64_t expected = last.seq + (is_event ? 1 : 0);
  if (head.seq() < expected) return false;  // Again: the last value, sent to somebody else.
  const std::uint64_t lost = head.seq() - expected;
  last.seq = head.seq();
  if (lost != 0 && options.on_lost) options.on_lost(topic, lost);
  return is_event;
}

// The hub sends the last value of a topic to whoever subscribes to just that topic; others who
// listen to more get it too, and must not take it for new.
bool Subscriber::State::IsStale(std::string_view topic, const msg::Head& head) const {
  if (head.sent_us() >= heard_us || topic == kHello) return false;
  return std::find(options.prefixes.begin(), options.prefixes.end(), topic) ==
         options.prefixes.end();
}

bool Subscriber::State::Wants(std::string_view topic) const {
  if (topic != kHello) return true;
  return std::any_of(options.prefixes.begin(), options.prefixes.end(), [](const auto& prefix) {
    return !prefix.empty() && kHello.starts_with(prefix);
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

absl::Status Subscriber::WaitUntilConnected(absl::Duration timeout) {
  State& state = *state_;
  const absl::Duration deadline = state.node->clock()->Monotonic() + timeout;
  runtime::MutexLock lock(state.mutex);
  while (!state.connected) {
    if (!state.node->clock()->WaitUntil(state.changed, state.mutex, deadline) && !state.connected) {
      return absl::DeadlineExceededError(
          absl::StrCat("no event hub at ", HubSubscribeAddress(state.node->locations())));
    }
  }
  return absl::OkStatus();
}

}  // namespace bus
