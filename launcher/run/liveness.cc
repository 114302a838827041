#include "launcher/run/liveness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "launcher/job/cluster.h"
#include "launcher/job/probe_address.h"
#include "runtime/counted.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "runtime/timer.h"

namespace launcher {
namespace {

using Readiness = runtime::EventLoop::Readiness;

constexpr std::uint32_t kPeriodMs = 10'000;
constexpr std::uint32_t kTimeoutMs = 1'000;
constexpr std::uint32_t kFailures = 3;
constexpr std::size_t kStatusLine = 4096;  // Maximum number of bytes that are read of an answer.
constexpr int kLeastGood = 200, kFirstBad = 400;

std::string Words(int error) { return strerror(error); }

// One check. It calls `done` once, possibly inside Start(), and never after its destruction.
class Look {
 public:
  using Done = std::function<void(std::string why)>;
  explicit Look(Done done) : done_(std::move(done)) {}
  virtual ~Look() = default;
  virtual void Start() = 0;
  // Called when the check has timed out.
  virtual void GiveUp() = 0;

 protected:
  void Finish(std::string why) {
    if (done_) std::exchange(done_, nullptr)(std::move(why));
  }

 private:
  Done done_;
};

// ---- Check of a heartbeat

class HeartbeatLook : public Look {
 public:
  HeartbeatLook(std::string path, timespec* last, Done done)
      : Look(std::move(done)), path_(std::move(path)), last_(last) {}

  static std::optional<timespec> TimeOf(const std::string& path) {
    struct stat file = {};
    if (stat(path.c_str(), &file) != 0) return std::nullopt;
    return file.st_mtim;
  }

  void Start() override {
    const auto time = TimeOf(path_);
    if (!time) return Finish("the file $YARD_HEARTBEAT is missing");
    const bool is_new = time->tv_sec != last_->tv_sec || time->tv_nsec != last_->tv_nsec;
    *last_ = *time;
    Finish(is_new ? "" : "no heartbeat since the last look");
  }
  void GiveUp() override {}

 private:
  const std::string path_;
  timespec* const last_;
};

// ---- Check by a connection

class ConnectionLook : public Look {
 public:
  // With an empty `request`, a successful connect is enough.
  ConnectionLook(runtime::EventLoop* loop, std::string host, int port, std::string request,
                 Done done)
      : Look(std::move(done)),
        loop_(loop),
        host_(std::move(host)),
        port_(port),
        request_(std::move(request)) {}
  ~ConnectionLook() override { Close(); }

  void Start() override {
    sockaddr_storage address = {};
    const socklen_t size = Address(&address);
    socket_ =
        runtime::UniqueFd(socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (size == 0 || !socket_.valid()) return End("cannot make a socket");
    if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) {
      return OnConnected();
    }
    if (errno != EINPROGRESS) return End(Words(errno));
    watch_ = loop_->Watch(socket_.get(), Readiness::kWritable, [this] { OnConnected(); });
  }

  void GiveUp() override { End("no answer in time"); }

 private:
  socklen_t Address(sockaddr_storage* address) const {
    auto* const four = reinterpret_cast<sockaddr_in*>(address);
    if (inet_pton(AF_INET, host_.c_str(), &four->sin_addr) == 1) {
      four->sin_family = AF_INET;
      four->sin_port = htons(static_cast<std::uint16_t>(port_));
      return sizeof *four;
    }
    auto* const six = reinterpret_cast<sockaddr_in6*>(address);
    if (inet_pton(AF_INET6, host_.c_str(), &six->sin6_addr) != 1) return 0;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(static_cast<std::uint16_t>(port_));
    return sizeof *six;
  }

  void OnConnected() {
    Unwatch();
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return End(Words(error));
    if (request_.empty()) return End("");
    // (The send buffer of a new connection has room for a request.)
    const ssize_t sent = send(socket_.get(), request_.data(), request_.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(request_.size())) return End("takes no request");
    watch_ = loop_->Watch(socket_.get(), Readiness::kReadable, [this] { OnAnswer(); });
  }

