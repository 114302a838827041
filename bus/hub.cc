#include "bus/hub.h"

#include <array>
#include <atomic>
#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/bus_thread.h"
#include "bus/envelope.h"
#include "bus/frame.h"
#include "bus/hub_addresses.h"
#include "bus/last_values.h"
#include "bus/receive.h"
#include "bus/recent_events.h"
#include "bus/socket.h"
#include "bus/tails.h"
#include "bus/topic.h"
#include "glog/logging.h"
#include "runtime/string_view.h"

// The greeting. ZeroMQ's own (XPUB_WELCOME_MSG) is a single frame and cannot carry a topic and a
// message; so the hub publishes an ordinary message on `$hello/` whenever somebody subscribes to
// it. Those who are connected already get it again and know by its epoch that nothing has
// changed. A SUB socket sends all its subscriptions in one go when it connects, so that they are
// all in place when the greeting comes.

namespace bus {
namespace {

constexpr int kMessagesAtOnce = 1000;
constexpr absl::Duration kOpenAgain = absl::Seconds(1);
constexpr std::string_view kHello = "$hello/";

// Roots where only the host may publish.
bool IsReserved(std::string_view topic) {
  return topic.starts_with("$sys/") || topic.starts_with(kHello);
}

class ZmqHub : public Hub {
 public:
  ZmqHub(Node* node, Options options)
      : node_(node), thread_(node->bus_thread()), options_(std::move(options)) {}
  ~ZmqHub() override {
    thread_.Run([this] { Close(); });
  }

  absl::Status Open();
  absl::StatusOr<std::uint64_t> Publish(std::string_view topic, msg::EnvelopeT event) override;
  std::uint32_t CountSubscriptions(std::string_view topic) override;
  msg::EndsReplyT Ends(const msg::EndsRequestT& request) override;
  msg::SinceReplyT Since(const msg::SinceRequestT& request) override;
  Stats GetStats() const override;

 private:
  struct Counters {
    std::atomic<std::uint64_t> forwarded{0}, dropped_topic{0}, dropped_reserved{0},
        dropped_malformed{0}, subscriptions{0}, restarts{0}, kept_bytes{0};
  };
  void Close();
  absl::Status OpenOut();
  void CloseOut();
  void RestartOut();
  void SendOut(std::span<Frame> frames);
  void OnEvents();
  void OnSubscriptions();
  void OnSubscribe(const std::string& prefix);
  // Topic and body; they are taken.
  void Forward(std::span<Frame> frames);
  void Keep(std::string_view topic, const Frame& body);
  void PlanTails();
  void SendTails();
  std::uint64_t PublishHere(const std::string& topic, Frame body);
  void Greet();

  Node* const node_;
  BusThread& thread_;
  const Options options_;
  Counters counters_;

