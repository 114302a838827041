// Acts as another user of this machine: other_user DOING PATH, run as root, becomes uid 65534 and
// then
//   connect      connects to the socket at PATH and prints "connected" or the error;
//   stay, stay-for-packets
//                connects and prints "hung up" once the other side has closed, or "let in";
//   call         calls List there, as any ZeroMQ program could, and prints the answer's status
//   code; call-of-old  does the same by the oldest protocol, and prints "denied" or "served".
// Exits with 1 if it cannot become that user.

#include <grp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <zmq.hpp>

#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "runtime/file/unique_fd.h"

namespace {

constexpr uid_t kNobody = 65534;
constexpr int kPatience = 20'000;  // Milliseconds.

std::string Request() {
  msg::EnvelopeT request;
  request.kind = msg::Kind::Request;
  request.corr = 1;
  request.method = "List";
  request.body.Set(msg::ListRequestT());
  return std::string(bus::Encode(request).text());
}

runtime::UniqueFd Connect(const std::string& path, int type = SOCK_STREAM) {
  runtime::UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return {};
  return fd;
}

int Stay(const std::string& path, int type) {
  const runtime::UniqueFd fd = Connect(path, type);
  if (!fd.valid()) return 2;
  pollfd ready = {.fd = fd.get(), .events = POLLIN, .revents = 0};
  const bool speaks = poll(&ready, 1, kPatience) == 1;
  char some[64];
  std::printf("%s\n", speaks && recv(fd.get(), some, sizeof(some), 0) <= 0 ? "hung up" : "let in");
  return 0;
}

// Uses ZMTP 1.0, which has no handshake.
int CallOfOld(const std::string& path) {
  const std::string request = Request();
  const std::size_t size = request.size() + 1;  // Includes the flags.
  const std::string bytes = std::string("\1\0\xff", 3) + std::string(6, '\0') +
                            static_cast<char>(size >> 8) + static_cast<char>(size) +
                            std::string(1, '\0') + request;
  const runtime::UniqueFd fd = Connect(path);
  if (send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return 2;
  std::string answer;
  // The answer is longer than the peer's greeting.
  while (answer.size() < 64) {
    char some[4096];
    const ssize_t got = recv(fd.get(), some, sizeof(some), 0);
    if (got <= 0) return 3;
    answer.append(some, static_cast<std::size_t>(got));
  }
  std::printf("%s\n", answer.find("cannot know who calls") != answer.npos ? "denied" : "served");
  return 0;
}

int Call(const std::string& path) {
  zmq::context_t context;
  zmq::socket_t dealer(context, zmq::socket_type::dealer);
  dealer.set(zmq::sockopt::linger, 0);
  dealer.set(zmq::sockopt::rcvtimeo, kPatience);
  dealer.connect("ipc://" + path);
  dealer.send(zmq::buffer(Request()));
  zmq::message_t answer;
  if (!dealer.recv(answer).has_value()) return 2;
  const auto received =
      bus::Receive({answer.data<std::uint8_t>(), answer.size()}, bus::kMaxMessageBytes);
  if (!received.ok()) return 3;
  const std::unique_ptr<msg::EnvelopeT> envelope((*received)->UnPack());
  const absl::Status status = bus::FromWire(envelope->status.get());
  std::printf("%s\n", absl::StatusCodeToString(status.code()).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0 || geteuid() != kNobody) {
    std::printf("cannot become another user: %s\n", std::strerror(errno));
    return 1;
  }
  const std::string doing = argv[1], path = argv[2];
  if (doing == "call") return Call(path);
  if (doing == "call-of-old") return CallOfOld(path);
  if (doing == "stay") return Stay(path, SOCK_STREAM);
  if (doing == "stay-for-packets") return Stay(path, SOCK_SEQPACKET);
  if (doing != "connect") return 2;
  const bool connected = Connect(path).valid();
  std::printf("%s\n", connected ? "connected" : std::strerror(errno));
  return 0;
}
