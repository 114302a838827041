// Sends messages that Client never sends, over a raw ZeroMQ socket.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "bus/call/service.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using rpc::Registry;
using ::testing::HasSubstr;

class HostileTest : public ::testing::Test {
 protected:
  HostileTest() {
    service_.Handle<Registry::List>([](const CallContext&, const msg::ListRequestT& request) {
      msg::ListReplyT reply;
      reply.revision = 100 + request.prefix.size();
      return reply;
    });
    EXPECT_EQ(service_.Start(), absl::OkStatus());
  }
  zmq::socket_t Connect(zmq::socket_type type) {
    zmq::socket_t socket(context_, type);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, 20'000);
    socket.connect(yard_.Address("registry"));
    return socket;
  }
  static std::string ListRequest(std::uint64_t corr = 5) {
    msg::EnvelopeT request;
    request.kind = msg::Kind::Request;
    request.corr = corr;
    request.method = "List";
    request.body.Set(msg::ListRequestT());
    return std::string(Encode(request).text());
  }
  static void Send(zmq::socket_t& socket, const std::vector<std::string>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const auto more = i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
      socket.send(zmq::buffer(frames[i]), more);
    }
  }
  // Returns the next answer; fails the test if none arrives.
  static msg::EnvelopeT Answer(zmq::socket_t& socket) {
    zmq::message_t message;
    const auto size = socket.recv(message);
    EXPECT_TRUE(size.has_value()) << "no answer";
    if (!size.has_value()) return {};
    const auto received = Receive({message.data<std::uint8_t>(), message.size()}, kMaxMessageBytes);
    EXPECT_EQ(received.status(), absl::OkStatus());
    return received.ok() ? *std::unique_ptr<msg::EnvelopeT>((*received)->UnPack())
                         : msg::EnvelopeT();
  }
  // Verifies that the service dropped the earlier messages and still serves this peer.
  static void ExpectNextAnswerIsMine(zmq::socket_t& socket) {
    Send(socket, {ListRequest(77)});
    const msg::EnvelopeT answer = Answer(socket);
    EXPECT_EQ(answer.corr, 77u);
    EXPECT_EQ(answer.kind, msg::Kind::Reply);
    EXPECT_EQ(answer.status, nullptr);
  }

  TestYard yard_;
  std::unique_ptr<Node> node_ = yard_.MakeNode("registry");
  Service service_{node_.get(),
                   {.name = "registry", .endpoint = yard_.Address("registry"), .pool = nullptr}};
  zmq::context_t context_;
};

TEST_F(HostileTest, APlainReqSocketIsAnswered) {
  auto req = Connect(zmq::socket_type::req);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    Send(req, {ListRequest(i)});
    const msg::EnvelopeT answer = Answer(req);
    EXPECT_EQ(answer.corr, i);
    EXPECT_EQ(answer.body.AsListReply()->revision, 100u);
  }
}

TEST_F(HostileTest, WhatIsNotAMessageIsDropped) {
  auto dealer = Connect(zmq::socket_type::dealer);
  Send(dealer, {"GET / HTTP/1.1"});
  Send(dealer, {""});
  Send(dealer, {std::string(1000, '\xff')});
  Send(dealer, {ListRequest(), ListRequest()});
  Send(dealer, {"", "", ListRequest()});
  Send(dealer, std::vector<std::string>(100, "x"));
  for (std::size_t size = 1; size < 40; ++size) Send(dealer, {ListRequest().substr(0, size)});
  ExpectNextAnswerIsMine(dealer);
}

TEST_F(HostileTest, MessagesThatAreNotRequestsAreDropped) {
  auto dealer = Connect(zmq::socket_type::dealer);
  for (const msg::Kind kind : {msg::Kind::Event, msg::Kind::Tail, msg::Kind::Reply,
                               msg::Kind::ReplyPart, msg::Kind::Pong, msg::Kind::Cancel}) {
    msg::EnvelopeT odd;
    odd.kind = kind;
    odd.corr = 5;
    Send(dealer, {std::string(Encode(odd).text())});
  }
  ExpectNextAnswerIsMine(dealer);
}

TEST_F(HostileTest, APingIsAnswered) {
  auto dealer = Connect(zmq::socket_type::dealer);
  msg::EnvelopeT ping;
  ping.kind = msg::Kind::Ping;
  ping.corr = 9;
  Send(dealer, {std::string(Encode(ping).text())});
  const msg::EnvelopeT pong = Answer(dealer);
  EXPECT_EQ(pong.kind, msg::Kind::Pong);
  EXPECT_EQ(pong.corr, 9u);
}

TEST_F(HostileTest, AnUnknownBodyTypeIsUnimplemented) {
  auto dealer = Connect(zmq::socket_type::dealer);
  const auto tag = static_cast<char>(msg::Body::ListRequest);
  const std::string good = ListRequest();
  int tried = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (good[i] != tag) continue;
    std::string bytes = good;
    bytes[i] = static_cast<char>(250);
    const auto received = Receive(
        {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, kMaxMessageBytes);
    if (!received.ok() || received->body_known()) continue;
    ++tried;
    Send(dealer, {bytes});
    const msg::EnvelopeT answer = Answer(dealer);
    EXPECT_EQ(FromWire(answer.status.get()).code(), absl::StatusCode::kUnimplemented);
    EXPECT_EQ(answer.corr, 5u);
  }
  EXPECT_EQ(tried, 1);
}

TEST_F(HostileTest, AMethodNameWithControlCharactersIsEscapedInTheAnswer) {
  auto dealer = Connect(zmq::socket_type::dealer);
  msg::EnvelopeT request;
  request.kind = msg::Kind::Request;
  request.method = "\x1b]0;x";
  Send(dealer, {std::string(Encode(request).text())});
  const absl::Status status = FromWire(Answer(dealer).status.get());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\\x1b"));
}

TEST_F(HostileTest, AMessageOverTheLimitCostsItsSenderTheConnectionAndNobodyElse) {
  auto big = Connect(zmq::socket_type::dealer);
  auto other = Connect(zmq::socket_type::dealer);
  ExpectNextAnswerIsMine(other);
  Send(big, {std::string(kMaxRequestBytes + 1, 'x')});
  ExpectNextAnswerIsMine(other);
}

TEST_F(HostileTest, SilentConnectionsHurtNobody) {
  std::vector<zmq::socket_t> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(Connect(zmq::socket_type::dealer));
  auto dealer = Connect(zmq::socket_type::dealer);
  ExpectNextAnswerIsMine(dealer);
}

TEST_F(HostileTest, AStolenIdentityGetsNothingOfTheOther) {
  zmq::socket_t first(context_, zmq::socket_type::dealer);
  zmq::socket_t second(context_, zmq::socket_type::dealer);
  for (zmq::socket_t* socket : {&first, &second}) {
    socket->set(zmq::sockopt::linger, 0);
    socket->set(zmq::sockopt::rcvtimeo, 20'000);
    socket->set(zmq::sockopt::routing_id, "the-same");
    socket->connect(yard_.Address("registry"));
    if (socket == &first) ExpectNextAnswerIsMine(first);
  }
  Send(second, {ListRequest(1)});
  ExpectNextAnswerIsMine(first);
}

}  // namespace
}  // namespace bus
