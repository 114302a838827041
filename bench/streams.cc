#include "bench/streams.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <zmq.hpp>

#include "absl/strings/str_cat.h"
#include "bench/flow.h"
#include "bus/event/hub.h"
#include "bus/event/publisher.h"
#include "bus/event/subscriber.h"
#include "bus/fixtures/test_yard.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "bus/wire/receive.h"
#include "runtime/thread.h"

namespace bench {
namespace {

constexpr std::string_view kTopic = "m/run-1/loss/";
constexpr std::string_view kPrefix = "m/";
constexpr int kQueue = 10'000;  // The hub's; raw sockets get the same, so that windows are alike.
constexpr int kPatience = 20'000;
// More than the queues of a subscriber that does not read can hold, including the kernel's.
constexpr std::uint64_t kFillsQueues = 60'000;
// Number of a context option: aligned frames, which the bus needs (bus/thread/socket.cc).
constexpr int kZeroCopyReceive = 10;

// ---- The connection between publisher and subscriber

class Between {
 public:
  virtual ~Between() = default;
  virtual void ConnectPublisher(zmq::socket_t& publisher) = 0;
  virtual void ConnectSubscriber(zmq::socket_t& subscriber) = 0;
};

class RawProxy : public Between {
 public:
  RawProxy() {
    for (zmq::socket_t* socket : {&in_, &out_}) {
      socket->set(zmq::sockopt::rcvhwm, kQueue);
      socket->set(zmq::sockopt::sndhwm, kQueue);
      socket->set(zmq::sockopt::linger, 0);
    }
    in_.bind(yard_.Address("in"));
    out_.bind(yard_.Address("out"));
    control_.bind("inproc://control");
    stop_.connect("inproc://control");
    thread_ = std::make_unique<runtime::Thread>(
        "proxy", [this] { zmq::proxy_steerable(in_, out_, zmq::socket_ref(), control_); });
  }
  ~RawProxy() override {
    stop_.send(zmq::str_buffer("TERMINATE"), zmq::send_flags::none);
    thread_->Join();
  }
  void ConnectPublisher(zmq::socket_t& publisher) override {
    publisher.connect(yard_.Address("in"));
  }
  void ConnectSubscriber(zmq::socket_t& subscriber) override {
    subscriber.connect(yard_.Address("out"));
  }

 private:
  const bus::TestYard yard_;
  zmq::context_t context_;
  zmq::socket_t in_{context_, zmq::socket_type::xsub};
  zmq::socket_t out_{context_, zmq::socket_type::xpub};
  zmq::socket_t control_{context_, zmq::socket_type::pair};
  zmq::socket_t stop_{context_, zmq::socket_type::pair};
  std::unique_ptr<runtime::Thread> thread_;
};

class ThroughHub : public Between {
 public:
  static absl::StatusOr<std::unique_ptr<Between>> Create() {
    auto through = std::make_unique<ThroughHub>();
    auto hub = bus::Hub::Create(through->node_.get(),
                                bus::Hub::DefaultAddresses(through->yard_.locations()));
    if (!hub.ok()) return hub.status();
    through->hub_ = std::move(*hub);
    return through;
  }
  void ConnectPublisher(zmq::socket_t& publisher) override {
    publisher.connect(yard_.Address("hub-pub"));
  }
  void ConnectSubscriber(zmq::socket_t& subscriber) override {
    subscriber.connect(yard_.Address("hub-sub"));
  }
  const bus::TestYard& yard() const { return yard_; }

 private:
  const bus::TestYard yard_;
  const std::unique_ptr<bus::Node> node_ = yard_.MakeNode("registry");
  std::unique_ptr<bus::Hub> hub_;
};

class Nothing : public Between {
 public:
  void ConnectPublisher(zmq::socket_t& publisher) override { publisher.bind(yard_.Address("pub")); }
  void ConnectSubscriber(zmq::socket_t& subscriber) override {
    subscriber.connect(yard_.Address("pub"));
  }

