#include "runtime/http_responder.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace runtime {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int kPatience = 60;  // Seconds; nothing waits that long unless it is broken.

// A port that was free a moment ago.
int FreePort() {
  const UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(probe.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return ntohs(address.sin_port);
}

class HttpResponderTest : public testing::Test {
 protected:
  HttpResponderTest() {
    auto responder = HttpResponder::Start(
        {.loop = loop_.get(),
         .port = port_,
         .pages = {{"/page", [this] { return Page(); }}, {"/bad", [] { return Broken(); }}},
         .deadline = absl::Seconds(5)});
    EXPECT_EQ(responder.status(), absl::OkStatus());
    responder_ = *std::move(responder);
    thread_ = std::make_unique<Thread>("loop", [this] { loop_->Run(); });
  }
  ~HttpResponderTest() override {
    loop_->Stop();
    thread_->Join();
    responder_.reset();
  }

  HttpResponder::Page Page() const { return {.body = body_}; }
  static HttpResponder::Page Broken() { return {.status = 503, .body = "stopping\n"}; }

  UniqueFd Connect() const {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = kPatience, .tv_usec = 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  // Until the loop has done all that it was asked to before.
  void AwaitTurn() {
    const auto done = std::make_shared<std::promise<void>>();
    loop_->Post([done] { done->set_value(); });
    done->get_future().wait();
  }
  // Until the end of what it says.
  static std::string ReadAll(const UniqueFd& socket) {
    std::string all;
    char bytes[65536];
    for (ssize_t got; (got = recv(socket.get(), bytes, sizeof bytes, 0)) > 0;) {
      all.append(bytes, static_cast<std::size_t>(got));
    }
    return all;
  }
  std::string Ask(const std::string& request) const {
    const UniqueFd socket = Connect();
    EXPECT_EQ(send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return ReadAll(socket);
  }
  std::string Get(const std::string& path, const std::string& host) const {
    return Ask(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", host, "\r\n\r\n"));
  }

  FakeClock clock_;
  const std::unique_ptr<EventLoop> loop_ = EventLoop::Create(&clock_);
  const int port_ = FreePort();
  std::string body_ = "hello\n";
  std::unique_ptr<HttpResponder> responder_;
  std::unique_ptr<Thread> thread_;
};

TEST_F(HttpResponderTest, AnswersItsPages) {
  const std::string answer = Get("/page", absl::StrCat("127.0.0.1:", port_));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 6\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nhello\n"));
  EXPECT_THAT(Get("/page?name=x", "localhost"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Get("/page", "[::1]:80"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Get("/page", "LOCALHOST:1"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Get("/bad", "localhost"), StartsWith("HTTP/1.1 503 "));
}

TEST_F(HttpResponderTest, SendsALargePageWhole) {
  body_.assign(8 << 20, 'x');
  const std::string answer = Get("/page", "localhost");
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, body_.size());
}

TEST_F(HttpResponderTest, RefusesWhatItDoesNotKnow) {
  const std::string host = "\r\nHost: localhost\r\n\r\n";
  const std::vector<std::pair<std::string, int>> requests = {
      // A web page of another name that was made to lead here.
      {"GET /page HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
      {"GET /page HTTP/1.1\r\nHost: localhost.evil.example:80\r\n\r\n", 403},
      {"GET /page HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 403},
      {"GET /page HTTP/1.1\r\nHost: 127.0.0.1@evil.example\r\n\r\n", 403},
      {"GET /page HTTP/1.1\r\nHost:\r\n\r\n", 403},
      {"GET /page HTTP/1.1\r\nHost: :80\r\n\r\n", 403},
      {"GET /page HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400},
      {"GET /page HTTP/1.1\r\n\r\n", 400},
      {"GET /page HTTP/1.0\r\n\r\n", 400},
      {"GET /other HTTP/1.1" + host, 404},
      {"GET /page/ HTTP/1.1" + host, 404},
      {"GET http://localhost/page HTTP/1.1" + host, 404},
      {"POST /page HTTP/1.1" + host + "body", 405},
      {"HEAD /page HTTP/1.1" + host, 405},
      {"GET /page" + host, 400},
      {"GET /page HTTP/2" + host, 400},
      {"GET  /page HTTP/1.1" + host, 400},
      {"GET /page HTTP/1.1\r\nno header\r\n\r\n", 400},
      {"\r\n\r\n", 400},
      {std::string("\0\xff\r\n\r\n", 6), 400},
      {"GET /page HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(kMaxHttpRequest, 'x') +
           "\r\n\r\n",
       431},
      {std::string(20'000, 'x'), 431},
  };
  for (const auto& [request, status] : requests) {
    EXPECT_THAT(Ask(request), StartsWith(absl::StrCat("HTTP/1.1 ", status, " ")))
        << request.substr(0, 100);
  }
  EXPECT_THAT(Get("/page", "localhost"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpResponderTest, ReadsARequestThatComesInPieces) {
  const UniqueFd socket = Connect();
  for (const char byte : std::string("GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")) {
    ASSERT_EQ(send(socket.get(), &byte, 1, MSG_NOSIGNAL), 1);
  }
  EXPECT_THAT(ReadAll(socket), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpResponderTest, HangsUpOnThoseThatDawdle) {
  // More than are served at once: the last one waits for a place.
  std::vector<UniqueFd> dawdlers;
  for (int i = 0; i < kMaxHttpConnections; ++i) dawdlers.push_back(Connect());
  ASSERT_EQ(send(dawdlers[1].get(), "GET ", 4, MSG_NOSIGNAL), 4);
  const UniqueFd waits = Connect();
  const std::string request = "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(send(waits.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  // They may not all have been accepted when the clock is first advanced.
  char byte;
  do {
    clock_.Advance(absl::Seconds(5));
    AwaitTurn();
  } while (recv(dawdlers[0].get(), &byte, 1, MSG_DONTWAIT) != 0);
  EXPECT_THAT(ReadAll(waits), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpResponderTest, SaysWhichPortIsTaken) {
  // (The first one's loop runs already.)
  const auto loop = EventLoop::Create(&clock_);
  const auto second = HttpResponder::Start({.loop = loop.get(), .port = port_});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(absl::StrCat(port_, ": Address")));
}

}  // namespace
}  // namespace runtime
