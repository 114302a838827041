// Tests the limits of a hub and of a service, and their behavior beyond them.

#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <zmq.hpp>

#include "absl/time/clock.h"
#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "bus/event/publisher.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "bus/wire/topic.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/mutex.h"

namespace bus {
namespace {

using rpc::Registry;
using ::testing::HasSubstr;

constexpr int kPatience = 20'000;  // Timeout in milliseconds.

// Returns a topic of `bytes` bytes that is otherwise legal.
std::string TopicOfLength(std::size_t bytes) { return "e/" + std::string(bytes - 3, 'x') + "/"; }

// Returns lengths around the limit, and those at which ZeroMQ 4.3.4 loses subscriptions.
std::vector<std::size_t> LongLengths() {
  std::vector<std::size_t> lengths = {201, 202, 256, 257, 300, 5000};
  for (std::size_t length = 244; length <= 255; ++length) lengths.push_back(length);
  return lengths;
}

class LimitsTest : public ::testing::Test {
 protected:
  zmq::socket_t Connect(zmq::socket_type type, const std::string& name) {
    zmq::socket_t socket(context_, type);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, kPatience);
    socket.connect(yard_.Address(name));
    return socket;
  }
  static msg::EnvelopeT Decode(const zmq::message_t& message) {
    const auto received = Receive({message.data<std::uint8_t>(), message.size()}, kMaxMessageBytes);
    EXPECT_EQ(received.status(), absl::OkStatus());
    return received.ok() ? *std::unique_ptr<msg::EnvelopeT>((*received)->UnPack())
                         : msg::EnvelopeT();
  }

  TestYard yard_;
  std::unique_ptr<Node> node_ = yard_.MakeNode("registry");
  zmq::context_t context_;
};

// ---- The hub

class HubLimitsTest : public LimitsTest {
 protected:
  void StartHub(std::size_t max_subscriptions = 100'000) {
    Hub::Options options = Hub::DefaultAddresses(yard_.locations());
    options.max_subscriptions = max_subscriptions;
    auto hub = Hub::Create(node_.get(), options);
    ASSERT_EQ(hub.status(), absl::OkStatus());
    hub_ = std::move(*hub);
  }
  // Returns a connected socket with these subscriptions.
  zmq::socket_t Listen(const std::vector<std::string>& prefixes) {
    auto socket = Connect(zmq::socket_type::sub, "hub-sub");
    for (const std::string& prefix : prefixes) socket.set(zmq::sockopt::subscribe, prefix);
    socket.set(zmq::sockopt::subscribe, "$hello/");
    EXPECT_EQ(Next(socket).topic, "$hello/");
    return socket;
  }
  zmq::socket_t Publisher() {
    auto socket = Connect(zmq::socket_type::xpub, "hub-pub");
    zmq::message_t subscription;
    EXPECT_TRUE(socket.recv(subscription).has_value());
    return socket;
  }
  static void Publish(zmq::socket_t& socket, const std::string& topic) {
    msg::EnvelopeT event;
    event.head = std::make_unique<msg::Head>(1, 2, 3, 4);
    socket.send(zmq::buffer(topic), zmq::send_flags::sndmore);
    socket.send(zmq::buffer(Encode(event).text()));
  }
  struct Heard {
    std::string topic;
    msg::EnvelopeT event;
  };
  static Heard Next(zmq::socket_t& socket) {
    zmq::message_t topic, event;
    EXPECT_TRUE(socket.recv(topic).has_value() && socket.recv(event).has_value()) << "nothing";
    return {topic.to_string(), Decode(event)};
  }
  // Returns the topic of the next event that is not a greeting.
  static std::string NextTopic(zmq::socket_t& socket) {
    for (;;) {
      const std::string topic = Next(socket).topic;
      if (topic != "$hello/") return topic;
    }
  }
  // Returns the epoch of the next greeting whose epoch is not `epoch`.
  static std::uint64_t NextEpoch(zmq::socket_t& socket, std::uint64_t epoch) {
    for (;;) {
      const Heard heard = Next(socket);
      if (heard.topic.empty()) return 0;
      const msg::HubInfoT* const info = heard.event.body.AsHubInfo();
      if (info != nullptr && info->epoch != epoch) return info->epoch;
    }
  }

