// Tests Publisher, Hub and Subscriber together over real sockets.

#include "bus/event/hub.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "absl/time/clock.h"
#include "bus/event/hub_addresses.h"
#include "bus/event/publisher.h"
#include "bus/event/subscriber.h"
#include "bus/fixtures/record_conformance.h"
#include "bus/fixtures/test_yard.h"
#include "bus/thread/counters.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/mutex.h"

namespace bus {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

msg::TrialEventT TrialEvent(std::uint64_t row) {
  msg::TrialEventT event;
  event.row = std::make_unique<msg::ResultRowT>();
  event.row->row = row;
  return event;
}

// Records what a Subscriber receives.
class Ear {
 public:
  Ear(Node* node, std::vector<std::string> prefixes)
      : subscriber_(node, {.prefixes = std::move(prefixes),
                           .on_event =
                               [this](std::string_view topic, const msg::Envelope& event) {
                                 Note(heard_, std::string(topic) + std::to_string(RowOf(event)));
                               },
                           .on_lost =
                               [this](std::string_view topic, std::uint64_t lost) {
                                 Note(lost_, std::string(topic) + std::to_string(lost));
                               },
                           .on_connected = [this](std::uint64_t) { Note(hubs_, "hub"); }}) {}

  Subscriber* operator->() { return &subscriber_; }
  // Waits until `count` events were received, or until a timeout; returns those received.
  std::vector<std::string> Heard(std::size_t count) { return Get(heard_, count); }
  std::vector<std::string> Lost(std::size_t count) { return Get(lost_, count); }
  std::vector<std::string> Hubs(std::size_t count) { return Get(hubs_, count); }

 private:
  static std::uint64_t RowOf(const msg::Envelope& event) {
    const msg::TrialEvent* const body = event.body_as_TrialEvent();
    return body == nullptr || body->row() == nullptr ? 0 : body->row()->row();
  }
  void Note(std::vector<std::string>& list, std::string what) {
    runtime::MutexLock lock(mutex_);
    list.push_back(std::move(what));
    changed_.SignalAll();
  }
  std::vector<std::string> Get(std::vector<std::string>& list, std::size_t count) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    runtime::MutexLock lock(mutex_);
    while (list.size() < count && absl::Now() < deadline) {
      changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
    }
    return list;
  }

  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<std::string> heard_, lost_, hubs_;
  Subscriber subscriber_;
};

