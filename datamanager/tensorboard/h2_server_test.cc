#include "datamanager/tensorboard/h2_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datamanager/tensorboard/grpc_framing.h"
#include "datamanager/tensorboard/loopback_sockets.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace datamanager::tensorboard {
namespace {

using runtime::UniqueFd;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class H2ServerTest : public ::testing::Test {
 protected:
  ~H2ServerTest() override {
    loop_->Post([this] { server_.reset(); });
    loop_->Stop();
    if (thread_ != nullptr) thread_->Join();
  }

  void Start(std::size_t max_connections) {
    auto sockets = ListenAt("127.0.0.1", 0).value();
    port_ = sockets.port;
    server_ = H2Server::Create({.loop = loop_.get(),
                                .listeners = std::move(sockets.sockets),
                                .on_call =
                                    [](std::string path, std::string, H2Server::Reply reply) {
                                      GrpcAnswer answer;
                                      AppendFrame(path, &answer.frames);
                                      reply(std::move(answer));
                                    },
                                .max_connections = max_connections});
    thread_ = std::make_unique<runtime::Thread>("loop", [this] { loop_->Run(); });
  }

  UniqueFd Connect(std::string_view says) const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
    const timeval limit = {.tv_sec = 60, .tv_usec = 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(send(fd.get(), says.data(), says.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(says.size()));
    return fd;
  }
  // What comes until it hangs up.
  static std::string ReadAll(const UniqueFd& fd) {
    std::string all;
    char buffer[4096];
    for (ssize_t size; (size = read(fd.get(), buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<std::size_t>(size));
    }
    return all;
  }

  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
  std::unique_ptr<H2Server> server_;
  std::unique_ptr<runtime::Thread> thread_;
  int port_ = 0;
};

// The nine bytes before each frame: its type is the fourth.
constexpr std::size_t kType = 3;
constexpr char kSettings = 4;

TEST_F(H2ServerTest, SpeaksToWhoBeginsWithThePreface) {
  Start(4);
  const UniqueFd client = Connect(kPreface);
  char head[9];
  ASSERT_EQ(recv(client.get(), head, sizeof head, MSG_WAITALL), static_cast<ssize_t>(sizeof head));
  EXPECT_EQ(head[kType], kSettings);
}

TEST_F(H2ServerTest, HangsUpOnWhoSpeaksSomethingElse) {
  Start(4);
  const UniqueFd browser = Connect("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(ReadAll(browser).find("HTTP/1.1"), std::string::npos);
}

TEST_F(H2ServerTest, OfTooManyTheMostSilentGoes) {
  Start(1);
  const UniqueFd first = Connect(kPreface);
  char head[9];
  ASSERT_EQ(recv(first.get(), head, sizeof head, MSG_WAITALL), static_cast<ssize_t>(sizeof head));
  const UniqueFd second = Connect(kPreface);
  (void)ReadAll(first);  // Ends.
  ASSERT_EQ(recv(second.get(), head, sizeof head, MSG_WAITALL), static_cast<ssize_t>(sizeof head));
  EXPECT_EQ(head[kType], kSettings);
}

}  // namespace
}  // namespace datamanager::tensorboard
