#include "web/http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"
#include "web/http/message.h"

namespace web {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kPatience = 60;  // In seconds; only a broken server takes that long.

void SetPatience(int fd) {
  const timeval patience = {.tv_sec = kPatience, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

// A client that sends and reads bytes.
class Client {
 public:
  explicit Client(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    SetPatience(fd_.get());
  }
  explicit Client(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    SetPatience(fd_.get());
  }

  Client& Say(std::string_view bytes) {
    send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return *this;
  }
  // Reads until `end` arrives, or the server closes the connection.
  std::string ReadUntil(std::string_view end) {
    std::string text;
    char byte = 0;
    while (!text.ends_with(end) && recv(fd_.get(), &byte, 1, 0) == 1) text += byte;
    return text;
  }
  // Reads and discards this many bytes.
  void Skip(std::size_t count) {
    std::string bytes(1 << 20, 0);
    while (count > 0) {
      const ssize_t got = recv(fd_.get(), bytes.data(), std::min(count, bytes.size()), 0);
      ASSERT_GT(got, 0);
      count -= static_cast<std::size_t>(got);
    }
  }
  std::string ReadAll() { return ReadUntil("\xFF\xFF never"); }
  void Leave() { fd_.reset(); }

 private:
  runtime::UniqueFd fd_;
};

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    char folder[] = "/tmp/web-XXXXXX";
    EXPECT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  ~HttpServerTest() override {
    server_.reset();
    EXPECT_EQ(rmdir(folder_.c_str()), 0) << "the socket has to be removed";
  }

  void Start(HttpServer::Options options = {}) {
    options.socket = folder_ + "/http";
    options.addresses = {"127.0.0.1", "::1"};
    options.handler = [this](Request request, std::shared_ptr<Reply> reply) {
      Handle(std::move(request), std::move(reply));
    };
    auto server = HttpServer::Start(std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  void Handle(Request request, std::shared_ptr<Reply> reply) {
    const std::string what = request.target.segments.empty() ? "" : request.target.segments.front();
    if (what == "drop") return;
    if (what == "keep") return kept_.set_value(std::move(reply));
    if (what == "parts") {
      reply->Begin({.type = "text/plain"});
      reply->Write("one\n");
      reply->Write("two\n");
      return reply->End();
    }
    reply->Send({.type = "text/plain",
                 .body = absl::StrCat(request.method, " ", what, " ", request.body.size(), " ",
                                      request.door == Door::kSocket ? "socket" : "port", "\n")});
  }

  Client Connect() { return Client(server_->port()); }
  // Sends `bytes` and reads the answer until the server closes the connection.
  std::string Answer(std::string_view bytes) { return Connect().Say(bytes).ReadAll(); }

  std::string folder_;
  std::promise<std::shared_ptr<Reply>> kept_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersOnAPortAndOnASocket) {
  Start();
  EXPECT_THAT(Answer("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nGET a 0 port\n")));
  EXPECT_THAT(
      Client(folder_ + "/http")
          .Say("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc")
          .ReadAll(),
      EndsWith("\r\n\r\nPOST b 3 socket\n"));
  EXPECT_EQ(server_->GetStats().requests, 2);
}

TEST_F(HttpServerTest, EveryResponseHasTheHeadersThatKeepOthersOut) {
  Start();
  for (const std::string_view request :
       {"GET /a HTTP/1.0\r\n\r\n", "nonsense\r\n\r\n", "GET /parts HTTP/1.0\r\n\r\n",
        "GET /drop HTTP/1.0\r\n\r\n"}) {
    const std::string answer = Answer(request);
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Security-Policy: default-src 'none'; ")) << request;
    EXPECT_THAT(answer, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n")) << request;
    EXPECT_THAT(answer, HasSubstr("\r\nCache-Control: no-store\r\n")) << request;
    EXPECT_THAT(answer, Not(HasSubstr("Access-Control"))) << request;
  }
}

TEST_F(HttpServerTest, RequestsFollowEachOtherOnAConnection) {
  Start();
  Client client = Connect();
  client.Say("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("port\n"), EndsWith("GET a 0 port\n"));
  // Two pipelined requests; the second one's body arrives in a later packet.
  client.Say(
      "GET /b HTTP/1.1\r\nHost: x\r\n\r\nPOST /c HTTP/1.1\r\nHost: x\r\nContent-Length: "
      "4\r\n\r\n12");
  EXPECT_THAT(client.ReadUntil("port\n"), EndsWith("GET b 0 port\n"));
  client.Say("34");
  EXPECT_THAT(client.ReadUntil("port\n"), EndsWith("POST c 4 port\n"));
}

TEST_F(HttpServerTest, HeadHasTheLengthAndNoBody) {
  Start();
  const std::string answer = Answer("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 14\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, PartsAreChunksOrEndWithTheConnection) {
  Start();
  EXPECT_THAT(Answer("GET /parts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              AllOf(HasSubstr("\r\nTransfer-Encoding: chunked\r\n"),
                    EndsWith("\r\n\r\n4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n")));
  EXPECT_THAT(Answer("GET /parts HTTP/1.0\r\n\r\n"),
              AllOf(Not(HasSubstr("chunked")), EndsWith("\r\n\r\none\ntwo\n")));
}

TEST_F(HttpServerTest, ARequestThatNobodyAnswersIsAnError) {
  Start();
  EXPECT_THAT(Answer("GET /drop HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 500 "), HasSubstr("log/web.log")));
}

TEST_F(HttpServerTest, AReplyDroppedHalfwayClosesTheConnection) {
  Start();
  Client client = Connect();
  client.Say("GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
  auto reply = kept_.get_future().get();
  reply->Begin({.type = "text/plain"});
  reply->Write("half");
  EXPECT_THAT(client.ReadUntil("half\r\n"), EndsWith("4\r\nhalf\r\n"));
  reply.reset();
  EXPECT_EQ(client.ReadAll(), "");
}

TEST_F(HttpServerTest, AClientThatLeavesIsNoticed) {
  Start();
  Client client = Connect();
  client.Say("GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto reply = kept_.get_future().get();
  std::promise<void> gone;
  reply->Begin({.type = "text/event-stream"});
  reply->OnProgress([&] {
    if (reply->IsGone()) gone.set_value();
  });
  client.Leave();
  gone.get_future().get();
  reply->Write("to nobody");
}

TEST_F(HttpServerTest, WhatASlowClientHasNotTakenIsCounted) {
  Start();
  Client client = Connect();
  client.Say("GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto reply = kept_.get_future().get();
  reply->Begin({.type = "text/plain"});
  const std::string part(8 << 20, 'x');
  reply->Write(part);
  EXPECT_GE(reply->Waiting(), part.size());
  std::promise<void> sent;
  reply->OnProgress([&] {
    if (reply->Waiting() == 0) sent.set_value();
  });
  client.Skip(part.size());
  sent.get_future().get();
  reply->OnProgress([] {});
}

TEST_F(HttpServerTest, AReplyOutlivesTheServer) {
  Start();
  Client client = Connect();
  client.Say("GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto reply = kept_.get_future().get();
  server_.reset();
  EXPECT_TRUE(reply->IsGone());
  reply->Send({.body = "late"});
  EXPECT_EQ(client.ReadAll(), "");
}

TEST_F(HttpServerTest, HostileRequestsAreRefusedAndTheServerGoesOn) {
  Start();
  const std::string host = "Host: x\r\n";
  const std::string long_header(kMaxHttpHeader, 'a');
  const struct {
    std::string request;
    int status;  // 0 if closed without an answer.
  } kCases[] = {
      {"\r\n\r\n\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n: x\r\n\r\n", 400},
      {"GET http://evil.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400},
      {"GET /../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400},
      {"GET /%2e%2e/etc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400},
      {"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400},
      {absl::StrCat("GET / HTTP/1.1\r\n", host, "A: ", long_header, "\r\n\r\n"), 431},
      {absl::StrCat("GET /", long_header, " HTTP/1.1\r\n\r\n"), 431},
      {absl::StrCat("POST / HTTP/1.1\r\n", host, "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
       411},
      {absl::StrCat("POST / HTTP/1.1\r\n", host, "Transfer-Encoding: gzip, chunked\r\n\r\n"), 411},
      {absl::StrCat("POST / HTTP/1.1\r\n", host,
                    "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"),
       400},
      {absl::StrCat("POST / HTTP/1.1\r\n", host,
                    "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"),
       400},
      {absl::StrCat("POST / HTTP/1.1\r\n", host, "Content-Length: -1\r\n\r\n"), 400},
      {absl::StrCat("POST / HTTP/1.1\r\n", host, "Content-Length: 65537\r\n\r\n"), 413},
      {absl::StrCat("POST / HTTP/1.1\r\n", host, "Content-Length: 99999999999999999999\r\n\r\n"),
       400},
  };
  for (const auto& [request, status] : kCases) {
    EXPECT_THAT(Answer(request), StartsWith(absl::StrCat("HTTP/1.1 ", status, " ")))
        << request.substr(0, 100);
  }
  EXPECT_THAT(Answer("GET /a HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(HttpServerTest, AClientThatNeverEndsItsRequestIsClosed) {
  Start({.request_deadline = absl::Milliseconds(50)});
  EXPECT_EQ(Answer(""), "");
  EXPECT_EQ(Answer("GET / HTTP/1.1\r\nHost: x\r\n"), "");
  EXPECT_EQ(Answer("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"), "");
}

TEST_F(HttpServerTest, AConnectionThatIsNotUsedIsClosed) {
  Start({.idle_deadline = absl::Milliseconds(50)});
  EXPECT_THAT(Answer("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"), EndsWith("GET a 0 port\n"));
}

TEST_F(HttpServerTest, AClientThatReadsNothingIsClosed) {
  Start({.write_deadline = absl::Milliseconds(50)});
  Client client = Connect();
  client.Say("GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto reply = kept_.get_future().get();
  std::promise<void> gone;
  reply->OnProgress([&] {
    if (reply->IsGone()) gone.set_value();
  });
  reply->Send({.body = std::string(64 << 20, 'x')});
  gone.get_future().get();
}

TEST_F(HttpServerTest, AClientThatExpectsToBeAskedIsAsked) {
  Start();
  Client client = Connect();
  client.Say("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_THAT(client.Say("ab").ReadUntil("port\n"), EndsWith("POST a 2 port\n"));
}

TEST_F(HttpServerTest, MoreConnectionsThanTheLimitAreTurnedAway) {
  Start({.max_connections = 2});
  Client first = Connect();
  first.Say("GET /a HTTP/1.1\r\nHost: x\r\n\r\n").ReadUntil("port\n");
  Client second = Connect();
  second.Say("GET /a HTTP/1.1\r\nHost: x\r\n\r\n").ReadUntil("port\n");
  EXPECT_EQ(Connect().ReadAll(), "");
  EXPECT_EQ(server_->GetStats().turned_away, 1);
  EXPECT_THAT(first.Say("GET /b HTTP/1.1\r\nHost: x\r\n\r\n").ReadUntil("port\n"),
              EndsWith("GET b 0 port\n"));
}

TEST_F(HttpServerTest, TheSocketIsOursAloneAndAStaleOneIsReplaced) {
  const std::string path = folder_ + "/http";
  {
    const runtime::UniqueFd stale(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(bind(stale.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  Start();
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600);
  const auto second = HttpServer::Start({.socket = path});
  EXPECT_TRUE(absl::IsAlreadyExists(second.status())) << second.status();
}

TEST_F(HttpServerTest, ASocketWhoseFileWasRemovedIsMadeAnew) {
  Start();
  const std::string path = folder_ + "/http";
  Client before(path);
  before.Say("GET /a HTTP/1.1\r\nHost: x\r\n\r\n").ReadUntil("socket\n");
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_TRUE(server_->BindAgain().ok());
  const std::string request = "GET /b HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_THAT(Client(path).Say(request).ReadUntil("socket\n"), EndsWith("GET b 0 socket\n"));
  EXPECT_THAT(before.Say(request).ReadUntil("socket\n"), EndsWith("GET b 0 socket\n"));
}

TEST_F(HttpServerTest, APortThatIsTakenIsNamed) {
  Start();
  const auto second = HttpServer::Start({.addresses = {"127.0.0.1"}, .port = server_->port()});
  EXPECT_THAT(std::string(second.status().message()),
              AllOf(HasSubstr(absl::StrCat("127.0.0.1 port ", server_->port())),
                    HasSubstr("Address already in use")));
  EXPECT_TRUE(absl::IsInvalidArgument(HttpServer::Start({.addresses = {"localhost"}}).status()));
}

}  // namespace
}  // namespace web
