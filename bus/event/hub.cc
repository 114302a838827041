#include "bus/event/hub.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/call/record_page.h"
#include "bus/call/tails.h"
#include "bus/event/hub_addresses.h"
#include "bus/event/recent_events.h"
#include "bus/thread/bus_thread.h"
#include "bus/thread/socket.h"
#include "bus/thread/topic_table.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "bus/wire/receive.h"
#include "bus/wire/topic.h"
#include "glog/logging.h"
#include "runtime/text/text_hash.h"

// The greeting. ZeroMQ's own welcome message (XPUB_WELCOME_MSG) is a single frame and cannot carry
// a topic and a message, so the hub publishes an ordinary message on `$hello/` whenever a socket
// subscribes to it. Connected subscribers receive it again and see from its epoch that nothing has
// changed. A SUB socket sends all its subscriptions together when it connects, so all are
// registered when the greeting arrives.

// Always true:
// - All sockets, the subscriptions and the record of events belong to the bus thread. Calls from
//   other threads run there (BusThread::Run); other threads read only counters.
// - Every message but the greeting passes through Forward(), which stores it before any subscriber
//   receives it: topics_ has the last message of each topic, recent_ the well-formed `e/` events. A
//   subscriber that subscribes first and then asks for the record therefore misses nothing.
// - Events of one publisher leave in the order of their arrival. The hub never waits for a
//   subscriber: ZeroMQ drops messages for a full one, and the sequence numbers show the gap.
// - subscriptions_ counts the subscriptions of out_; RestartOut() clears both. A restart for too
//   many subscriptions begins a new epoch, because the epoch includes counters_.restarts.
// - EndWait() removes a Wait from waits_ before it calls `done`, so that `done` runs once.

namespace bus {
namespace {

constexpr int kMessagesAtOnce = 1000;
constexpr absl::Duration kOpenAgain = absl::Seconds(1);
constexpr std::string_view kHello = "$hello/";
constexpr std::size_t kTopicsInPage = 1000;
constexpr std::size_t kMaxWaits = 1000;

// True for the roots on which only the host may publish.
bool IsReserved(std::string_view topic) {
  return topic.starts_with("$sys/") || topic.starts_with(kHello);
}

// Fills in TopicInfo's fields about the topic's last message, if the hub keeps it and it is a valid
// envelope.
void Describe(const Frame& last, msg::TopicInfoT* info) {
  const auto event = Receive(last.bytes(), kMaxMessageBytes);
  if (!event.ok()) return;
  if ((*event)->head() != nullptr) info->last_seq = (*event)->head()->seq();
  if ((*event)->body_type() != msg::Body::NONE) {
    if (event->body_known()) info->type = msg::EnumNameBody((*event)->body_type());
    return;
  }
  info->is_payload = (*event)->payload() != nullptr || (*event)->payload_type() != nullptr;
  if ((*event)->payload_type() != nullptr) info->type = (*event)->payload_type()->str();
}

}  // namespace

class Hub::Impl {
 public:
  Impl(Node* node, Options options)
      : node_(node), thread_(node->bus_thread()), options_(std::move(options)) {}
  ~Impl() {
    thread_.Run([this] { Close(); });
  }

  absl::Status Open();
  absl::StatusOr<std::vector<std::uint64_t>> PublishAll(std::vector<NewEvent> events);
  std::uint32_t CountSubscriptions(std::string_view topic);
  std::uint64_t WhenSubscribed(std::string topic, std::uint32_t count, absl::Duration timeout,
                               Subscribed done);
  void StopWaiting(std::uint64_t wait);
  msg::TopicsReplyT Topics(const msg::TopicsRequestT& request);
  msg::LastEventsReplyT LastEvents(const msg::LastEventsRequestT& request);
  msg::EndsReplyT Ends(const msg::EndsRequestT& request);
  msg::SinceReplyT Since(const msg::SinceRequestT& request);
  Stats GetStats() const;
  absl::Status BindAgain();

