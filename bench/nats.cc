#include "bench/nats.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/flow.h"
#include "bench/round_trips.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/string_view.h"
#include "runtime/thread.h"

namespace bench {
namespace {

constexpr std::size_t kBatch = 64 << 10;
constexpr std::string_view kSearch = "/usr/sbin:/usr/bin:/usr/local/bin";
constexpr std::string_view kSubject = "m.run-1.loss";

absl::Status LastError(std::string_view doing) {
  return absl::UnavailableError(absl::StrCat(runtime::Absl(doing), ": ", std::strerror(errno)));
}

// The server's process; the destructor kills it.
class Server {
 public:
  static absl::StatusOr<std::unique_ptr<Server>> Start() {
    const auto program = runtime::FindProgram("nats-server", std::string(kSearch), "");
    if (!program.ok()) return absl::NotFoundError("not installed: apt-get install nats-server");
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) return LastError("making a pipe");
    runtime::UniqueFd log(pipe_ends[0]), log_write(pipe_ends[1]);
    auto process = runtime::Subprocess::Start(
        {.argv = {*program, "-a", "127.0.0.1", "-p", "-1"}, .fds = {{log_write.get(), 2}}});
    if (!process.ok()) return process.status();
    std::unique_ptr<Server> server(new Server(*std::move(process), std::move(log)));
    log_write.reset();
    if (absl::Status ready = server->ReadPort(); !ready.ok()) return ready;
    return server;
  }
  ~Server() {
    (void)process_.Signal(SIGKILL);
    (void)process_.Wait();
  }
  std::uint16_t port() const { return port_; }

 private:
  Server(runtime::Subprocess process, runtime::UniqueFd log)
      : process_(std::move(process)), log_(std::move(log)) {}
  // Reads the port from the log, which ends if the server does.
  absl::Status ReadPort() {
    constexpr std::string_view kListening = "client connections on 127.0.0.1:";
    std::string log;
    char part[4096];
    while (true) {
      const auto bytes = read(log_.get(), part, sizeof(part));
      if (bytes <= 0) return absl::UnavailableError(absl::StrCat("nats-server: ", log));
      log.append(part, static_cast<std::size_t>(bytes));
      const std::size_t at = log.find(kListening);
      if (at == std::string::npos || log.find('\n', at) == std::string::npos) continue;
      port_ = static_cast<std::uint16_t>(std::atoi(log.c_str() + at + kListening.size()));
      return absl::OkStatus();
    }
  }

  runtime::Subprocess process_;
  runtime::UniqueFd log_;  // Kept open so that the server can go on writing: it writes very little.
  std::uint16_t port_ = 0;
};

// One client. Buffers its writes until kBatch bytes are reached or Flush() is called.
class Client {
 public:
  static absl::StatusOr<std::unique_ptr<Client>> Connect(std::uint16_t port) {
    runtime::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      return LastError("connecting to nats-server");
    }
    std::unique_ptr<Client> client(new Client(std::move(socket)));
    client->Write("CONNECT {\"verbose\":false,\"pedantic\":false}\r\n");
    if (absl::Status ready = client->Synchronise(); !ready.ok()) return ready;
    return client;
  }