  std::unique_ptr<Hub> hub_;
};

TEST_F(HubLimitsTest, APublisherRefusesALongTopic) {
  bus::Publisher publisher(node_.get());
  EXPECT_EQ(publisher.PublishEnvelope(TopicOfLength(200), {}), absl::OkStatus());
  for (const std::size_t length : LongLengths()) {
    const absl::Status refused = publisher.PublishEnvelope(TopicOfLength(length), {});
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << length;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 200"));
  }
}

TEST_F(HubLimitsTest, TheHubDropsALongTopicAndGoesOn) {
  StartHub();
  auto listener = Listen({""});
  auto publisher = Publisher();
  for (const std::size_t length : LongLengths()) Publish(publisher, TopicOfLength(length));
  Publish(publisher, TopicOfLength(200));
  EXPECT_EQ(NextTopic(listener), TopicOfLength(200));
  EXPECT_EQ(hub_->GetStats().dropped_topic, LongLengths().size());
}

TEST_F(HubLimitsTest, TheHubDropsEveryByteThatIsNotInTheAlphabet) {
  StartHub();
  auto listener = Listen({""});
  auto publisher = Publisher();
  constexpr std::string_view kAlphabet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz.$-";
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == '/' || kAlphabet.find(static_cast<char>(byte)) != kAlphabet.npos) continue;
    Publish(publisher, std::string("e/a") + static_cast<char>(byte) + "b/");
  }
  for (const std::string topic : {"", "e", "/", "//", "e//", "e/x", "1/2/3/4/5/6/7/8/9/"}) {
    Publish(publisher, topic);
  }
  Publish(publisher, "e/" + std::string(kAlphabet) + "/");
  EXPECT_EQ(NextTopic(listener), "e/" + std::string(kAlphabet) + "/");
  EXPECT_EQ(hub_->GetStats().dropped_topic, 256 - 1 - kAlphabet.size() + 7);
}

TEST_F(HubLimitsTest, ALongSubscriptionCostsItsSenderTheConnectionAndNobodyElse) {
  StartHub();
  auto listener = Listen({TopicOfLength(200)});
  EXPECT_EQ(hub_->CountSubscriptions(TopicOfLength(200)), 1u);
  std::vector<zmq::socket_t> greedy;
  for (const std::size_t length : LongLengths()) {
    greedy.push_back(Connect(zmq::socket_type::sub, "hub-sub"));
    greedy.back().set(zmq::sockopt::subscribe, TopicOfLength(length));
  }
  auto publisher = Publisher();
  for (int i = 0; i < 3; ++i) {
    Publish(publisher, TopicOfLength(200));
    EXPECT_EQ(NextTopic(listener), TopicOfLength(200));
    auto another = Listen({"t/"});
  }
  const std::uint32_t everything = hub_->CountSubscriptions("x/");
  for (const std::size_t length : LongLengths()) {
    // For prefixes of 246 to 255 bytes, ZeroMQ sends no subscription, or one with another prefix.
    if (length >= 246 && length <= 255) continue;
    EXPECT_EQ(hub_->CountSubscriptions(TopicOfLength(length)), everything) << length;
  }
}

TEST_F(HubLimitsTest, OverTheLimitOfSubscriptionsAllConnectAgainAndKnowIt) {
  StartHub(/*max_subscriptions=*/100);
  auto listener = Connect(zmq::socket_type::sub, "hub-sub");
  listener.set(zmq::sockopt::subscribe, "e/");
  listener.set(zmq::sockopt::subscribe, "$hello/");
  const std::uint64_t first = NextEpoch(listener, 0);
  {
    auto greedy = Connect(zmq::socket_type::sub, "hub-sub");
    for (int i = 0; i < 101; ++i) {
      greedy.set(zmq::sockopt::subscribe, "e/" + std::to_string(i) + "/");
    }
    // The epoch is new: subscribers ask the owners for events that they may have missed.
    EXPECT_GT(NextEpoch(listener, first), first);
    EXPECT_GT(hub_->GetStats().restarts, 0u);
  }
  // The offender reconnects until it is destroyed; then the hub works as before.
  auto publisher = Publisher();
  const absl::Time deadline = absl::Now() + absl::Milliseconds(kPatience);
  while (hub_->CountSubscriptions("e/x/") != 1 && absl::Now() < deadline) {
    // (Polls, because the hub publishes no event about subscriptions.)
  }
  Publish(publisher, "e/x/");
  EXPECT_EQ(NextTopic(listener), "e/x/");
  EXPECT_LE(hub_->GetStats().subscriptions, 100u);
}

// ---- A service

class ServiceLimitsTest : public LimitsTest {
 protected:
  static constexpr std::uint64_t kMaxCalls = 1024;

