#include "bus/event/publisher.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/access/access_file.h"
#include "bus/call/tails.h"
#include "bus/event/hub_addresses.h"
#include "bus/thread/bus_thread.h"
#include "bus/thread/counters.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "bus/wire/receive.h"
#include "bus/wire/topic.h"
#include "glog/logging.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

// Limits of the events that are held while no hub is connected; over them the oldest are dropped.
constexpr std::size_t kMaxHeld = 10'000;
constexpr std::size_t kMaxHeldBytes = 8 << 20;
constexpr absl::Duration kRetrySend = absl::Milliseconds(5);
constexpr std::size_t kTailsAtOnce = 500;
constexpr absl::Duration kTailsPause = absl::Milliseconds(20);

struct Event {
  std::string topic;
  Frame frame;
  std::size_t bytes = 0;  // Size of the frame; stays valid after it was sent.
  std::optional<msg::Span> span = std::nullopt;
};

}  // namespace

// One socket per process, which all its Publishers share. ZeroMQ drops events that are published
// before the hub's subscription has arrived, so events are held until then, also after a restart of
// the hub.
struct Publisher::State : std::enable_shared_from_this<Publisher::State> {
  explicit State(Node* n) : node(n), thread(n->bus_thread()) {}

  Node* const node;
  BusThread& thread;
  // Bus thread only.
  std::unique_ptr<Socket> socket;
  BusThread::WatchId watch = 0;
  BusTimer retry;
  bool heard = false;  // The hub has subscribed.
  std::deque<Event> held;
  std::size_t held_bytes = 0;
  std::uint64_t dropped = 0;
  Tails tails;
  BusTimer tail_timer;
  absl::Duration tail_time = absl::InfiniteDuration();  // When tail_timer fires.

  absl::Status Open();
  void Close();
  void OnReadable();
  void Publish(Event event);
  void Queue(Event event);
  void PlanTails();
  void SendTails();
  void Hold(Event event);
  void DropFirstHeld();
  void SendHeld();
  bool Send(Event& event);
};

absl::Status Publisher::State::Open() {
  if (PathOfAccessFile(node->locations().registry_address).has_value()) {
    return absl::FailedPreconditionError("a gate takes events by calls of Registry.Publish alone");
  }
  auto opened = Socket::Open(thread.context(), Socket::Use::kPublisher);
  if (!opened.ok()) return opened.status();
  const absl::Status connected = (*opened)->Connect(HubPublishAddress(node->locations()));
  if (!connected.ok()) return connected;
  socket = std::move(*opened);
  watch = thread.Watch(socket->handle(), [this] { OnReadable(); });
  return absl::OkStatus();
}

void Publisher::State::Close() {
  thread.Unwatch(watch);
  retry.Cancel();
  tail_timer.Cancel();
  socket.reset();
}

// A hub subscribes to everything ("\1") when it connects; its disconnection arrives as "\0".
void Publisher::State::OnReadable() {
  std::vector<Frame> frames;
  while (socket->Receive(frames)) {
    if (frames[0].size() == 1) heard = frames[0].text()[0] == '\1';
  }
  // A new hub may have missed the last events that its predecessor received.
  if (heard) tails.TellAll(node->clock()->Monotonic());
  PlanTails();
  SendHeld();
}

void Publisher::State::SendHeld() {
  while (heard && !held.empty() && Send(held.front())) {
    DropFirstHeld();
  }
  // The hub is slow: retry later. (ZeroMQ has no event for new room; a missing hub's return is an
  // event.)
  if (!heard || held.empty() || retry.is_set()) return;
  retry.Start(&thread, kRetrySend, [this] { SendHeld(); });
}

bool Publisher::State::Send(Event& event) {
  std::array<Frame, 2> frames = {Frame(std::string_view(event.topic)), std::move(event.frame)};
  if (socket->Send(frames) == Socket::Sent::kYes) return true;
  event.frame = std::move(frames[1]);
  return false;
}

