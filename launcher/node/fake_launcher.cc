#include "launcher/node/fake_launcher.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "launcher/fixtures/shim_fixture.h"

namespace launcher {
namespace {

constexpr std::size_t kLengthBytes = 4;

}  // namespace

FakeLauncher::FakeLauncher(const std::string& socket_path)
    : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_un address = AddressOf(socket_path);
  EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(listener_.get(), 8), 0);
}

std::optional<NodeHello> FakeLauncher::Accept() {
  connection_.reset();
  news_.clear();
  if (!WaitReadable(listener_.get())) {
    ADD_FAILURE() << "no node connects";
    return std::nullopt;
  }
  connection_ = runtime::UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const auto frame = NextFrame();
  auto hello = frame ? NodeHello::Decode(*frame) : std::nullopt;
  EXPECT_TRUE(hello) << "no hello";
  return hello;
}

std::optional<NodeHello> FakeLauncher::Welcome() {
  auto hello = Accept();
  Send({.kind = NodeOrder::Kind::kWelcome});
  return hello;
}

bool FakeLauncher::AwaitClosed() {
  while (NextFrame()) {
  }
  char byte;
  return recv(connection_.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

void FakeLauncher::SendFrame(std::string_view frame) {
  std::string bytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    bytes += static_cast<char>((frame.size() >> (8 * i)) & 0xff);
  }
  bytes += frame;
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t done =
        send(connection_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (done <= 0) return;
    sent += static_cast<std::size_t>(done);
  }
}

bool FakeLauncher::ReadExactly(char* bytes, std::size_t count) {
  for (std::size_t got = 0; got < count;) {
    if (!connection_.valid() || !WaitReadable(connection_.get())) return false;
    const ssize_t more = recv(connection_.get(), bytes + got, count - got, 0);
    if (more <= 0) return false;
    got += static_cast<std::size_t>(more);
  }
  return true;
}

std::optional<std::string> FakeLauncher::NextFrame() {
  const absl::Time deadline = absl::Now() + kDeadline;
  while (absl::Now() < deadline) {
    char header[kLengthBytes];
    if (!ReadExactly(header, sizeof header)) return std::nullopt;
    std::size_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) {
      length |= std::size_t{static_cast<unsigned char>(header[i])} << (8 * i);
    }
    if (length == 0) {
      SendFrame("");
      continue;
    }
    std::string frame(length, '\0');
    if (!ReadExactly(frame.data(), length)) return std::nullopt;
    return frame;
  }
  return std::nullopt;
}

void FakeLauncher::Keep(NodeNews news) {
  // (A new worker counts from 1.)
  EXPECT_TRUE(news.number > last_number_ || news.number == 1) << news.number;
  last_number_ = news.number;
  news_.push_back(std::move(news));
}

std::optional<NodeNews> FakeLauncher::Await(const std::function<bool(const NodeNews&)>& wanted) {
  const absl::Time deadline = absl::Now() + kDeadline;
  for (;;) {
    const auto found = std::find_if(news_.begin(), news_.end(), wanted);
    if (found != news_.end()) {
      NodeNews news = std::move(*found);
      news_.erase(
          std::remove_if(news_.begin(), found,
                         [&](const NodeNews& other) { return other.attempt == news.attempt; }),
          found + 1);
      return news;
    }
    const auto frame = NextFrame();
    if (!frame || absl::Now() > deadline) {
      ADD_FAILURE() << "the node says nothing more";
      return std::nullopt;
    }
    auto news = NodeNews::Decode(*frame);
    if (!news) continue;
    Keep(*std::move(news));
  }
}

std::optional<NodeNews> FakeLauncher::Await(const std::string& key, NodeNews::Kind kind) {
  return Await([&](const NodeNews& news) { return news.attempt == key && news.kind == kind; });
}

std::optional<NodeHello> FakeLauncher::AwaitHello() {
  while (const auto frame = NextFrame()) {
    if (const auto hello = NodeHello::Decode(*frame)) return hello;
    if (auto news = NodeNews::Decode(*frame)) Keep(*std::move(news));
  }
  ADD_FAILURE() << "the node says no hello";
  return std::nullopt;
}

std::optional<NodeWant> FakeLauncher::AwaitWant() {
  while (const auto frame = NextFrame()) {
    if (const auto want = NodeWant::Decode(*frame)) return want;
    if (auto news = NodeNews::Decode(*frame)) Keep(*std::move(news));
  }
  ADD_FAILURE() << "the node asks for no archive";
  return std::nullopt;
}

std::string FakeLauncher::Read(const std::string& key, bool is_stderr, std::uint64_t offset) {
  Send({.kind = NodeOrder::Kind::kRead, .attempt = key, .is_stderr = is_stderr, .offset = offset});
  while (const auto frame = NextFrame()) {
    if (auto output = NodeOutput::Decode(*frame)) {
      EXPECT_EQ(output->attempt, key);
      EXPECT_EQ(output->offset, offset);
      EXPECT_EQ(output->is_stderr, is_stderr);
      return std::move(output->bytes);
    }
    if (auto news = NodeNews::Decode(*frame)) Keep(*std::move(news));
  }
  ADD_FAILURE() << "no answer to a read";
  return "";
}

std::string FakeLauncher::ReadAll(const std::string& key, bool is_stderr) {
  std::string all;
  for (;;) {
    const std::string piece = Read(key, is_stderr, all.size());
    if (piece.empty()) return all;
    all += piece;
  }
}

}  // namespace launcher