 private:
  struct Counters {
    std::atomic<std::uint64_t> forwarded{0}, dropped_topic{0}, dropped_reserved{0},
        dropped_malformed{0}, subscriptions{0}, restarts{0}, kept_bytes{0};
  };
  // A caller that waits for subscriptions.
  struct Wait {
    std::string topic;
    std::uint32_t count;
    BusTimer timer;
    Subscribed done;
  };
  void Close();
  absl::Status OpenOut();
  void CloseOut();
  void RestartOut();
  void SendOut(std::span<Frame> frames);
  void OnEvents();
  void OnSubscriptions();
  // Forwards [topic][body]; takes the frames.
  void Forward(std::span<Frame> frames);
  void Keep(std::string_view topic, const Frame& body);
  void PlanTails();
  void SendTails();
  std::uint64_t PublishHere(const std::string& topic, Frame body);
  void Greet();
  std::uint64_t HubEpoch() const { return node_->epoch() + counters_.restarts; }
  std::uint32_t CountHere(std::string_view topic) const;
  void BeginWait(std::uint64_t id, std::string topic, std::uint32_t count, absl::Duration timeout,
                 Subscribed done);
  void EndWait(std::uint64_t id, absl::StatusOr<std::uint32_t> how);
  void EndWaits();

  Node* const node_;
  BusThread& thread_;
  const Options options_;
  Counters counters_;

  // Bus thread only.
  std::unique_ptr<Socket> in_;
  std::unique_ptr<Socket> out_;
  BusThread::WatchId in_watch_ = 0;
  BusThread::WatchId out_watch_ = 0;
  BusTimer out_timer_;
  std::unordered_map<std::string, std::uint32_t, runtime::TextHash, std::equal_to<>>
      subscriptions_;  // By prefix.
  std::map<std::uint64_t, Wait> waits_;
  TopicTable topics_;
  RecentEvents recent_;
  Tails tails_;  // For the topics on which the host itself publishes.
  BusTimer tail_timer_;