void Publisher::State::Publish(Event event) {
  node->counters().events_published.Add();
  const std::uint64_t seq = thread.NextSequence(event.topic);
  SetHead(event.frame,
          msg::Head(node->source(), node->epoch(), seq, absl::ToUnixMicros(node->clock()->Now())));
  if (socket == nullptr) return;
  tails.Note(event.topic, seq, event.span, node->clock()->Monotonic());
  PlanTails();
  Queue(std::move(event));
}

void Publisher::State::Queue(Event event) {
  if (heard && held.empty() && Send(event)) return;
  Hold(std::move(event));
  if (heard && !retry.is_set()) SendHeld();
}

// One timer serves all topics. An event postpones only its own topic's tail, so the timer may fire
// too early; it then finds nothing due and is set again.
void Publisher::State::PlanTails() {
  if (tail_timer.is_set() && tail_time <= tails.next()) return;
  tail_timer.Cancel();
  tail_time = tails.next();
  if (tail_time == absl::InfiniteDuration()) return;
  tail_timer.Start(&thread, tail_time - node->clock()->Monotonic(), [this] { SendTails(); });
}

void Publisher::State::SendTails() {
  // Without a hub, tails would only queue up; the next hub makes all of them due again.
  if (heard) {
    const std::int64_t sent_us = absl::ToUnixMicros(node->clock()->Now());
    for (const Tails::Tail& tail : tails.Take(node->clock()->Monotonic(), kTailsAtOnce)) {
      Frame frame = EncodeTail(tail, node->source(), node->epoch(), sent_us);
      const std::size_t bytes = frame.size();
      Queue({tail.topic, std::move(frame), bytes});
    }
  }
  tail_time = tails.next();
  if (!heard || tail_time == absl::InfiniteDuration()) return;
  const absl::Duration left = tail_time - node->clock()->Monotonic();
  tail_timer.Start(&thread, std::max(left, kTailsPause), [this] { SendTails(); });
}

void Publisher::State::Hold(Event event) {
  held_bytes += event.bytes;
  node->counters().held_events.Add();
  held.push_back(std::move(event));
  while (held.size() > kMaxHeld || held_bytes > kMaxHeldBytes) {
    LOG_IF(WARNING, dropped++ == 0) << "no event hub at " << HubPublishAddress(node->locations())
                                    << ": the oldest events are dropped (said once)";
    node->counters().events_dropped.Add();
    DropFirstHeld();
  }
}

void Publisher::State::DropFirstHeld() {
  held_bytes -= held.front().bytes;
  held.pop_front();
  node->counters().held_events.Subtract();
}

Publisher::Publisher(Node* node) {
  BusThread& thread = node->bus_thread();
  thread.Run([&] {
    state_ = std::static_pointer_cast<State>(thread.publisher.lock());
    if (state_ != nullptr) return;
    state_ = std::make_shared<State>(node);
    thread.publisher = state_;
    if (absl::Status opened = state_->Open(); !opened.ok()) {
      LOG(ERROR) << "events cannot be published: " << opened.message();
    }
  });
}

Publisher::~Publisher() {
  BusThread& thread = state_->thread;
  thread.Run([this] {
    std::weak_ptr<State> last = state_;
    // All functions posted earlier have run, so that the only other references are other
    // Publishers'.
    if (state_.use_count() == 1) state_->Close();
    state_.reset();
  });
}

absl::Status Publisher::PublishEnvelope(std::string_view topic, msg::EnvelopeT event) {
  if (absl::Status checked = CheckTopic(topic); !checked.ok()) return checked;
  event.kind = msg::Kind::Event;
  event.head = std::make_unique<msg::Head>();
  Frame frame = Encode(event);
  if (!Receive(frame.bytes(), kMaxMessageBytes).ok()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "event on ", runtime::Absl(topic), " is over the limits of a message: it has ",
        frame.size(), " bytes (at most ", kMaxMessageBytes, ") or over ", kMaxTables, " entries"));
  }
  std::optional<msg::Span> span;
  if (event.span != nullptr) span = *event.span;
  const std::size_t bytes = frame.size();
  auto shared = std::make_shared<Event>(Event{std::string(topic), std::move(frame), bytes, span});
  state_->thread.Post([state = state_, shared] { state->Publish(std::move(*shared)); });
  return absl::OkStatus();
}

}  // namespace bus