  void OnAnswer() {
    char buffer[1024];
    const ssize_t got = read(socket_.get(), buffer, sizeof buffer);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) answer_.append(buffer, static_cast<std::size_t>(got));
    const bool is_whole = answer_.find('\n') != std::string::npos;
    if (!is_whole && got > 0 && answer_.size() < kStatusLine) return;
    End(WrongStatus());
  }

  // Parses "HTTP/1.1 200 OK". Returns the error; empty if the status is good.
  std::string WrongStatus() const {
    int status = 0;
    const std::size_t space = answer_.find(' ');
    const bool is_http = answer_.starts_with("HTTP/") && space != std::string::npos &&
                         absl::SimpleAtoi(answer_.substr(space + 1, 3), &status);
    if (!is_http) return "the answer is no HTTP";
    return status >= kLeastGood && status < kFirstBad ? "" : absl::StrCat("status ", status);
  }

  void Unwatch() {
    if (watch_ != 0) loop_->Unwatch(std::exchange(watch_, 0));
  }
  void Close() {
    Unwatch();
    socket_.reset();
  }
  void End(std::string why) {
    Close();
    Finish(std::move(why));
  }

  runtime::EventLoop* const loop_;
  const std::string host_;
  const int port_;
  const std::string request_;
  runtime::UniqueFd socket_;
  runtime::EventLoop::WatchId watch_ = 0;
  std::string answer_;
};

// ---- Check by a command

// Kills the process group of a command, and reaps the command when it has ended.
void Reap(runtime::EventLoop* loop, runtime::Subprocess child) {
  (void)child.SignalGroup(SIGKILL);
  if (child.Wait(absl::ZeroDuration()).ok()) return;
  struct Leaving {
    runtime::Subprocess child;
    runtime::EventLoop::WatchId watch = 0;
  };
  auto leaving = std::make_shared<Leaving>(Leaving{std::move(child)});
  leaving->watch = loop->Watch(leaving->child.pidfd(), Readiness::kReadable, [loop, leaving] {
    const auto keep = leaving;
    (void)keep->child.Wait(absl::ZeroDuration());
    if (keep->watch != 0) loop->Unwatch(std::exchange(keep->watch, 0));
  });
}

class CommandLook : public Look {
 public:
  CommandLook(runtime::EventLoop* loop, std::vector<std::string> argv, ShimSpec spec, Done done)
      : Look(std::move(done)), loop_(loop), argv_(std::move(argv)), spec_(std::move(spec)) {}
  ~CommandLook() override { Leave(); }

  void Start() override {
    auto child = runtime::Subprocess::Start({.argv = argv_,
                                             .environment = std::move(spec_.environment),
                                             .working_directory = spec_.working_directory,
                                             .new_session = true});
    if (!child.ok()) return Finish(std::string(child.status().message()));
    child_ = *std::move(child);
    watch_ = loop_->Watch(child_->pidfd(), Readiness::kReadable, [this] { OnEnded(); });
  }

  void GiveUp() override {
    Leave();
    Finish("has not ended in time");
  }

 private:
  void OnEnded() {
    (void)child_->SignalGroup(SIGKILL);  // Kills processes that the command has left behind.
    const auto status = child_->Wait(absl::ZeroDuration());
    if (!status.ok()) return;
    Unwatch();
    child_.reset();
    Finish(status->ok() ? "" : status->ToString());
  }
  void Unwatch() {
    if (watch_ != 0) loop_->Unwatch(std::exchange(watch_, 0));
  }
  void Leave() {
    Unwatch();
    if (child_) Reap(loop_, *std::exchange(child_, std::nullopt));
  }

  runtime::EventLoop* const loop_;
  const std::vector<std::string> argv_;
  ShimSpec spec_;
  std::optional<runtime::Subprocess> child_;
  runtime::EventLoop::WatchId watch_ = 0;
};

// ---- The probe: all checks of an attempt

}  // namespace

