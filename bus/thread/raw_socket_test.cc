// Sends bytes that no ZeroMQ library would send, to each socket of a service and of the hub.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "absl/time/clock.h"
#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"

namespace bus {
namespace {

using rpc::Registry;

constexpr int kPatience = 20'000;  // Timeout in milliseconds.

// A connection that can send arbitrary bytes.
class RawConnection {
 public:
  explicit RawConnection(const std::string& path)
      : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0)
        << std::strerror(errno);
  }
  // Sends as much as the other side accepts.
  void Say(const std::string& bytes) {
    (void)send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Returns false if the other side keeps the connection open.
  bool WaitUntilClosed() {
    const absl::Time deadline = absl::Now() + absl::Milliseconds(kPatience);
    while (absl::Now() < deadline) {
      pollfd item{fd_.get(), POLLIN, 0};
      (void)poll(&item, 1, 100);
      char bytes[4096];
      const ssize_t got = recv(fd_.get(), bytes, sizeof(bytes), 0);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
    }
    return false;
  }
  // Sends `bytes` repeatedly until the other side closes; false if it accepts `limit` bytes.
  bool SayUntilClosed(const std::string& bytes, std::size_t limit) {
    for (std::size_t said = 0; said < limit;) {
      pollfd item{fd_.get(), POLLOUT, 0};
      if (poll(&item, 1, kPatience) <= 0) return false;
      const std::size_t from = said % bytes.size();
      const ssize_t sent = send(fd_.get(), bytes.data() + from, bytes.size() - from, MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) return true;
      if (sent > 0) said += static_cast<std::size_t>(sent);
    }
    return false;
  }

 private:
  const runtime::UniqueFd fd_;
};

// Returns the greeting of a ZMTP 3 peer.
std::string Greeting() {
  std::string greeting = std::string("\xff\0\0\0\0\0\0\0\1\x7f", 10) + std::string("\3\1NULL", 6);
  greeting.resize(64, '\0');
  return greeting;
}

std::string BigEndian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string Property(const std::string& name, const std::string& value) {
  return BigEndian(name.size(), 1) + name + BigEndian(value.size(), 4) + value;
}

constexpr char kShortCommand = 4;
constexpr char kLongCommand = 6;

std::string Ready(const std::string& socket_type) {
  const std::string body =
      std::string("\5READY") + Property("Socket-Type", socket_type) + Property("Identity", "");
  return kShortCommand + BigEndian(body.size(), 1) + body;
}

class RawSocketTest : public ::testing::Test {
 protected:
  struct Door {
    std::string path;
    std::string peer;  // The socket type that may connect.
  };

  RawSocketTest() {
    service_.Handle<Registry::List>([](const CallContext&, const msg::ListRequestT&) {
      msg::ListReplyT reply;
      reply.revision = 7;
      return reply;
    });
    EXPECT_EQ(service_.Start(), absl::OkStatus());
    auto hub = Hub::Create(node_.get(), Hub::DefaultAddresses(yard_.locations()));
    EXPECT_EQ(hub.status(), absl::OkStatus());
    hub_ = std::move(*hub);
    doors_ = {{yard_.directory() + "/registry", "DEALER"},
              {yard_.directory() + "/hub-pub", "PUB"},
              {yard_.directory() + "/hub-sub", "SUB"}};
  }

  zmq::socket_t Open(zmq::socket_type type) {
    zmq::socket_t socket(context_, type);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, kPatience);
    return socket;
  }
  // Verifies that a well-behaved client can call, publish and receive events without delay.
  void ExpectGoodClientsAreServed(const std::string& beside) {
    const absl::Time begun = absl::Now();
    auto dealer = Open(zmq::socket_type::dealer);
    dealer.connect(yard_.Address("registry"));
    msg::EnvelopeT request;
    request.kind = msg::Kind::Request;
    request.method = "List";
    request.body.Set(msg::ListRequestT());
    const Frame frame = Encode(request);
    dealer.send(zmq::buffer(frame.text()));
    zmq::message_t answer;
    ASSERT_TRUE(dealer.recv(answer).has_value()) << "no answer beside " << beside;
    const absl::Time called = absl::Now();

    auto subscriber = Open(zmq::socket_type::sub);
    subscriber.set(zmq::sockopt::subscribe, "e/");
    subscriber.set(zmq::sockopt::subscribe, "$hello/");
    subscriber.connect(yard_.Address("hub-sub"));
    NextTopic(subscriber, "$hello/");
    auto publisher = Open(zmq::socket_type::xpub);
    publisher.connect(yard_.Address("hub-pub"));
    zmq::message_t subscription;
    ASSERT_TRUE(publisher.recv(subscription).has_value());
    publisher.send(zmq::str_buffer("e/x/"), zmq::send_flags::sndmore);
    publisher.send(zmq::buffer(frame.text()));
    NextTopic(subscriber, "e/x/");
    const absl::Time heard = absl::Now();
    std::printf("beside %s: a call took %.1f ms, an event %.1f ms, with connecting\n",
                beside.c_str(), absl::ToDoubleMilliseconds(called - begun),
                absl::ToDoubleMilliseconds(heard - called));
    EXPECT_LT(heard - begun, absl::Seconds(5));
  }
  void NextTopic(zmq::socket_t& subscriber, const std::string& topic) {
    zmq::message_t first, second;
    do {
      ASSERT_TRUE(subscriber.recv(first).has_value()) << "nothing on " << topic;
      ASSERT_TRUE(subscriber.recv(second).has_value());
    } while (first.to_string() != topic);
  }