  ServiceLimitsTest() {
    service_.HandleAsync<Registry::List>([this](std::shared_ptr<ReplyWriter<Registry::List>> writer,
                                                const msg::ListRequestT& request) {
      if (request.prefix != "wait") return writer->Finish(msg::ListReplyT());
      runtime::MutexLock lock(mutex_);
      waiting_.push_back(std::move(writer));
      changed_.SignalAll();
    });
    EXPECT_EQ(service_.Start(), absl::OkStatus());
  }
  static void Call(zmq::socket_t& socket, std::uint64_t number, const std::string& prefix) {
    msg::EnvelopeT request;
    request.kind = msg::Kind::Request;
    request.corr = number;
    request.method = "List";
    msg::ListRequestT body;
    body.prefix = prefix;
    request.body.Set(std::move(body));
    socket.send(zmq::buffer(Encode(request).text()));
  }
  static msg::EnvelopeT Answer(zmq::socket_t& socket) {
    zmq::message_t message;
    EXPECT_TRUE(socket.recv(message).has_value()) << "no answer";
    return message.size() == 0 ? msg::EnvelopeT() : Decode(message);
  }
  static absl::StatusCode CodeOf(const msg::EnvelopeT& answer) {
    return FromWire(answer.status.get()).code();
  }
  std::vector<std::shared_ptr<ReplyWriter<Registry::List>>> TakeWaiting(std::size_t count) {
    const absl::Time deadline = absl::Now() + absl::Milliseconds(kPatience);
    runtime::MutexLock lock(mutex_);
    while (waiting_.size() < count && absl::Now() < deadline) {
      changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
    }
    return std::exchange(waiting_, {});
  }

  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<std::shared_ptr<ReplyWriter<Registry::List>>> waiting_;
  Service service_{node_.get(),
                   {.name = "registry", .endpoint = yard_.Address("registry"), .pool = nullptr}};
};

TEST_F(ServiceLimitsTest, ACallerHas1024CallsUnderWayAndOthersAreServed) {
  auto greedy = Connect(zmq::socket_type::dealer, "registry");
  auto other = Connect(zmq::socket_type::dealer, "registry");
  for (std::uint64_t i = 1; i <= kMaxCalls; ++i) Call(greedy, i, "wait");
  Call(greedy, kMaxCalls + 1, "wait");
  const msg::EnvelopeT refused = Answer(greedy);
  EXPECT_EQ(refused.corr, kMaxCalls + 1);
  EXPECT_EQ(CodeOf(refused), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status->message, HasSubstr("1024 calls"));
  Call(other, 5, "");
  EXPECT_EQ(CodeOf(Answer(other)), absl::StatusCode::kOk);
  // One finished call frees one place.
  auto waiting = TakeWaiting(kMaxCalls);
  ASSERT_EQ(waiting.size(), kMaxCalls);
  waiting[0]->Finish(msg::ListReplyT());
  EXPECT_EQ(Answer(greedy).corr, 1u);
  Call(greedy, kMaxCalls + 2, "");
  const msg::EnvelopeT served = Answer(greedy);
  EXPECT_EQ(served.corr, kMaxCalls + 2);
  EXPECT_EQ(CodeOf(served), absl::StatusCode::kOk);
}

TEST_F(ServiceLimitsTest, ANumberThatIsInUseIsRefused) {
  auto dealer = Connect(zmq::socket_type::dealer, "registry");
  Call(dealer, 5, "wait");
  Call(dealer, 5, "");
  EXPECT_EQ(CodeOf(Answer(dealer)), absl::StatusCode::kInvalidArgument);
  TakeWaiting(1).front()->Finish(msg::ListReplyT());
  EXPECT_EQ(CodeOf(Answer(dealer)), absl::StatusCode::kOk);
}

TEST_F(ServiceLimitsTest, ARequestAtAnyAddressIsAnswered) {
  // Frames of every length, so that messages start at every alignment that ZeroMQ produces.
  auto dealer = Connect(zmq::socket_type::dealer, "registry");
  for (std::uint64_t i = 1; i <= 600; ++i) {
    Call(dealer, i, std::string(i, 'x'));
    EXPECT_EQ(Answer(dealer).corr, i);
  }
}

TEST_F(ServiceLimitsTest, AnIdentityIsItsFirstOwnersUntilHeGoes) {
  const auto connect = [&] {
    zmq::socket_t socket(context_, zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, kPatience);
    socket.set(zmq::sockopt::routing_id, "the-same");
    socket.set(zmq::sockopt::reconnect_ivl, 10);
    socket.connect(yard_.Address("registry"));
    return socket;
  };
  auto first = connect();
  Call(first, 1, "");
  EXPECT_EQ(Answer(first).corr, 1u);
  auto second = connect();
  Call(second, 2, "");
  Call(first, 3, "");
  EXPECT_EQ(Answer(first).corr, 3u);
  second.set(zmq::sockopt::rcvtimeo, 300);
  zmq::message_t nothing;
  EXPECT_FALSE(second.recv(nothing).has_value());
  first.close();
  // A peer that connects later is served like any other caller.
  auto third = connect();
  third.set(zmq::sockopt::rcvtimeo, kPatience);
  second.close();
  msg::EnvelopeT answer;
  for (std::uint64_t i = 4; i < 1000 && answer.corr == 0; ++i) {
    third.set(zmq::sockopt::rcvtimeo, 20);
    Call(third, i, "");
    zmq::message_t message;
    if (third.recv(message).has_value()) {
      answer = Decode(message);
    } else {
      third = connect();
    }
  }
  EXPECT_GE(answer.corr, 4u);
}

}  // namespace
}  // namespace bus
