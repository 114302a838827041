// Many simultaneous callers of a gRPC server, each with one call after the other. In C++, because
// slow callers would hide the speed of the server.
//
//   callers_at_once PORT CALLERS CALLS PATH MESSAGE    MESSAGE in hexadecimal digits
//
// Prints the median and the 99th percentile of the duration of a call in milliseconds, and the size
// of an answer in bytes, which is the same for all.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/file/unique_fd.h"

namespace {

enum FrameType : std::uint8_t { kData = 0, kHeaders = 1, kSettings = 4, kPing = 6, kWindow = 8 };
constexpr std::uint8_t kEndStream = 1, kAck = 1, kEndHeaders = 4;
constexpr std::uint32_t kMostWindow = 0x7fff0000;  // More than the size of all answers together.
constexpr std::size_t kHead = 9;                   // Bytes of a frame before its body.

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "callers_at_once: %s: %s\n", what, strerror(errno));
  exit(1);
}

void AppendNumber(std::uint32_t number, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(number >> shift));
  }
}

std::uint32_t NumberAt(std::string_view text, int bytes) {
  std::uint32_t number = 0;
  for (int i = 0; i < bytes; ++i) number = number << 8 | static_cast<unsigned char>(text[i]);
  return number;
}

void AppendFrame(FrameType type, std::uint8_t flags, std::uint32_t stream, std::string_view body,
                 std::string* out) {
  AppendNumber(static_cast<std::uint32_t>(body.size()), 3, out);
  out->push_back(static_cast<char>(type));
  out->push_back(static_cast<char>(flags));
  AppendNumber(stream, 4, out);
  out->append(body);
}

// The parts of a call that all calls share.
struct Call {
  std::string headers, data;  // Bodies of frames.
};

Call MakeCall(const std::string& path, const std::string& message) {
  Call call;
  call.headers = "\x83\x86";  // :method POST, :scheme http, then literals.
  const std::pair<std::string, std::string> fields[] = {{":path", path},
                                                        {":authority", "localhost"},
                                                        {"content-type", "application/grpc"},
                                                        {"te", "trailers"}};
  for (const auto& [name, value] : fields) {
    call.headers += '\0';
    for (const std::string& text : {name, value}) {
      call.headers += static_cast<char>(text.size());
      call.headers += text;
    }
  }
  call.data += '\0';
  AppendNumber(static_cast<std::uint32_t>(message.size()), 4, &call.data);
  call.data += message;
  return call;
}

class Caller {
 public:
  Caller(int port, const Call* call)
      : call_(*call), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      Fail("connect");
    }
    const int one = 1;
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    std::string hello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", settings, window;
    AppendNumber(4, 2, &settings);  // Initial window of each stream.
    AppendNumber(kMostWindow, 4, &settings);
    AppendNumber(kMostWindow, 4, &window);
    AppendFrame(kSettings, 0, 0, settings, &hello);
    AppendFrame(kWindow, 0, 0, window, &hello);
    Send(hello);
  }

  int fd() const { return fd_.get(); }
  absl::Duration took() const { return absl::Now() - began_; }
  std::size_t bytes() const { return bytes_; }

  void Begin() {
    stream_ += 2;
    bytes_ = 0;
    std::string frames;
    AppendFrame(kHeaders, kEndHeaders, stream_, call_.headers, &frames);
    AppendFrame(kData, kEndStream, stream_, call_.data, &frames);
    began_ = absl::Now();
    Send(frames);
  }

  // Reads available data; returns true once the call has ended.
  bool Receive() {
    char buffer[1 << 16];
    const ssize_t got = recv(fd_.get(), buffer, sizeof buffer, 0);
    if (got <= 0) Fail("the server has hung up");
    received_.append(buffer, static_cast<std::size_t>(got));
    std::string_view rest = received_;
    bool ended = false;
    while (rest.size() >= kHead && rest.size() >= kHead + NumberAt(rest, 3)) {
      const std::size_t size = NumberAt(rest, 3);
      ended |= Take(rest.substr(0, kHead), rest.substr(kHead, size));
      rest.remove_prefix(kHead + size);
    }
    received_.erase(0, received_.size() - rest.size());
    return ended;
  }

 private:
  bool Take(std::string_view head, std::string_view body) {
    const auto type = static_cast<FrameType>(head[3]);
    const auto flags = static_cast<std::uint8_t>(head[4]);
    if ((type == kSettings || type == kPing) && (flags & kAck) == 0) {
      std::string answer;
      AppendFrame(type, kAck, 0, type == kPing ? body : "", &answer);
      Send(answer);
    }
    if (NumberAt(head.substr(5), 4) != stream_) return false;
    if (type == kData) bytes_ += body.size();
    return (type == kData || type == kHeaders) && (flags & kEndStream) != 0;
  }

  void Send(std::string_view text) {
    if (send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size())) {
      Fail("send");
    }
  }

  const Call& call_;
  const runtime::UniqueFd fd_;
  std::uint32_t stream_ = ~std::uint32_t{0};  // The first stream is 1.
  absl::Time began_;
  std::string received_;
  std::size_t bytes_ = 0;  // Size of the answer.
};

}  // namespace

int main(int argc, char** argv) {
  int port = 0, callers = 0, calls = 0;
  if (argc != 6 || !absl::SimpleAtoi(argv[1], &port) || !absl::SimpleAtoi(argv[2], &callers) ||
      !absl::SimpleAtoi(argv[3], &calls)) {
    fprintf(stderr, "usage: callers_at_once PORT CALLERS CALLS PATH MESSAGE\n");
    return 2;
  }
  const Call call = MakeCall(argv[4], absl::HexStringToBytes(argv[5]));
  const runtime::UniqueFd ready(epoll_create1(EPOLL_CLOEXEC));
  std::deque<Caller> all;
  for (int i = 0; i < callers; ++i) {
    all.emplace_back(port, &call);
    epoll_event event = {.events = EPOLLIN, .data = {.u32 = static_cast<std::uint32_t>(i)}};
    if (epoll_ctl(ready.get(), EPOLL_CTL_ADD, all.back().fd(), &event) != 0) Fail("epoll_ctl");
  }
  for (Caller& caller : all) caller.Begin();
  std::vector<double> took;
  std::size_t bytes = 0;
  while (took.size() < static_cast<std::size_t>(calls)) {
    epoll_event events[64];
    constexpr int kPatienceMs = 60'000;
    const int count = epoll_wait(ready.get(), events, 64, kPatienceMs);
    if (count <= 0) Fail("no answer within a minute");
    for (int i = 0; i < count; ++i) {
      Caller& caller = all[events[i].data.u32];
      if (!caller.Receive()) continue;
      took.push_back(absl::ToDoubleMilliseconds(caller.took()));
      if (bytes != 0 && bytes != caller.bytes()) Fail("answers differ");
      bytes = caller.bytes();
      caller.Begin();
    }
  }
  std::sort(took.begin(), took.end());
  printf("%.3f %.3f %zu\n", took[took.size() / 2], took[took.size() * 99 / 100], bytes);
  return 0;
}
