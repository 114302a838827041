#include "datamanager/tensorboard/h2_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "datamanager/tensorboard/grpc_framing.h"
#include "datamanager/tensorboard/loopback_sockets.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace datamanager::tensorboard {
namespace {

using runtime::UniqueFd;

constexpr std::chrono::seconds kLong(60);
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class H2ServerTest : public ::testing::Test {
 protected:
  ~H2ServerTest() override {
    loop_->Post([this] { server_.reset(); });
    loop_->Stop();
    if (thread_ != nullptr) thread_->Join();
  }

  // Answers each call with its path; answers "/large" with kLarge bytes.
  void Start(H2Server::Options options) {
    auto sockets = ListenAt("127.0.0.1", 0).value();
    port_ = sockets.port;
    options.loop = loop_.get();
    options.listeners = std::move(sockets.sockets);
    options.on_call = [this](std::string path, std::string, H2Server::Reply reply) {
      GrpcAnswer answer;
      AppendFrame(path == "/large" ? std::string(kLarge, 'x') : path, &answer.frames);
      reply(std::move(answer));
      if (!std::exchange(called_, true)) call_.set_value();
    };
    server_ = std::make_unique<H2Server>(std::move(options));
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
  // Waits until the first call was answered, as far as its client reads.
  void AwaitCall() {
    ASSERT_EQ(call_.get_future().wait_for(kLong), std::future_status::ready);
    std::promise<void> answered;
    loop_->Post([&] { answered.set_value(); });
    ASSERT_EQ(answered.get_future().wait_for(kLong), std::future_status::ready);
  }
  // Reads until the server closes the connection.
  static std::string ReadAll(const UniqueFd& fd) {
    std::string all;
    char buffer[4096];
    for (ssize_t size; (size = read(fd.get(), buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<std::size_t>(size));
    }
    return all;
  }

  // More than all windows and buffers of a connection can hold.
  static constexpr std::size_t kLarge = std::size_t{32} << 20;

  runtime::FakeClock clock_;
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create(&clock_);
  bool called_ = false;  // Used by the loop's thread only.
  std::promise<void> call_;
  std::unique_ptr<H2Server> server_;
  std::unique_ptr<runtime::Thread> thread_;
  int port_ = 0;
};

// Each frame begins with nine bytes; the fourth is its type.
constexpr std::size_t kType = 3;
constexpr char kSettings = 4;

TEST_F(H2ServerTest, SpeaksToWhoBeginsWithThePreface) {
  Start({});
  const UniqueFd client = Connect(kPreface);
  char head[9];
  ASSERT_EQ(recv(client.get(), head, sizeof head, MSG_WAITALL), static_cast<ssize_t>(sizeof head));
  EXPECT_EQ(head[kType], kSettings);
}

TEST_F(H2ServerTest, HangsUpOnWhoSpeaksSomethingElse) {
  Start({});
  const UniqueFd browser = Connect("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(ReadAll(browser).find("HTTP/1.1"), std::string::npos);
}

TEST_F(H2ServerTest, OfTooManyTheMostSilentGoes) {
  Start({.max_connections = 1});
  const UniqueFd first = Connect(kPreface);
  char head[9];
  ASSERT_EQ(recv(first.get(), head, sizeof head, MSG_WAITALL), static_cast<ssize_t>(sizeof head));
  const UniqueFd second = Connect(kPreface);
  (void)ReadAll(first);  // Returns when the connection is closed.
  ASSERT_EQ(recv(second.get(), head, sizeof head, MSG_WAITALL), static_cast<ssize_t>(sizeof head));
  EXPECT_EQ(head[kType], kSettings);
}

// Returns the bytes of a connection that requests `path` on streams 1, 3, ... and sends empty
// settings. The header fields, except for the path, come from HPACK's static table.
std::string Calls(std::string_view path, int count) {
  const auto frame = [](std::size_t size, char type, char flags, char stream) {
    return std::string{
        '\0',  static_cast<char>(size >> 8), static_cast<char>(size), type, flags, '\0', '\0', '\0',
        stream};
  };
  std::string said(kPreface);
  said += frame(0, kSettings, 0, 0);
  constexpr char kHeaders = 1, kData = 0, kEndHeaders = 4, kEndStream = 1;
  std::string fields = "\x83\x86";  // :method POST, :scheme http
  fields += std::string{'\x04', static_cast<char>(path.size())} + std::string(path);
  fields += std::string{'\x01', '\x01'} + "x";  // :authority
  std::string message;
  AppendFrame("", &message);
  for (int i = 0; i < count; ++i) {
    const char stream = static_cast<char>(2 * i + 1);
    said += frame(fields.size(), kHeaders, kEndHeaders, stream) + fields;
    said += frame(message.size(), kData, kEndStream, stream) + message;
  }
  return said;
}

TEST_F(H2ServerTest, AnswersThatNobodyReadsHaveABound) {
  Start({.max_unsent_bytes = kLarge + kLarge / 2});
  const UniqueFd client = Connect(Calls("/large", 2));
  // The second call is refused: its response headers also end the stream.
  constexpr char kHeaders = 1, kEndStream = 1;
  for (;;) {
    unsigned char head[9];
    ASSERT_EQ(recv(client.get(), head, sizeof head, MSG_WAITALL),
              static_cast<ssize_t>(sizeof head));
    std::string body(std::size_t{head[0]} << 16 | std::size_t{head[1]} << 8 | head[2], '\0');
    ASSERT_EQ(recv(client.get(), body.data(), body.size(), MSG_WAITALL),
              static_cast<ssize_t>(body.size()));
    if (head[kType] != kHeaders || head[8] != 3) continue;
    EXPECT_TRUE((head[4] & kEndStream) != 0);
    break;
  }
}

TEST_F(H2ServerTest, AClientWhoseWindowsAreLargeGetsAllWithoutAnotherWord) {
  Start({});
  // The largest possible SETTINGS_INITIAL_WINDOW_SIZE and connection WINDOW_UPDATE.
  constexpr char kWindowUpdate = 8;
  const std::string setting = {'\0', '\4', '\x7f', '\xff', '\xff', '\xff'};
  const std::string increment = {'\x7f', '\0', '\0', '\0'};
  std::string said = Calls("/large", 1);
  said.insert(kPreface.size(),
              std::string{'\0', '\0', '\6', kSettings, '\0', '\0', '\0', '\0', '\0'} + setting +
                  std::string{'\0', '\0', '\4', kWindowUpdate, '\0', '\0', '\0', '\0', '\0'} +
                  increment);
  const UniqueFd client = Connect(said);
  std::size_t received = 0;
  std::string buffer(1 << 20, '\0');
  while (received < kLarge) {
    const ssize_t size = read(client.get(), buffer.data(), buffer.size());
    ASSERT_GT(size, 0) << "after " << received << " bytes";
    received += static_cast<std::size_t>(size);
  }
}

TEST_F(H2ServerTest, HangsUpOnWhoTakesNothing) {
  Start({.stall_limit = absl::Seconds(60)});
  const UniqueFd client = Connect(Calls("/large", 1));
  char head[9];
  ASSERT_EQ(recv(client.get(), head, sizeof head, MSG_WAITALL), static_cast<ssize_t>(sizeof head));
  // The client's window has 64 KiB, so the rest is held until the time limit.
  AwaitCall();
  clock_.Advance(absl::Seconds(61));
  (void)ReadAll(client);  // Returns when the connection is closed.
}

TEST_F(H2ServerTest, WhoIsConnectedStaysWhenItListensNoMore) {
  Start({});
  const UniqueFd client = Connect(kPreface);
  char head[9];
  ASSERT_EQ(recv(client.get(), head, sizeof head, MSG_WAITALL), static_cast<ssize_t>(sizeof head));
  std::promise<void> gone;
  loop_->Post([&] { server_->StopListening([&] { gone.set_value(); }); });
  const std::string call = Calls("/x", 1).substr(kPreface.size());
  ASSERT_EQ(send(client.get(), call.data(), call.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(call.size()));
  AwaitCall();
  auto last_gone = gone.get_future();
  EXPECT_EQ(last_gone.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  shutdown(client.get(), SHUT_RDWR);
  EXPECT_EQ(last_gone.wait_for(kLong), std::future_status::ready);
}

}  // namespace
}  // namespace datamanager::tensorboard