class Liveness::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {
    const msg::ProbeT& probe = options_.probe;
    period_ = absl::Milliseconds(probe.period_ms == 0 ? kPeriodMs : probe.period_ms);
    timeout_ = absl::Milliseconds(probe.timeout_ms == 0 ? kTimeoutMs : probe.timeout_ms);
    most_ = probe.failures == 0 ? kFailures : probe.failures;
    if (probe.heartbeat) BeginHeartbeat();
    const absl::Duration first =
        probe.start_delay_ms == 0 ? period_ : absl::Milliseconds(probe.start_delay_ms);
    LookAfter(std::max(first - options_.age, absl::ZeroDuration()));
  }

 private:
  // Creates the heartbeat file if it is missing. Its present time does not count as a heartbeat: it
  // is that of its creation, or an earlier launcher has already seen it.
  void BeginHeartbeat() {
    const runtime::UniqueFd made(
        open(options_.heartbeat_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    last_ = HeartbeatLook::TimeOf(options_.heartbeat_file).value_or(timespec());
  }

  void LookAfter(absl::Duration delay) {
    next_.Start(options_.loop, delay, [this] { LookNow(); });
  }

  void LookNow() {
    look_ = Make();
    if (look_ == nullptr) return OnLooked("the task has no address of its own");
    limit_.Start(options_.loop, timeout_, [this] { look_->GiveUp(); });
    look_->Start();
  }

  // Returns the next check; null if the probe has no target.
  std::unique_ptr<Look> Make() {
    const msg::ProbeT& probe = options_.probe;
    const Look::Done done = [this](std::string why) { OnLooked(std::move(why)); };
    if (probe.heartbeat) {
      return std::make_unique<HeartbeatLook>(options_.heartbeat_file, &last_, done);
    }
    if (!probe.argv.empty()) {
      return std::make_unique<CommandLook>(options_.loop, probe.argv, options_.spec(), done);
    }
    auto address = ParseProbeAddress(probe);
    if (!address.ok()) return nullptr;
    std::string authority = address->authority;
    if (address->host.empty()) {
      const auto own = ParseHostPort(options_.own_address);
      if (!own) return nullptr;
      address->host = own->host == "localhost" ? "127.0.0.1" : own->host;
      address->port = own->port;
      authority = options_.own_address;
    }
    std::string request;
    if (!probe.http.empty()) {
      request = absl::StrCat("GET ", address->path, " HTTP/1.1\r\nHost: ", authority,
                             "\r\nUser-Agent: trainyard\r\nAccept: */*\r\n"
                             "Connection: close\r\n\r\n");
    }
    return std::make_unique<ConnectionLook>(options_.loop, address->host, address->port,
                                            std::move(request), done);
  }

  void OnLooked(std::string why) {
    limit_.Cancel();
    failures_ = why.empty() ? 0 : failures_ + 1;
    // (look_ is still on the stack, so it is not destroyed here; the next check replaces it.)
    if (failures_ < most_) LookAfter(period_);
    if (options_.on_look) options_.on_look(why);
    if (failures_ < most_ || !options_.on_failed) return;
    options_.on_failed(absl::StrCat("its liveness probe (", WhatItIs(), ") has failed ",
                                    runtime::Counted(failures_, "time"),
                                    failures_ == 1 ? "" : " in a row", ": ", why));
  }

  std::string WhatItIs() const {
    const msg::ProbeT& probe = options_.probe;
    if (probe.heartbeat) return "heartbeat";
    if (!probe.tcp.empty()) return absl::StrCat("tcp ", probe.tcp);
    if (!probe.http.empty()) return probe.http;
    return absl::StrCat("command ", absl::StrJoin(probe.argv, " ").substr(0, 200));
  }

  const Options options_;
  absl::Duration period_, timeout_;
  std::uint32_t most_ = 0, failures_ = 0;
  timespec last_ = {};
  std::unique_ptr<Look> look_;
  runtime::Timer next_, limit_;
};

std::unique_ptr<Liveness> Liveness::Begin(Options options) {
  return std::unique_ptr<Liveness>(new Liveness(std::make_unique<Impl>(std::move(options))));
}

Liveness::Liveness(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Liveness::~Liveness() = default;

}  // namespace launcher