  std::atomic<std::uint64_t> last_wait_{0};
};

absl::Status Hub::Impl::Open() {
  auto in = Socket::Open(thread_.context(), Socket::Use::kHubIn);
  if (!in.ok()) return in.status();
  if (absl::Status opened = OpenOut(); !opened.ok()) return opened;
  if (absl::Status bound = (*in)->Bind(options_.publish_endpoint); !bound.ok()) return bound;
  in_ = std::move(*in);
  // Subscribes to everything, whatever the subscribers want, because the hub keeps the last values.
  Frame everything(std::string_view("\1", 1));
  (void)in_->Send(std::span(&everything, 1));
  in_watch_ = thread_.Watch(in_->handle(), [this] { OnEvents(); });
  return absl::OkStatus();
}

absl::Status Hub::Impl::OpenOut() {
  auto out = Socket::Open(thread_.context(), Socket::Use::kHubOut);
  if (!out.ok()) return out.status();
  if (absl::Status bound = (*out)->Bind(options_.subscribe_endpoint); !bound.ok()) return bound;
  out_ = std::move(*out);
  out_watch_ = thread_.Watch(out_->handle(), [this] { OnSubscriptions(); });
  return absl::OkStatus();
}

void Hub::Impl::CloseOut() {
  thread_.Unwatch(out_watch_);
  out_.reset();
  subscriptions_.clear();
  counters_.subscriptions = 0;
}

// Drops all subscriptions. An XPUB socket accepts every subscription, so only closing it removes
// them.
void Hub::Impl::RestartOut() {
  CloseOut();
  const absl::Status opened = OpenOut();
  if (opened.ok()) return;
  LOG(ERROR) << "the hub hears no subscribers: " << opened.message();
  out_timer_.Start(&thread_, kOpenAgain, [this] { RestartOut(); });
}

void Hub::Impl::Close() {
  thread_.Unwatch(in_watch_);
  tail_timer_.Cancel();
  out_timer_.Cancel();
  in_.reset();
  CloseOut();
  while (!waits_.empty()) {
    EndWait(waits_.begin()->first, absl::UnavailableError("the event hub is ending"));
  }
}

// Lossy by design: a full subscriber loses its own messages.
void Hub::Impl::SendOut(std::span<Frame> frames) {
  if (out_ != nullptr) (void)out_->Send(frames);
}

void Hub::Impl::OnEvents() {
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

void Hub::Impl::Forward(std::span<Frame> frames) {
  ++counters_.forwarded;
  const std::string_view topic = frames[0].text();
  const Frame& body = frames[1];
  if (PeekKind(body.bytes()) != msg::Kind::Tail) {
    topics_.Put(topic, body, absl::ToUnixMicros(node_->clock()->Now()));
    if (topic.starts_with("e/")) Keep(topic, body);
  }
  SendOut(frames);
}

void Hub::Impl::Keep(std::string_view topic, const Frame& body) {
  const auto event = Receive(body.bytes(), kMaxMessageBytes);
  if (!event.ok() || (*event)->head() == nullptr || (*event)->kind() != msg::Kind::Event) return;
  recent_.Add(topic, *(*event)->head(), body);
  counters_.kept_bytes = recent_.bytes();
}

msg::EndsReplyT Hub::Impl::Ends(const msg::EndsRequestT& request) {
  msg::EndsReplyT reply;
  thread_.Run([&] { reply = recent_.Ends(request); });
  return reply;
}

msg::SinceReplyT Hub::Impl::Since(const msg::SinceRequestT& request) {
  msg::SinceReplyT reply;
  thread_.Run([&] { reply = recent_.Since(request); });
  return reply;
}

// Subscriptions arrive as "\1PREFIX", their cancellations as "\0PREFIX".
void Hub::Impl::OnSubscriptions() {
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
    if (auto value = topics_.Last(topic)) {
      std::array<Frame, 2> last = {Frame(std::string_view(topic)), std::move(*value)};
      SendOut(last);
    }
  }
  if (!wanted.empty()) EndWaits();
}

void Hub::Impl::Greet() {
  msg::HubInfoT info;
  info.publish_endpoint = options_.publish_endpoint;
  info.subscribe_endpoint = options_.subscribe_endpoint;
  info.epoch = HubEpoch();
  msg::EnvelopeT hello;
  hello.body.Set(std::move(info));
  hello.head = std::make_unique<msg::Head>();
  PublishHere(std::string(kHello), Encode(hello));
}

std::uint64_t Hub::Impl::PublishHere(const std::string& topic, Frame body) {
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

void Hub::Impl::PlanTails() {
  if (tail_timer_.is_set() || tails_.next() == absl::InfiniteDuration()) return;
  tail_timer_.Start(&thread_, tails_.next() - node_->clock()->Monotonic(), [this] {
    SendTails();
    PlanTails();
  });
}

void Hub::Impl::SendTails() {
  const std::int64_t sent_us = absl::ToUnixMicros(node_->clock()->Now());
  for (const Tails::Tail& tail : tails_.Take(node_->clock()->Monotonic(), kMessagesAtOnce)) {
    std::array<Frame, 2> frames = {Frame(std::string_view(tail.topic)),
                                   EncodeTail(tail, node_->source(), node_->epoch(), sent_us)};
    Forward(frames);
  }
}

absl::StatusOr<std::vector<std::uint64_t>> Hub::Impl::PublishAll(std::vector<NewEvent> events) {
  std::vector<Frame> frames;
  frames.reserve(events.size());
  for (NewEvent& event : events) {
    if (absl::Status checked = CheckTopic(event.topic); !checked.ok()) return checked;
    event.event.kind = msg::Kind::Event;
    event.event.head = std::make_unique<msg::Head>();
    frames.push_back(Encode(event.event));
    if (!Receive(frames.back().bytes(), kMaxMessageBytes).ok()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("event on ", event.topic, " is over the limits of a message"));
    }
  }
  std::vector<std::uint64_t> numbers;
  numbers.reserve(events.size());
  thread_.Run([&] {
    for (std::size_t i = 0; i < events.size(); ++i) {
      numbers.push_back(PublishHere(events[i].topic, std::move(frames[i])));
    }
  });
  return numbers;
}

std::uint32_t Hub::Impl::CountHere(std::string_view topic) const {
  std::uint32_t count = 0;
  for (std::size_t length = 0; length <= topic.size(); ++length) {
    const auto found = subscriptions_.find(topic.substr(0, length));
    if (found != subscriptions_.end()) count += found->second;
  }
  return count;
}

std::uint32_t Hub::Impl::CountSubscriptions(std::string_view topic) {
  std::uint32_t count = 0;
  thread_.Run([&] { count = CountHere(topic); });
  return count;
}

std::uint64_t Hub::Impl::WhenSubscribed(std::string topic, std::uint32_t count,
                                        absl::Duration timeout, Subscribed done) {
  const std::uint64_t id = ++last_wait_;
  thread_.Post([this, id, topic = std::move(topic), count, timeout, done = std::move(done)] {
    BeginWait(id, topic, count, timeout, done);
  });
  return id;
}

void Hub::Impl::StopWaiting(std::uint64_t wait) {
  thread_.Post([this, wait] { EndWait(wait, absl::CancelledError("nobody waits any more")); });
}

void Hub::Impl::BeginWait(std::uint64_t id, std::string topic, std::uint32_t count,
                          absl::Duration timeout, Subscribed done) {
  if (in_ == nullptr) return done(absl::UnavailableError("the event hub is ending"));
  if (const std::uint32_t now = CountHere(topic); now >= count) return done(now);
  if (waits_.size() >= kMaxWaits) {
    return done(absl::ResourceExhaustedError(
        absl::StrCat(kMaxWaits, " publishers wait for subscribers already")));
  }
  Wait& wait = waits_[id];
  wait.topic = std::move(topic);
  wait.count = count;
  wait.done = std::move(done);
  if (timeout == absl::InfiniteDuration()) return;
  wait.timer.Start(&thread_, timeout, [this, id] {
    const Wait& late = waits_.at(id);
    EndWait(id, absl::DeadlineExceededError(absl::StrCat(CountHere(late.topic), " of ", late.count,
                                                         " subscriptions of ", late.topic,
                                                         " are there")));
  });
}

void Hub::Impl::EndWait(std::uint64_t id, absl::StatusOr<std::uint32_t> how) {
  auto wait = waits_.extract(id);
  if (wait.empty()) return;
  wait.mapped().timer.Cancel();
  wait.mapped().done(std::move(how));
}

// Ends the waits whose subscriptions now exist.
void Hub::Impl::EndWaits() {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ready;
  for (const auto& [id, wait] : waits_) {
    if (const std::uint32_t now = CountHere(wait.topic); now >= wait.count) {
      ready.emplace_back(id, now);
    }
  }
  for (const auto& [id, now] : ready) EndWait(id, now);
}

msg::TopicsReplyT Hub::Impl::Topics(const msg::TopicsRequestT& request) {
  const std::size_t limit =
      request.limit == 0 ? kTopicsInPage : std::min<std::size_t>(request.limit, kTopicsInPage);
  msg::TopicsReplyT reply;
  TopicTable::Page page;
  std::vector<std::uint32_t> subscribers;
  thread_.Run([&] {
    if (request.exact) {
      auto row = topics_.Find(request.prefix);
      page.rows.push_back(row ? *std::move(row) : TopicTable::Row{.topic = request.prefix});
    } else {
      page = topics_.List(request.prefix, request.after, limit);
    }
    for (const TopicTable::Row& row : page.rows) subscribers.push_back(CountHere(row.topic));
    reply.epoch = HubEpoch();
  });
  reply.more = page.more;
  for (std::size_t i = 0; i < page.rows.size(); ++i) {
    const TopicTable::Row& row = page.rows[i];
    auto info = std::make_unique<msg::TopicInfoT>();
    info->topic = row.topic;
    info->events = row.events;
    info->bytes = row.bytes;
    info->first_us = row.first_us;
    info->last_us = row.last_us;
    info->subscribers = subscribers[i];
    if (row.last.has_value()) Describe(*row.last, info.get());
    reply.topics.push_back(std::move(info));
  }
  return reply;
}

msg::LastEventsReplyT Hub::Impl::LastEvents(const msg::LastEventsRequestT& request) {
  SincePage events;
  TopicTable::Page page;
  std::string after = request.after;
  do {
    thread_.Run([&] { page = topics_.List(request.prefix, after, SincePage::kMaxEvents); });
    for (const TopicTable::Row& row : page.rows) {
      after = row.topic;
      // (The hub forwards messages without verifying them.)
      if (!row.last.has_value() || !Receive(row.last->bytes(), kMaxMessageBytes).ok()) continue;
      if (!events.AddEncoded(row.topic, row.last->text())) break;
    }
  } while (page.more && !events.full());
  msg::LastEventsReplyT reply;
  reply.more = events.full();
  reply.events = std::move(events.Take().events);
  return reply;
}

Hub::Stats Hub::Impl::GetStats() const {
  return {counters_.forwarded,         counters_.dropped_topic, counters_.dropped_reserved,
          counters_.dropped_malformed, counters_.subscriptions, counters_.restarts,
          counters_.kept_bytes};
}

absl::Status Hub::Impl::BindAgain() {
  absl::Status all;
  thread_.Run([&] {
    for (const auto& [socket, endpoint] : {std::pair(in_.get(), &options_.publish_endpoint),
                                           {out_.get(), &options_.subscribe_endpoint}}) {
      if (socket != nullptr && Socket::FileIsGone(*endpoint)) all.Update(socket->Bind(*endpoint));
    }
  });
  return all;
}

Hub::Hub(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Hub::~Hub() = default;
absl::StatusOr<std::vector<std::uint64_t>> Hub::PublishAll(std::vector<NewEvent> events) {
  return impl_->PublishAll(std::move(events));
}
std::uint32_t Hub::CountSubscriptions(std::string_view topic) {
  return impl_->CountSubscriptions(topic);
}
std::uint64_t Hub::WhenSubscribed(std::string topic, std::uint32_t count, absl::Duration timeout,
                                  Subscribed done) {
  return impl_->WhenSubscribed(std::move(topic), count, timeout, std::move(done));
}
void Hub::StopWaiting(std::uint64_t wait) { impl_->StopWaiting(wait); }
msg::TopicsReplyT Hub::Topics(const msg::TopicsRequestT& request) { return impl_->Topics(request); }
msg::LastEventsReplyT Hub::LastEvents(const msg::LastEventsRequestT& request) {
  return impl_->LastEvents(request);
}
msg::EndsReplyT Hub::Ends(const msg::EndsRequestT& request) { return impl_->Ends(request); }
msg::SinceReplyT Hub::Since(const msg::SinceRequestT& request) { return impl_->Since(request); }
Hub::Stats Hub::GetStats() const { return impl_->GetStats(); }
absl::Status Hub::BindAgain() { return impl_->BindAgain(); }

absl::StatusOr<std::uint64_t> Hub::Publish(std::string_view topic, msg::EnvelopeT event) {
  std::vector<NewEvent> events;
  events.push_back({std::string(topic), std::move(event)});
  const auto numbers = PublishAll(std::move(events));
  if (!numbers.ok()) return numbers.status();
  return numbers->front();
}

Hub::Options Hub::DefaultAddresses(const runtime::Locations& locations) {
  return {.publish_endpoint = HubPublishAddress(locations),
          .subscribe_endpoint = HubSubscribeAddress(locations)};
}

absl::StatusOr<std::unique_ptr<Hub>> Hub::Create(Node* node, Options options) {
  auto impl = std::make_unique<Impl>(node, std::move(options));
  absl::Status opened;
  node->bus_thread().Run([&] { opened = impl->Open(); });
  if (opened.ok()) return std::unique_ptr<Hub>(new Hub(std::move(impl)));
  return absl::Status(opened.code(), absl::StrCat("starting the event hub: ", opened.message()));
}

}  // namespace bus