  void Write(std::string_view text) {
    out_ += text;
    if (out_.size() >= kBatch) Flush();
  }
  void Publish(std::string_view subject, std::string_view body) {
    absl::StrAppend(&out_, "PUB ", runtime::Absl(subject), " ", body.size(), "\r\n");
    out_ += body;
    Write("\r\n");
  }
  bool Flush() {
    for (std::string_view left = out_; !left.empty();) {
      const auto sent = send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    out_.clear();
    return true;
  }
  absl::Status Subscribe(std::string_view subject) {
    Write(absl::StrCat("SUB ", runtime::Absl(subject), " 1\r\n"));
    return Synchronise();
  }
  // Returns the body of the next message, valid until the next call; nullopt at the end of the
  // connection.
  std::optional<std::string_view> Receive() {
    while (const auto line = NextLine()) {
      if (!line->starts_with("MSG ")) continue;  // INFO, PING: not for us.
      std::size_t bytes = 0;
      const std::string_view size = line->substr(line->rfind(' ') + 1);
      if (!absl::SimpleAtoi(runtime::Absl(size), &bytes) || !Have(bytes + 2)) return std::nullopt;
      const std::string_view body = std::string_view(in_).substr(at_, bytes);
      at_ += bytes + 2;
      return body;
    }
    return std::nullopt;
  }
  // Ends a Receive() on another thread.
  void Shutdown() { shutdown(socket_.get(), SHUT_RDWR); }

 private:
  explicit Client(runtime::UniqueFd socket) : socket_(std::move(socket)) {}
  // Waits until the server has processed all earlier commands.
  absl::Status Synchronise() {
    Write("PING\r\n");
    if (!Flush()) return LastError("writing to nats-server");
    while (const auto line = NextLine()) {
      if (*line == "PONG") return absl::OkStatus();
    }
    return LastError("waiting for nats-server");
  }
  std::optional<std::string_view> NextLine() {
    while (true) {
      const std::size_t end = in_.find("\r\n", at_);
      if (end != std::string::npos) {
        const auto line = std::string_view(in_).substr(at_, end - at_);
        at_ = end + 2;
        return line;
      }
      if (!Have(in_.size() - at_ + 1)) return std::nullopt;
    }
  }
  // Reads until `bytes` bytes are available.
  bool Have(std::size_t bytes) {
    if (in_.size() - at_ >= bytes) return true;
    in_.erase(0, std::exchange(at_, 0));
    while (in_.size() < bytes) {
      const std::size_t before = in_.size();
      in_.resize(before + kBatch);
      const auto got = recv(socket_.get(), in_.data() + before, kBatch, 0);
      in_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
      if (got <= 0 && !(got < 0 && errno == EINTR)) return false;
    }
    return true;
  }

  const runtime::UniqueFd socket_;
  std::string out_;
  std::string in_;
  std::size_t at_ = 0;  // Place in in_ up to which bytes were consumed.
};

// A server and two clients.
struct Pair {
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> left, right;

  static absl::StatusOr<Pair> Make() {
    auto server = Server::Start();
    if (!server.ok()) return server.status();
    auto left = Client::Connect((*server)->port());
    if (!left.ok()) return left.status();
    auto right = Client::Connect((*server)->port());
    if (!right.ok()) return right.status();
    return Pair{*std::move(server), *std::move(left), *std::move(right)};
  }
};

}  // namespace

absl::StatusOr<double> NatsMessages(std::size_t bytes, absl::Duration time) {
  auto pair = Pair::Make();
  if (!pair.ok()) return pair.status();
  Client& publisher = *pair->left;
  Client& subscriber = *pair->right;
  if (absl::Status ready = subscriber.Subscribe(kSubject); !ready.ok()) return ready;
  const std::string body(bytes, 'x');
  Flow flow({.time = time});
  runtime::Thread sender("sender", [&] {
    while (true) {
      if (!flow.HasRoom()) publisher.Flush();
      if (!flow.MaySend()) return;
      publisher.Publish(kSubject, body);
    }
  });
  while (true) {
    const auto received = subscriber.Receive();
    if (!received.has_value() || received->size() != bytes) {
      flow.Fail(absl::DataLossError("messages have stopped coming, or came broken"));
      break;
    }
    if (!flow.Received()) break;
  }
  subscriber.Shutdown();
  sender.Join();
  return flow.Wait();
}

absl::StatusOr<double> NatsRoundTrip(std::size_t bytes, absl::Duration time) {
  auto pair = Pair::Make();
  if (!pair.ok()) return pair.status();
  Client& caller = *pair->left;
  Client& service = *pair->right;
  for (const auto& [client, subject] :
       {std::pair(&caller, "inbox"), std::pair(&service, "calls")}) {
    if (absl::Status ready = client->Subscribe(subject); !ready.ok()) return ready;
  }
  const std::string body(bytes, 'x');
  runtime::Thread serving("service", [&] {
    while (const auto request = service.Receive()) {
      service.Publish("inbox", *request);
      service.Flush();
    }
  });
  auto median = MedianRoundTrip(time, [&]() -> absl::Status {
    caller.Publish("calls", body);
    caller.Flush();
    return caller.Receive().has_value() ? absl::OkStatus() : LastError("waiting for an answer");
  });
  service.Shutdown();
  serving.Join();
  return median;
}

}  // namespace bench