 private:
  const bus::TestYard yard_;
};

absl::StatusOr<std::unique_ptr<Between>> Make(Way way) {
  switch (way) {
    case Way::kHub:
      return ThroughHub::Create();
    case Way::kRawProxy:
      return std::make_unique<RawProxy>();
    case Way::kDirect:
      return std::make_unique<Nothing>();
  }
  return absl::InternalError("no such way");
}

// ---- Publisher and subscriber

class RawSubscriber {
 public:
  RawSubscriber(Between& between, int queue) {
    context_.set(static_cast<zmq::ctxopt>(kZeroCopyReceive), 0);
    socket_.set(zmq::sockopt::rcvhwm, queue);
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::subscribe, std::string(kPrefix));
    between.ConnectSubscriber(socket_);
  }
  // Receives a whole message and leaves its last frame in `body`. Returns false on a timeout.
  bool Receive(zmq::message_t& body, int patience_ms = kPatience) {
    socket_.set(zmq::sockopt::rcvtimeo, patience_ms);
    return ReceiveNext(body);
  }
  bool ReceiveNext(zmq::message_t& body) {
    return socket_.recv(body).has_value() && socket_.recv(body).has_value();
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_{context_, zmq::socket_type::sub};
};

class RawPublisher {
 public:
  explicit RawPublisher(Between& between) {
    socket_.set(zmq::sockopt::sndhwm, kQueue);
    socket_.set(zmq::sockopt::xpub_nodrop, true);  // Waits instead of dropping messages.
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo, kPatience);
    between.ConnectPublisher(socket_);
  }
  // Waits for a subscription.
  bool AwaitSubscription() {
    zmq::message_t subscription;
    return socket_.recv(subscription).has_value();
  }
  void Send(const bus::Frame& body) {
    socket_.send(zmq::buffer(kTopic), zmq::send_flags::sndmore);
    zmq_msg_send(static_cast<zmq_msg_t*>(body.message()), socket_.handle(), 0);
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_{context_, zmq::socket_type::xpub};
};

// Sends what `make` returns until the end; `take` receives every body that arrives.
absl::StatusOr<double> Run(Way way, bool stalled, const Flow::Options& options,
                           const std::function<bus::Frame()>& make,
                           const std::function<bool(const zmq::message_t& body)>& take) {
  auto between = Make(way);
  if (!between.ok()) return between.status();
  RawPublisher publisher(**between);
  RawSubscriber subscriber(**between, kQueue);
  std::unique_ptr<RawSubscriber> idle;
  if (stalled) idle = std::make_unique<RawSubscriber>(**between, 1000);
  zmq::message_t body;
  if (!publisher.AwaitSubscription()) return absl::DeadlineExceededError("no subscription came");
  // Repeats until the subscriptions have taken effect.
  for (RawSubscriber* each : {idle.get(), &subscriber}) {
    if (each == nullptr) continue;
    do publisher.Send(make());
    while (!each->Receive(body, 20));
  }
  while (subscriber.Receive(body, 50)) {
  }
  Flow flow(options);
  runtime::Thread sender("sender", [&] {
    while (flow.MaySend()) publisher.Send(make());
  });
  bool more = subscriber.Receive(body);
  while (more) {
    if (!take(body)) {
      flow.Fail(absl::DataLossError("a message arrived broken"));
      break;
    }
    if (!flow.Received()) break;
    more = subscriber.ReceiveNext(body);
  }
  if (!more) flow.Fail(absl::DeadlineExceededError("messages have stopped coming"));
  sender.Join();
  return flow.Wait();
}

bus::Frame EnvelopeOf(std::size_t bytes) {
  msg::EnvelopeT event;
  event.head = std::make_unique<msg::Head>(1, 1, 1, 1);
  bus::Frame frame = bus::Encode(event);
  if (frame.size() + 8 >= bytes) return frame;
  event.payload.resize(8);
  const std::size_t overhead = bus::Encode(event).size() - 8;
  event.payload.resize(bytes > overhead ? bytes - overhead : 1);
  return bus::Encode(event);
}

// ---- Points

// The points that a trainer publishes together: kPoints steps of one tag.
msg::PointsT MakePoints(std::int64_t first_step) {
  msg::PointsT points;
  points.run = "run-1";
  points.tag = "loss";
  points.steps.resize(kPoints);
  points.wall_times.resize(kPoints);
  points.values.resize(kPoints);
  for (int i = 0; i < kPoints; ++i) {
    points.steps[i] = first_step + i;
    points.wall_times[i] = 1.7e9 + static_cast<double>(i);
    points.values[i] = static_cast<double>(first_step % 1000) + i;
  }
  return points;
}

double Sum(const msg::Envelope& event) {
  const msg::Points* const points = event.body_as_Points();
  if (points == nullptr || points->values() == nullptr) return 0;
  double sum = 0;
  for (const double value : *points->values()) sum += value;
  return sum;
}

Flow::Options PointsFlow(absl::Duration time) {
  return {.window = 2'000, .warm_up = 2'000, .time = time};
}

}  // namespace

absl::StatusOr<double> Messages(Way way, std::size_t bytes, bool stalled, absl::Duration time) {
  const bus::Frame frame = EnvelopeOf(bytes);
  const Flow::Options options{.warm_up = kFillsQueues, .time = time};
  return Run(
      way, stalled, options, [&] { return bus::Frame(frame.text()); },
      [&](const zmq::message_t& body) { return body.size() == frame.size(); });
}

absl::StatusOr<double> PointMessages(Way way, absl::Duration time) {
  std::int64_t step = 0;
  return Run(
      way, false, PointsFlow(time),
      [&] {
        msg::EnvelopeT event;
        event.head = std::make_unique<msg::Head>();
        event.body.Set(MakePoints(step));
        bus::Frame frame = bus::Encode(event);
        bus::SetHead(frame, msg::Head(1, 1, static_cast<std::uint64_t>(++step), 1));
        return frame;
      },
      [](const zmq::message_t& body) {
        const auto received =
            bus::Receive({body.data<std::uint8_t>(), body.size()}, bus::kMaxMessageBytes);
        return received.ok() && Sum(**received) > 0;
      });
}

absl::StatusOr<double> PointMessagesOfTheBus(absl::Duration time) {
  auto between = ThroughHub::Create();
  if (!between.ok()) return between.status();
  const bus::TestYard& yard = static_cast<ThroughHub&>(**between).yard();
  const auto sending = yard.MakeNode("sender");
  const auto receiving = yard.MakeNode("receiver");
  Flow flow(PointsFlow(time));
  bus::Subscriber subscriber(
      receiving.get(),
      {.prefixes = {std::string(kPrefix)},
       .on_event =
           [&](std::string_view, const msg::Envelope& event) {
             if (Sum(event) == 0) flow.Fail(absl::DataLossError("a message arrived broken"));
             flow.Received();
           },
       .on_lost =
           [&](std::string_view, std::uint64_t lost) {
             flow.Fail(absl::DataLossError(absl::StrCat(lost, " messages were lost")));
           }});
  const absl::Status connected = subscriber.WaitUntilConnected(absl::Milliseconds(kPatience));
  if (!connected.ok()) return connected;
  bus::Publisher publisher(sending.get());
  runtime::Thread sender("sender", [&] {
    for (std::int64_t step = 1; flow.MaySend(); ++step) {
      const absl::Status published = publisher.Publish(kTopic, MakePoints(step));
      if (!published.ok()) return flow.Fail(published);
    }
  });
  auto rate = flow.Wait();
  sender.Join();
  return rate;
}

}  // namespace bench