  TestYard yard_;
  std::unique_ptr<Node> node_ = yard_.MakeNode("registry");
  Service service_{node_.get(),
                   {.name = "registry", .endpoint = yard_.Address("registry"), .pool = nullptr}};
  std::unique_ptr<Hub> hub_;
  std::vector<Door> doors_;
  zmq::context_t context_;
};

TEST_F(RawSocketTest, WhatIsNoGreetingIsDisconnected) {
  std::vector<std::unique_ptr<RawConnection>> strangers;
  for (const Door& door : doors_) {
    for (const std::string& bytes :
         {std::string("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"),
          std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), std::string(5000, '\xff'),
          std::string(64, '\0'), std::string("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 11),
          Greeting().replace(12, 4, "EVIL"), Greeting().replace(10, 1, "\x09")}) {
      strangers.push_back(std::make_unique<RawConnection>(door.path));
      strangers.back()->Say(bytes);
    }
  }
  for (const auto& stranger : strangers) EXPECT_TRUE(stranger->WaitUntilClosed());
  ExpectGoodClientsAreServed("strangers' greetings");
}

TEST_F(RawSocketTest, RandomBytesHurtNobody) {
  std::mt19937 random(1);
  for (const Door& door : doors_) {
    for (int i = 0; i < 300; ++i) {
      std::string bytes;
      // One third replace the greeting, one third follow it, and one third follow the handshake.
      if (i % 3 > 0) bytes += Greeting();
      if (i % 3 > 1) bytes += Ready(door.peer);
      for (unsigned n = random() % 2000; n > 0; --n) bytes += static_cast<char>(random());
      RawConnection connection(door.path);
      connection.Say(bytes);
    }
  }
  ExpectGoodClientsAreServed("random bytes");
}

TEST_F(RawSocketTest, AHandshakeThatStopsHalfwayIsEndedSoon) {
  std::vector<std::unique_ptr<RawConnection>> halves;
  const absl::Time begun = absl::Now();
  const std::string whole = Greeting() + Ready("DEALER");
  for (const Door& door : doors_) {
    for (const std::size_t size : {0, 1, 9, 10, 11, 12, 40, 63, 64, 65, 70}) {
      halves.push_back(std::make_unique<RawConnection>(door.path));
      halves.back()->Say(whole.substr(0, size));
    }
  }
  ExpectGoodClientsAreServed("half handshakes");
  for (const auto& half : halves) EXPECT_TRUE(half->WaitUntilClosed());
  EXPECT_LT(absl::Now() - begun, absl::Seconds(15));
}

TEST_F(RawSocketTest, EndlessMetadataIsCutOff) {
  const std::string property = Property("X-Endless", std::string(1000, 'x'));
  std::vector<std::unique_ptr<RawConnection>> slow;
  for (const Door& door : doors_) {
    // A single command whose size exceeds every limit.
    for (const std::uint64_t size :
         {std::uint64_t{1} << 62, std::uint64_t{1} << 40, std::uint64_t{kMaxMessageBytes} + 1}) {
      RawConnection connection(door.path);
      connection.Say(Greeting() + kLongCommand + BigEndian(size, 8) + "\5READY");
      EXPECT_TRUE(connection.SayUntilClosed(property, 64 << 20)) << door.path << " " << size;
    }
    // Command after command: an error or no effect, depending on whether they arrive in time.
    RawConnection again(door.path);
    again.Say(Greeting());
    std::string command = std::string("\5READY") + Property("X-Endless", std::string(100, 'x'));
    command = kShortCommand + BigEndian(command.size(), 1) + command;
    (void)again.SayUntilClosed(command, 16 << 20);
    // A command of legal size that is never completed.
    slow.push_back(std::make_unique<RawConnection>(door.path));
    slow.back()->Say(Greeting() + kShortCommand + BigEndian(200, 1) + "\5READY");
  }
  ExpectGoodClientsAreServed("endless metadata");
  for (const auto& connection : slow) EXPECT_TRUE(connection->WaitUntilClosed());
}

TEST_F(RawSocketTest, AHundredSilentConnectionsHurtNobodyAndAreEnded) {
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (const Door& door : doors_) {
    for (int i = 0; i < 100; ++i) silent.push_back(std::make_unique<RawConnection>(door.path));
  }
  ExpectGoodClientsAreServed("100 silent connections to each socket");
  for (const auto& connection : silent) EXPECT_TRUE(connection->WaitUntilClosed());
}

std::ptrdiff_t OpenDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST_F(RawSocketTest, NoDescriptorStaysBehind) {
  ExpectGoodClientsAreServed("nobody");  // Opens everything that is opened only once.
  const std::ptrdiff_t before = OpenDescriptors();
  for (const Door& door : doors_) {
    for (int i = 0; i < 200; ++i) {
      RawConnection connection(door.path);
      connection.Say(std::string(Greeting() + Ready(door.peer)).substr(0, i % 100));
    }
  }
  ExpectGoodClientsAreServed("connections that come and go");
  const absl::Time deadline = absl::Now() + absl::Milliseconds(kPatience);
  while (OpenDescriptors() > before && absl::Now() < deadline) {
    (void)poll(nullptr, 0, 10);  // Another thread closes them, without notice.
  }
  EXPECT_LE(OpenDescriptors(), before);
}

}  // namespace
}  // namespace bus
