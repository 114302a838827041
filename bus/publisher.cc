#include "bus/publisher.h"

#include <deque>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/bus_thread.h"
#include "bus/envelope.h"
#include "bus/frame.h"
#include "bus/hub_addresses.h"
#include "bus/receive.h"
#include "bus/socket.h"
#include "bus/topic.h"
#include "glog/logging.h"
#include "runtime/string_view.h"

namespace bus {
namespace {

// Events that wait for a hub: at most so many, and so many bytes; then the oldest are dropped.
constexpr std::size_t kMaxHeld = 10'000;
constexpr std::size_t kMaxHeldBytes = 8 << 20;
constexpr absl::Duration kRetrySend = absl::Milliseconds(5);

struct Event {
  std::string topic;
  Frame frame;
};

}  // namespace

// One socket a process, shared by its Publishers. ZeroMQ drops what is published before the hub's
// subscription has arrived, so that events are held until it has, also after a restart of the hub.
struct Publisher::State : std::enable_shared_from_this<Publisher::State> {
  explicit State(Node* n) : node(n), thread(n->bus_thread()) {}

  Node* const node;
  BusThread& thread;
  // The bus thread's own.
  std::unique_ptr<Socket> socket;
  BusThread::WatchId watch = 0;
  BusThread::TimerId retry = 0;
  bool heard = false;  // The hub has subscribed.
  std::deque<Event> held;
  std::size_t held_bytes = 0;
  std::uint64_t dropped = 0;

  absl::Status Open();
  void Close();
  void OnReadable();
  void Publish(Event event);
  void Hold(Event event);
  void SendHeld();
  bool Send(Event& event);
};

absl::Status Publisher::State::Open() {
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
  thread.CancelTimer(retry);
  socket.reset();
}

// The hub subscribes to everything ("\1") when it connects, and is unsubscribed ("\0") when it
// disconnects.
void Publisher::State::OnReadable() {
  std::vector<Frame> frames;
  while (socket->Receive(frames)) {
    if (frames[0].size() == 1) heard = frames[0].text()[0] == '\1';
  }
  SendHeld();
}

void Publisher::State::SendHeld() {
  while (heard && !held.empty() && Send(held.front())) {
    held_bytes -= held.front().frame.size();
    held.pop_front();
  }
  // The hub is slow. (It has no event for room; without a hub, its subscription is the event.)
  if (!heard || held.empty() || retry != 0) return;
  retry = thread.RunAfter(kRetrySend, [this] {
    retry = 0;
    SendHeld();
  });
}

bool Publisher::State::Send(Event& event) {
  std::array<Frame, 2> frames = {Frame(std::string_view(event.topic)), std::move(event.frame)};
  if (socket->Send(frames) == Socket::Sent::kYes) return true;
  event.frame = std::move(frames[1]);
  return false;
}

void Publisher::State::Publish(Event event) {
  SetHead(event.frame, msg::Head(node->source(), node->epoch(), thread.NextSequence(event.topic),
                                 absl::ToUnixMicros(node->clock()->Now())));
  if (socket == nullptr) return;
  if (heard && held.empty() && Send(event)) return;
  Hold(std::move(event));
  if (heard && retry == 0) SendHeld();
}

void Publisher::State::Hold(Event event) {
  held_bytes += event.frame.size();
  held.push_back(std::move(event));
  while (held.size() > kMaxHeld || held_bytes > kMaxHeldBytes) {
    LOG_IF(WARNING, dropped++ == 0) << "no event hub at " << HubPublishAddress(node->locations())
                                    << ": the oldest events are dropped (said once)";
    held_bytes -= held.front().frame.size();
    held.pop_front();
  }
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
    // Functions posted before have run, so that no other reference is left but other Publishers'.
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
  auto shared = std::make_shared<Event>(Event{std::string(topic), std::move(frame)});
  state_->thread.Post([state = state_, shared] { state->Publish(std::move(*shared)); });
  return absl::OkStatus();
}

}  // namespace bus