class HubTest : public ::testing::Test {
 protected:
  void StartHub() {
    hub_node_ = yard_.MakeNode("registry");
    auto hub = Hub::Create(hub_node_.get(), Hub::DefaultAddresses(yard_.locations()));
    ASSERT_EQ(hub.status(), absl::OkStatus());
    hub_ = std::move(*hub);
  }
  void StopHub() {
    hub_.reset();
    hub_node_.reset();
  }
  // Returns a socket that can send anything to the hub.
  std::unique_ptr<Socket> RawPublisher() {
    auto socket = Socket::Open(RawContext(), Socket::Use::kPublisher);
    EXPECT_EQ(socket.status(), absl::OkStatus());
    EXPECT_EQ((*socket)->Connect(HubPublishAddress(yard_.locations())), absl::OkStatus());
    // Wait for the hub's subscription.
    zmq::pollitem_t item{(*socket)->handle(), 0, ZMQ_POLLIN, 0};
    EXPECT_EQ(zmq::poll(&item, 1, std::chrono::seconds(20)), 1);
    std::vector<Frame> frames;
    EXPECT_TRUE((*socket)->Receive(frames));
    return std::move(*socket);
  }
  // Returns a socket that receives all frames unprocessed.
  std::unique_ptr<zmq::socket_t> RawSubscriber(const std::string& prefix) {
    auto socket = std::make_unique<zmq::socket_t>(raw_, zmq::socket_type::sub);
    socket->set(zmq::sockopt::linger, 0);
    socket->set(zmq::sockopt::rcvtimeo, 20'000);
    socket->set(zmq::sockopt::subscribe, prefix);
    socket->set(zmq::sockopt::subscribe, "$hello/");
    socket->connect(HubSubscribeAddress(yard_.locations()));
    EXPECT_EQ(NextMessage(*socket).body.type, msg::Body::HubInfo);
    return socket;
  }
  static msg::EnvelopeT NextMessage(zmq::socket_t& socket) {
    zmq::message_t topic, body;
    EXPECT_TRUE(socket.recv(topic).has_value() && socket.recv(body).has_value());
    const auto received = Receive({body.data<std::uint8_t>(), body.size()}, kMaxMessageBytes);
    EXPECT_EQ(received.status(), absl::OkStatus());
    return received.ok() ? *std::unique_ptr<msg::EnvelopeT>((*received)->UnPack())
                         : msg::EnvelopeT();
  }
  const SocketContext& RawContext() {
    if (context_ == nullptr) context_ = std::move(*SocketContext::Create());
    return *context_;
  }

  TestYard yard_;
  zmq::context_t raw_;
  std::unique_ptr<SocketContext> context_;
  std::unique_ptr<Node> hub_node_;
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Node> node_ = yard_.MakeNode("test");
};

TEST_F(HubTest, WhatIsPublishedIsHeardInOrder) {
  StartHub();
  Ear ear(node_.get(), {"t/"});
  ASSERT_EQ(ear->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  Publisher publisher(node_.get());
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(publisher.Publish("t/a/", TrialEvent(i)), absl::OkStatus());
  }
  EXPECT_THAT(ear.Heard(3), ElementsAre("t/a/1", "t/a/2", "t/a/3"));
  EXPECT_THAT(ear.Lost(0), IsEmpty());
}

TEST_F(HubTest, TheFirstMessagesOfAPublisherAreNotLost) {
  StartHub();
  Ear ear(node_.get(), {"t/"});
  ASSERT_EQ(ear->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  for (int i = 0; i < 20; ++i) {
    const auto fresh = yard_.MakeNode("fresh");
    Publisher publisher(fresh.get());
    ASSERT_EQ(publisher.Publish("t/a/", TrialEvent(i)), absl::OkStatus());
    ASSERT_EQ(ear.Heard(i + 1).size(), i + 1u);
  }
}

TEST_F(HubTest, WhatIsPublishedBeforeTheHubStartsIsHeldForIt) {
  Ear ear(node_.get(), {"t/"});
  Publisher publisher(node_.get());
  ASSERT_EQ(publisher.Publish("t/a/", TrialEvent(1)), absl::OkStatus());
  StartHub();
  // Either the ear subscribed in time, or the hub sends it the last value of this exact topic.
  Ear exact(node_.get(), {"t/a/"});
  EXPECT_THAT(exact.Heard(1), ElementsAre("t/a/1"));
}

TEST_F(HubTest, ARestartedHubIsFoundAgainAndGreets) {
  StartHub();
  Ear ear(node_.get(), {"t/"});
  Publisher publisher(node_.get());
  ASSERT_EQ(ear->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  ASSERT_EQ(publisher.Publish("t/a/", TrialEvent(1)), absl::OkStatus());
  ASSERT_EQ(ear.Heard(1).size(), 1u);
  StopHub();
  StartHub();
  ASSERT_EQ(ear.Hubs(2).size(), 2u);
  ASSERT_EQ(publisher.Publish("t/a/", TrialEvent(2)), absl::OkStatus());
  EXPECT_THAT(ear.Heard(2), ElementsAre("t/a/1", "t/a/2"));
}

TEST_F(HubTest, PrefixesEndAtLevels) {
  StartHub();
  Ear ear(node_.get(), {"m/exp-1/"});
  ASSERT_EQ(ear->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  Publisher publisher(node_.get());
  ASSERT_EQ(publisher.Publish("m/exp-10/loss/", TrialEvent(1)), absl::OkStatus());
  ASSERT_EQ(publisher.Publish("m/exp-1/loss/", TrialEvent(2)), absl::OkStatus());
  EXPECT_THAT(ear.Heard(1), ElementsAre("m/exp-1/loss/2"));
}

TEST_F(HubTest, ABadTopicIsRefusedByThePublisher) {
  Publisher publisher(node_.get());
  EXPECT_EQ(publisher.Publish("no slash", TrialEvent(1)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(HubTest, OnlyTheHostPublishesOnReservedRoots) {
  StartHub();
  Ear ear(node_.get(), {"$sys/", "t/"});
  ASSERT_EQ(ear->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  Publisher publisher(node_.get());
  ASSERT_EQ(publisher.Publish("$sys/reg/x/", TrialEvent(1)), absl::OkStatus());
  ASSERT_EQ(publisher.Publish("$hello/", TrialEvent(2)), absl::OkStatus());
  ASSERT_EQ(publisher.Publish("t/a/", TrialEvent(3)), absl::OkStatus());
  ASSERT_EQ(ear.Heard(1).size(), 1u);
  msg::EnvelopeT event;
  event.body.Set(TrialEvent(4));
  ASSERT_EQ(hub_->Publish("$sys/reg/x/", std::move(event)).status(), absl::OkStatus());
  EXPECT_THAT(ear.Heard(2), ElementsAre("t/a/3", "$sys/reg/x/4"));
  EXPECT_EQ(hub_->GetStats().dropped_reserved, 2u);
}

TEST_F(HubTest, DropsIllegalTopicsAndWrongFrameCounts) {
  StartHub();
  Ear ear(node_.get(), {""});
  ASSERT_EQ(ear->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  const auto raw = RawPublisher();
  const auto send = [&](std::vector<std::string> texts) {
    std::vector<Frame> frames;
    for (const std::string& text : texts) frames.emplace_back(std::string_view(text));
    ASSERT_EQ(raw->Send(frames), Socket::Sent::kYes);
  };
  send({"no slash", "12345678"});
  send({"e/x/"});
  send({"e/x/", "12345678", "12345678"});
  send({"e/x/", "short"});
  send({"e/x/", "not a message but long enough"});  // The subscriber drops this one.
  msg::EnvelopeT good;
  good.body.Set(TrialEvent(1));
  good.head = std::make_unique<msg::Head>(77, 1, 1, absl::ToUnixMicros(absl::Now()));
  send({"e/good/", std::string(Encode(good).text())});
  EXPECT_THAT(ear.Heard(1), ElementsAre("e/good/1"));
  const Hub::Stats stats = hub_->GetStats();
  EXPECT_EQ(stats.dropped_topic, 1u);
  EXPECT_EQ(stats.dropped_malformed, 3u);
}

TEST_F(HubTest, AHoleInASequenceIsToldExactly) {
  StartHub();
  Ear ear(node_.get(), {"e/"});
  ASSERT_EQ(ear->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  const auto raw = RawPublisher();
  const auto send = [&](std::uint64_t seq, msg::Kind kind) {
    msg::EnvelopeT event;
    event.kind = kind;
    event.body.Set(TrialEvent(seq));
    event.head = std::make_unique<msg::Head>(77, 1, seq, absl::ToUnixMicros(absl::Now()));
    std::vector<Frame> frames;
    frames.emplace_back(std::string_view("e/x/"));
    frames.push_back(Encode(event));
    ASSERT_EQ(raw->Send(frames), Socket::Sent::kYes);
  };
  send(5, msg::Kind::Event);  // The first event received is never a gap.
  send(6, msg::Kind::Event);
  send(9, msg::Kind::Event);  // 7 and 8 are missing.
  send(9, msg::Kind::Event);  // A duplicate is not delivered.
  send(11, msg::Kind::Tail);  // 10 and 11 are missing.
  send(12, msg::Kind::Event);
  EXPECT_THAT(ear.Heard(4), ElementsAre("e/x/5", "e/x/6", "e/x/9", "e/x/12"));
  EXPECT_THAT(ear.Lost(2), ElementsAre("e/x/2", "e/x/2"));
}

TEST_F(HubTest, ANewSubscriptionOfATopicGetsItsLastValue) {
  StartHub();
  Ear first(node_.get(), {"s/"});
  ASSERT_EQ(first->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  Publisher publisher(node_.get());
  ASSERT_EQ(publisher.Publish("s/x/", TrialEvent(1)), absl::OkStatus());
  ASSERT_EQ(publisher.Publish("s/x/", TrialEvent(2)), absl::OkStatus());
  ASSERT_EQ(first.Heard(2).size(), 2u);
  Ear late(node_.get(), {"s/x/"});
  EXPECT_THAT(late.Heard(1), ElementsAre("s/x/2"));
  // Other subscribers do not take the repeated value for a new event.
  ASSERT_EQ(publisher.Publish("s/y/", TrialEvent(3)), absl::OkStatus());
  EXPECT_THAT(first.Heard(3), ElementsAre("s/x/1", "s/x/2", "s/y/3"));
}

TEST_F(HubTest, CountsTheSubscriptionsThatMatch) {
  StartHub();
  EXPECT_EQ(hub_->CountSubscriptions("e/a/"), 0u);
  Ear wide(node_.get(), {"e/"});
  ASSERT_EQ(wide->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  {
    Ear narrow(node_.get(), {"e/a/"});
    ASSERT_EQ(narrow->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
    EXPECT_EQ(hub_->CountSubscriptions("e/a/"), 2u);
    EXPECT_EQ(hub_->CountSubscriptions("e/b/"), 1u);
    EXPECT_EQ(hub_->CountSubscriptions("t/b/"), 0u);
  }
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (hub_->CountSubscriptions("e/a/") != 1 && absl::Now() < deadline) {
  }
  EXPECT_EQ(hub_->CountSubscriptions("e/a/"), 1u);
}

TEST_F(HubTest, WithoutAHubWaitingEndsWithItsAddress) {
  Ear ear(node_.get(), {"e/"});
  const absl::Status status = ear->WaitUntilConnected(absl::Milliseconds(20));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("hub-sub"));
}

TEST_F(HubTest, ABurstOfFiveThousandIsComplete) {
  StartHub();
  Ear ear(node_.get(), {"e/"});
  ASSERT_EQ(ear->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  Publisher publisher(node_.get());
  constexpr std::size_t kEvents = 5000;
  for (std::size_t i = 1; i <= kEvents; ++i) {
    ASSERT_EQ(publisher.Publish("e/x/", TrialEvent(i)), absl::OkStatus());
  }
  EXPECT_EQ(ear.Heard(kEvents).size(), kEvents);
  EXPECT_THAT(ear.Lost(0), IsEmpty());
}

TEST_F(HubTest, WhatWasHeldAndSentTakesNoRoomForWhatIsHeldNext) {
  constexpr int kEvents = 9;
  Ear ear(node_.get(), {"e/x/"});
  Publisher publisher(node_.get());
  const auto publish = [&](int count) {
    for (int i = 0; i < count; ++i) {
      msg::EnvelopeT event;
      event.payload.resize(700 << 10);  // 6 MiB in total; the publisher holds up to 8 MiB.
      ASSERT_EQ(publisher.PublishEnvelope("e/x/", std::move(event)), absl::OkStatus());
    }
  };
  publish(kEvents);
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  const auto held = [&] { return node_->counters().held_events.Get(); };
  while (held() < kEvents && absl::Now() < deadline) {
  }
  StartHub();
  while (held() > 0 && absl::Now() < deadline) {
  }
  EXPECT_EQ(held(), 0u);
  StopHub();
  // (It sends until it notices. Send one at a time: more would fill the space for held events.)
  const auto published = [&] { return node_->counters().events_published.Get(); };
  while (held() == 0 && absl::Now() < deadline) {
    const auto sent = published();
    ASSERT_EQ(publisher.Publish("e/y/", TrialEvent(1)), absl::OkStatus());
    while (published() == sent && absl::Now() < deadline) {
    }
  }
  const auto before = held();
  publish(kEvents);
  while (held() < before + kEvents && absl::Now() < deadline) {
  }
  EXPECT_GE(held(), before + kEvents);
  EXPECT_EQ(node_->counters().events_dropped.Get(), 0u);
}

TEST_F(HubTest, ATopicsLastNumberIsRepeatedAfterASecond) {
  StartHub();
  const auto raw = RawSubscriber("t/");
  Publisher publisher(node_.get());
  msg::EnvelopeT event;
  event.span = std::make_unique<msg::Span>(0, 6, 7);
  ASSERT_EQ(publisher.PublishEnvelope("t/a/", std::move(event)), absl::OkStatus());
  EXPECT_EQ(NextMessage(*raw).kind, msg::Kind::Event);
  const msg::EnvelopeT tail = NextMessage(*raw);
  EXPECT_EQ(tail.kind, msg::Kind::Tail);
  EXPECT_EQ(tail.head->seq(), 1u);
  EXPECT_EQ(tail.span->to(), 7u);
  // A late subscriber gets the last event, not its tail message.
  const auto late = RawSubscriber("t/a/");
  EXPECT_EQ(NextMessage(*late).kind, msg::Kind::Event);
}

TEST_F(HubTest, TheHostsTopicsHaveTailsToo) {
  StartHub();
  const auto raw = RawSubscriber("e/");
  ASSERT_EQ(hub_->Publish("e/a/", msg::EnvelopeT()).status(), absl::OkStatus());
  EXPECT_EQ(NextMessage(*raw).kind, msg::Kind::Event);
  EXPECT_EQ(NextMessage(*raw).kind, msg::Kind::Tail);
}

TEST_F(HubTest, KeepsUsersEventsAsARecord) {
  StartHub();
  Publisher publisher(node_.get());
  for (int i = 1; i <= 1500; ++i) {
    ASSERT_EQ(hub_->Publish("e/a/", msg::EnvelopeT()).status(), absl::OkStatus());
    ASSERT_EQ(publisher.Publish("e/b/", TrialEvent(i)), absl::OkStatus());
    ASSERT_EQ(publisher.Publish("t/b/", TrialEvent(i)), absl::OkStatus());
  }
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (hub_->GetStats().forwarded < 4500 && absl::Now() < deadline) {
  }
  ExpectConformingRecord({.ends = [&](const auto& request) { return hub_->Ends(request); },
                          .since = [&](const auto& request) { return hub_->Since(request); },
                          .root = "e/"});
  msg::EndsRequestT others;
  others.prefix = "t/";
  EXPECT_TRUE(hub_->Ends(others).places.empty());
}

// The first subscriber reads nothing until the second has received everything.
TEST_F(HubTest, AStalledSubscriberLosesItsOwnOnlyAndIsToldHowMany) {
  constexpr std::size_t kBatch = 2000;
  constexpr std::size_t kEvents = 20 * kBatch;
  StartHub();
  const auto stalled_node = yard_.MakeNode("stalled");
  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool released = false;
  std::uint64_t heard = 0, lost = 0;
  Subscriber stalled(stalled_node.get(), {.prefixes = {"e/"},
                                          .on_event =
                                              [&](std::string_view, const msg::Envelope&) {
                                                runtime::MutexLock lock(mutex);
                                                while (!released) changed.Wait(mutex);
                                                ++heard;
                                                changed.SignalAll();
                                              },
                                          .on_lost =
                                              [&](std::string_view, std::uint64_t count) {
                                                runtime::MutexLock lock(mutex);
                                                lost += count;
                                                changed.SignalAll();
                                              }});
  ASSERT_EQ(stalled.WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  Ear ear(node_.get(), {"e/"});
  ASSERT_EQ(ear->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  for (std::size_t i = 0; i < kEvents; i += kBatch) {
    for (std::size_t j = 0; j < kBatch; ++j) {
      ASSERT_EQ(hub_->Publish("e/x/", msg::EnvelopeT()).status(), absl::OkStatus());
    }
    ASSERT_EQ(ear.Heard(i + kBatch).size(), i + kBatch);
  }
  EXPECT_THAT(ear.Lost(0), IsEmpty());
  runtime::MutexLock lock(mutex);
  released = true;
  changed.SignalAll();
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (heard + lost < kEvents && absl::Now() < deadline) {
    changed.WaitWithTimeout(mutex, deadline - absl::Now());
  }
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(heard + lost, kEvents);
}

TEST_F(HubTest, PublishersOfOneProcessShareASequence) {
  StartHub();
  Ear ear(node_.get(), {"e/"});
  ASSERT_EQ(ear->WaitUntilConnected(absl::Seconds(20)), absl::OkStatus());
  Publisher one(node_.get());
  Publisher two(node_.get());
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ((i % 2 ? one : two).Publish("e/x/", TrialEvent(i)), absl::OkStatus());
  }
  EXPECT_EQ(ear.Heard(50).size(), 50u);
  EXPECT_THAT(ear.Lost(0), IsEmpty());
}

}  // namespace
}  // namespace bus