  // The bus thread's own.
  std::unique_ptr<Socket> in_;
  std::unique_ptr<Socket> out_;
  BusThread::WatchId in_watch_ = 0;
  BusThread::WatchId out_watch_ = 0;
  BusThread::TimerId out_timer_ = 0;
  std::unordered_map<std::string, std::uint32_t> subscriptions_;  // By prefix.
  LastValues last_values_;
  RecentEvents recent_;
  Tails tails_;  // Of what the host itself publishes.
  BusThread::TimerId tail_timer_ = 0;
};

absl::Status ZmqHub::Open() {
  auto in = Socket::Open(thread_.context(), Socket::Use::kHubIn);
  if (!in.ok()) return in.status();
  if (absl::Status opened = OpenOut(); !opened.ok()) return opened;
  if (absl::Status bound = (*in)->Bind(options_.publish_endpoint); !bound.ok()) return bound;
  in_ = std::move(*in);
  // To everything, whatever the subscribers want, because the last values are kept here.
  Frame everything(std::string_view("\1", 1));
  (void)in_->Send(std::span(&everything, 1));
  in_watch_ = thread_.Watch(in_->handle(), [this] { OnEvents(); });
  return absl::OkStatus();
}

absl::Status ZmqHub::OpenOut() {
  auto out = Socket::Open(thread_.context(), Socket::Use::kHubOut);
  if (!out.ok()) return out.status();
  if (absl::Status bound = (*out)->Bind(options_.subscribe_endpoint); !bound.ok()) return bound;
  out_ = std::move(*out);
  out_watch_ = thread_.Watch(out_->handle(), [this] { OnSubscriptions(); });
  return absl::OkStatus();
}

void ZmqHub::CloseOut() {
  thread_.Unwatch(out_watch_);
  out_.reset();
  subscriptions_.clear();
  counters_.subscriptions = 0;
}

// There is no other way to be rid of subscriptions: an XPUB socket takes what its peers send.
void ZmqHub::RestartOut() {
  CloseOut();
  const absl::Status opened = OpenOut();
  if (opened.ok()) return;
  LOG(ERROR) << "the hub hears no subscribers: " << opened.message();
  out_timer_ = thread_.RunAfter(kOpenAgain, [this] { RestartOut(); });
}

void ZmqHub::Close() {
  thread_.Unwatch(in_watch_);
  thread_.CancelTimer(tail_timer_);
  thread_.CancelTimer(out_timer_);
  in_.reset();
  CloseOut();
}

// Lossy by design: a subscriber that is full loses its own.
void ZmqHub::SendOut(std::span<Frame> frames) {
  if (out_ != nullptr) (void)out_->Send(frames);
}

void ZmqHub::OnEvents() {
  std::vector<Frame> frames;
  for (int i = 0; i < kMessagesAtOnce && in_->Receive(frames); ++i) {
    const std::string_view topic = frames[0].text();
    if (frames.size() != 2 || frames[1].size() < 8) {
      ++counters_.dropped_malformed;
    } else if (!CheckTopic(topic).ok()) {
      ++counters_.dropped_topic;
    } else if (IsReserved(topic)) {
      LOG_IF(WARNING, counters_.dropped_reserved++ == 0)
          << "dropped an event on " << topic << ": only the registry may publish there (said once)";
    } else {
      Forward(frames);
    }
  }
}

void ZmqHub::Forward(std::span<Frame> frames) {
  ++counters_.forwarded;
  const std::string_view topic = frames[0].text();
  const Frame& body = frames[1];
  if (PeekKind(body.bytes()) != msg::Kind::Tail) {
    last_values_.Put(topic, body);
    if (topic.starts_with("e/")) Keep(topic, body);
  }
  SendOut(frames);
}

void ZmqHub::Keep(std::string_view topic, const Frame& body) {
  const auto event = Receive(body.bytes(), kMaxMessageBytes);
  if (!event.ok() || (*event)->head() == nullptr || (*event)->kind() != msg::Kind::Event) return;
  recent_.Add(topic, *(*event)->head(), body);
  counters_.kept_bytes = recent_.bytes();
}

msg::EndsReplyT ZmqHub::Ends(const msg::EndsRequestT& request) {
  msg::EndsReplyT reply;
  thread_.Run([&] { reply = recent_.Ends(request); });
  return reply;
}

msg::SinceReplyT ZmqHub::Since(const msg::SinceRequestT& request) {
  msg::SinceReplyT reply;
  thread_.Run([&] { reply = recent_.Since(request); });
  return reply;
}

// "\1PREFIX" for each subscription, "\0PREFIX" for its end.
void ZmqHub::OnSubscriptions() {
  std::vector<Frame> frames;
  bool greet = false;
  std::vector<std::string> wanted;
  for (int i = 0; i < kMessagesAtOnce && out_->Receive(frames); ++i) {
    const std::string_view text = frames[0].text();
    if (text.empty() || (text[0] != '\1' && text[0] != '\0')) continue;
    std::string prefix(text.substr(1));
    if (text[0] == '\1') {
      ++counters_.subscriptions;
      greet = greet || prefix == kHello;
      ++subscriptions_[prefix];
      if (counters_.subscriptions > options_.max_subscriptions) {
        const auto peer = frames[0].peer();
        LOG_IF(WARNING, counters_.restarts++ == 0)
            << "over " << options_.max_subscriptions << " subscriptions, the last one of pid "
            << (peer ? peer->pid : 0) << ": all subscribers have to connect again (said once)";
        return RestartOut();
      }
      wanted.push_back(std::move(prefix));
    } else if (const auto found = subscriptions_.find(prefix); found != subscriptions_.end()) {
      --counters_.subscriptions;
      if (--found->second == 0) subscriptions_.erase(found);
    }
  }
  if (greet) Greet();
  for (const std::string& topic : wanted) {
    if (auto value = last_values_.Get(topic)) {
      std::array<Frame, 2> last = {Frame(std::string_view(topic)), std::move(*value)};
      SendOut(last);
    }
  }
}

void ZmqHub::Greet() {
  msg::HubInfoT info;
  info.publish_endpoint = options_.publish_endpoint;
  info.subscribe_endpoint = options_.subscribe_endpoint;
  info.epoch = node_->epoch() + counters_.restarts;
  msg::EnvelopeT hello;
  hello.body.Set(std::move(info));
  hello.head = std::make_unique<msg::Head>();
  PublishHere(std::string(kHello), Encode(hello));
}

std::uint64_t ZmqHub::PublishHere(const std::string& topic, Frame body) {
  const std::uint64_t seq = thread_.NextSequence(topic);
  SetHead(body, msg::Head(node_->source(), node_->epoch(), seq,
                          absl::ToUnixMicros(node_->clock()->Now())));
  std::array<Frame, 2> frames = {Frame(std::string_view(topic)), std::move(body)};
  if (topic == kHello) {
    SendOut(frames);
  } else {
    Forward(frames);
    tails_.Note(topic, seq, std::nullopt, node_->clock()->Monotonic());
    PlanTails();
  }
  return seq;
}

void ZmqHub::PlanTails() {
  if (tail_timer_ != 0 || tails_.next() == absl::InfiniteDuration()) return;
  tail_timer_ = thread_.RunAfter(tails_.next() - node_->clock()->Monotonic(), [this] {
    tail_timer_ = 0;
    SendTails();
    PlanTails();
  });
}

void ZmqHub::SendTails() {
  const std::int64_t sent_us = absl::ToUnixMicros(node_->clock()->Now());
  for (const Tails::Tail& tail : tails_.Take(node_->clock()->Monotonic(), kMessagesAtOnce)) {
    std::array<Frame, 2> frames = {Frame(std::string_view(tail.topic)),
                                   EncodeTail(tail, node_->source(), node_->epoch(), sent_us)};
    Forward(frames);
  }
}

absl::StatusOr<std::uint64_t> ZmqHub::Publish(std::string_view topic, msg::EnvelopeT event) {
  if (absl::Status checked = CheckTopic(topic); !checked.ok()) return checked;
  event.kind = msg::Kind::Event;
  event.head = std::make_unique<msg::Head>();
  Frame frame = Encode(event);
  if (!Receive(frame.bytes(), kMaxMessageBytes).ok()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("event on ", runtime::Absl(topic), " is over the limits of a message"));
  }
  std::uint64_t seq = 0;
  thread_.Run([&] { seq = PublishHere(std::string(topic), std::move(frame)); });
  return seq;
}

std::uint32_t ZmqHub::CountSubscriptions(std::string_view topic) {
  std::uint32_t count = 0;
  thread_.Run([&] {
    for (std::size_t length = 0; length <= topic.size(); ++length) {
      const auto found = subscriptions_.find(std::string(topic.substr(0, length)));
      if (found != subscriptions_.end()) count += found->second;
    }
  });
  return count;
}

Hub::Stats ZmqHub::GetStats() const {
  return {counters_.forwarded,         counters_.dropped_topic, counters_.dropped_reserved,
          counters_.dropped_malformed, counters_.subscriptions, counters_.restarts,
          counters_.kept_bytes};
}

}  // namespace

Hub::Options Hub::DefaultAddresses(const runtime::Locations& locations) {
  return {.publish_endpoint = HubPublishAddress(locations),
          .subscribe_endpoint = HubSubscribeAddress(locations)};
}

absl::StatusOr<std::unique_ptr<Hub>> Hub::Create(Node* node, Options options) {
  auto hub = std::make_unique<ZmqHub>(node, std::move(options));
  absl::Status opened;
  node->bus_thread().Run([&] { opened = hub->Open(); });
  if (opened.ok()) return hub;
  return absl::Status(opened.code(), absl::StrCat("starting the event hub: ", opened.message()));
}

}  // namespace bus
