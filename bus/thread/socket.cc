#include "bus/thread/socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <zmq.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/thread/connection_limit.h"
#include "bus/thread/tcp_door.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/string_view.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace bus {
namespace {

// Tells the thread sanitizer that sending a message happens before receiving it; ZeroMQ is not
// instrumented.
#ifdef __SANITIZE_THREAD__
char any_message;
void BeforeSend() { __tsan_release(&any_message); }
void AfterReceive() { __tsan_acquire(&any_message); }
#else
void BeforeSend() {}
void AfterReceive() {}
#endif

constexpr std::string_view kIpc = "ipc://";

// ZMQ_ZERO_COPY_RECV, whose macro Debian's headers hide (a "draft"); the option itself works.
constexpr int kZeroCopyReceive = 10;
// ZMQ_IPC_FILTER_UID
constexpr int kAcceptedUid = 59;
// ZMQ_ZAP_ENFORCE_DOMAIN: without a KeyCheck a gate accepts nobody; by default it would accept
// everybody.
constexpr int kOnlyWithKeyCheck = 93;
constexpr char kZapDomain[] = "yard";

// Encryption adds 41 bytes to a frame; this limit leaves ample room.
constexpr std::size_t kCurveBytes = 1024;

// Size of an event of a connection: the first of the two frames in which ZeroMQ reports it.
constexpr std::size_t kEventBytes = 6;

// A subscription command for the longest topic (bus/wire/topic.h): the command's name, then the
// prefix.
constexpr int kMaxSubscriptionBytes = 1 + 9 + 200;

struct Option {
  int name;
  int value;
};

zmq_msg_t* Message(const Frame& frame) { return static_cast<zmq_msg_t*>(frame.message()); }

absl::Status LastError(std::string_view doing, std::string_view what) {
  return absl::UnavailableError(
      absl::StrCat(runtime::Absl(doing), " ", runtime::Absl(what), ": ", zmq_strerror(errno)));
}

// Options that all sockets share.
std::vector<Option> CommonOptions() {
  return {
      // A peer that connects and stays silent is soon disconnected; the default is 30 s.
      {ZMQ_HANDSHAKE_IVL, 2000},
      // A burst of programs that start together must not be refused; the default is 100.
      {ZMQ_BACKLOG, 1024},
  };
}

int TypeOf(Socket::Use use) {
  switch (use) {
    case Socket::Use::kService:
    case Socket::Use::kGate:
      return ZMQ_ROUTER;
    case Socket::Use::kCaller:
    case Socket::Use::kReader:
      return ZMQ_DEALER;
    case Socket::Use::kPublisher:
    case Socket::Use::kHubOut:
      return ZMQ_XPUB;
    case Socket::Use::kSubscriber:
      return ZMQ_SUB;
    case Socket::Use::kHubIn:
      return ZMQ_XSUB;
  }
  return -1;
}

// MAXMSGSIZE: a peer's 8-byte length field must not decide how much memory we allocate; a peer that
// sends more is disconnected.
std::vector<Option> OptionsOf(Socket::Use use) {
  switch (use) {
    case Socket::Use::kService:
      return {
          {ZMQ_MAXMSGSIZE, kMaxRequestBytes},
          // An answer to a disconnected caller must fail, not be dropped silently.
          {ZMQ_ROUTER_MANDATORY, 1},
          // Short on purpose: messages for a slow reader wait in our own queue, which is bounded in
          // bytes.
          {ZMQ_SNDHWM, 128},
          {ZMQ_RCVHWM, 1000},
          // Lets the last answers out before a stop; bounds the duration of the stop.
          {ZMQ_LINGER, 200},
      };
    case Socket::Use::kGate: {
      auto options = OptionsOf(Socket::Use::kService);
      options.push_back({ZMQ_MAXMSGSIZE, kMaxRequestBytes + kCurveBytes});
      // Messages for a slow reader wait at the services.
      options.push_back({ZMQ_SNDHWM, 64});
      return options;
    }
    case Socket::Use::kReader: {
      auto options = OptionsOf(Socket::Use::kCaller);
      // Messages that the reader has not taken wait at the service.
      options.push_back({ZMQ_RCVHWM, 8});
      return options;
    }
    case Socket::Use::kCaller:
      return {
          {ZMQ_MAXMSGSIZE, kMaxMessageBytes},
          // Above the limit of open calls, so that a send always finds room.
          {ZMQ_SNDHWM, 4096},
          {ZMQ_RCVHWM, 1000},
          // A disconnected caller's requests need not be delivered.
          {ZMQ_LINGER, 0},
          // Queues requests in the socket during the handshake; the socket is closed with its queue
          // when the connection breaks, so that nothing is delivered twice or late.
          {ZMQ_IMMEDIATE, 0},
          // Never reconnects by itself (a week): the Client looks up the address again. Not -1,
          // which drops received but unread messages.
          {ZMQ_RECONNECT_IVL, 7 * 24 * 3600 * 1000},
      };
    case Socket::Use::kPublisher:
      return {
          {ZMQ_MAXMSGSIZE, kMaxRequestBytes},
          {ZMQ_SNDHWM, 10000},
          // A full queue is reported, and the Publisher holds its events.
          {ZMQ_XPUB_NODROP, 1},
          // Sends the last events of an exiting process.
          {ZMQ_LINGER, 500},
          // Reports the subscription of every hub, so that a restarted one is noticed.
          {ZMQ_XPUB_VERBOSE, 1},
          {ZMQ_RECONNECT_IVL, 20},
          {ZMQ_RECONNECT_IVL_MAX, 200},
      };
    case Socket::Use::kSubscriber:
      return {
          {ZMQ_MAXMSGSIZE, kMaxMessageBytes},
          {ZMQ_RCVHWM, 10000},
          {ZMQ_LINGER, 0},
          {ZMQ_RECONNECT_IVL, 20},
          {ZMQ_RECONNECT_IVL_MAX, 200},
      };
    case Socket::Use::kHubIn:
      return {
          {ZMQ_MAXMSGSIZE, kMaxMessageBytes},
          {ZMQ_RCVHWM, 10000},
          {ZMQ_LINGER, 0},
      };
    case Socket::Use::kHubOut:
      return {
          // Receives subscriptions only. Each byte of a prefix can cost a node in ZeroMQ's prefix
          // tree.
          {ZMQ_MAXMSGSIZE, kMaxSubscriptionBytes},
          // Queue of each subscriber: a stalled subscriber loses its own messages and delays nobody
          // (XPUB_NODROP would block all of them).
          {ZMQ_SNDHWM, 10000},
          {ZMQ_XPUB_NODROP, 0},
          {ZMQ_LINGER, 0},
          // Reports every subscription and its end, so that they can be counted and greeted.
          {ZMQ_XPUB_VERBOSER, 1},
      };
  }
  return {};
}

// Both ends of a gate's connection send heartbeats, to detect a host that disappeared silently.
std::vector<Option> OptionsOfGates(Socket::Use use) {
  std::vector<Option> options = {
      {ZMQ_HEARTBEAT_IVL, 5000}, {ZMQ_HEARTBEAT_TIMEOUT, 15000}, {ZMQ_TCP_KEEPALIVE, 1}};
  if (use == Socket::Use::kGate) return options;
  options.push_back({ZMQ_CONNECT_TIMEOUT, 5000});
  options.push_back({ZMQ_MAXMSGSIZE, kMaxMessageBytes + kCurveBytes});
  return options;
}

bool SetBytes(void* socket, int name, std::string_view bytes) {
  return zmq_setsockopt(socket, name, bytes.data(), bytes.size()) == 0;
}

// Makes a socket accept peers of our own uid only, because a hub cannot answer with an error.
// (ZeroMQ compares the peer's uid from the kernel; without the option it accepts everybody.)
bool LetInOnlyUs(void* socket) {
  const uid_t own = geteuid();
  return zmq_setsockopt(socket, kAcceptedUid, &own, sizeof(own)) == 0;
}

bool SetOption(void* socket, const Option& option) {
  if (option.name == ZMQ_MAXMSGSIZE) {
    const std::int64_t wide = option.value;
    return zmq_setsockopt(socket, option.name, &wide, sizeof(wide)) == 0;
  }
  return zmq_setsockopt(socket, option.name, &option.value, sizeof(option.value)) == 0;
}

bool SetKeys(void* socket, const CurveKeys& keys) {
  if (!SetBytes(socket, ZMQ_CURVE_SECRETKEY, CurveKeyBytes(keys.own.secret_key))) return false;
  if (keys.server_key.empty()) {
    return SetOption(socket, {ZMQ_CURVE_SERVER, 1}) &&
           SetBytes(socket, ZMQ_ZAP_DOMAIN, kZapDomain) &&
           SetOption(socket, {kOnlyWithKeyCheck, 1});
  }
  return SetBytes(socket, ZMQ_CURVE_PUBLICKEY, CurveKeyBytes(keys.own.public_key)) &&
         SetBytes(socket, ZMQ_CURVE_SERVERKEY, CurveKeyBytes(keys.server_key));
}

// Each of these events means that a client's connection has ended.
constexpr int kEnd = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED |
                     ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

// Opens a socket that receives these events of a socket's connections; null on failure.
void* OpenMonitor(void* context, void* socket, int events) {
  static std::atomic<std::uint64_t> counter{0};
  const std::string endpoint = absl::StrCat("inproc://bus-monitor-", ++counter);
  if (zmq_socket_monitor(socket, endpoint.c_str(), events) != 0) return nullptr;
  void* const monitor = zmq_socket(context, ZMQ_PAIR);
  if (monitor == nullptr) return nullptr;
  SetOption(monitor, {ZMQ_LINGER, 0});
  if (zmq_connect(monitor, endpoint.c_str()) == 0) return monitor;
  zmq_close(monitor);
  return nullptr;
}

// Returns the next event of a connection; 0 if none is queued.
int ReadEvent(void* monitor) {
  Frame event, address;
  if (zmq_msg_recv(Message(event), monitor, ZMQ_DONTWAIT) < 0) return 0;
  if (zmq_msg_more(Message(event)) != 0) {
    (void)zmq_msg_recv(Message(address), monitor, ZMQ_DONTWAIT);
  }
  if (event.size() != kEventBytes) return 0;
  std::uint16_t number = 0;
  std::memcpy(&number, event.bytes().data(), sizeof(number));
  return number;
}

absl::Status CheckEndpoint(const std::string& endpoint, bool is_secure) {
  if (is_secure) {
    if (absl::StartsWith(endpoint, "tcp://")) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("address ", endpoint, ": a gate is at tcp://HOST:PORT"));
  }
  if (absl::StartsWith(endpoint, "ipc://") || absl::StartsWith(endpoint, "inproc://")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("address ", endpoint,
                   ": only ipc:// is served, because a network address needs keys: the yard's gate "
                   "has them (yard gate)"));
}

struct Listener {
  int error = 0;  // errno of the attempt to connect.
  ucred process{};
};

// Finds the process that listens at `path`; null if the path is too long for a socket.
std::optional<Listener> FindListener(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  Listener listener;
  const runtime::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid() ||
      connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    listener.error = errno;
    return listener;
  }
  socklen_t size = sizeof(listener.process);
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &listener.process, &size) != 0) {
    listener.error = errno;
  }
  return listener;
}

// Refuses a path at which another process listens, since ZeroMQ would take it over. (This process
// may still be closing a socket there.)
absl::Status CheckFree(const std::string& endpoint, const std::string& path) {
  const auto listener = FindListener(path);
  if (!listener.has_value()) return absl::OkStatus();  // Bind will report it.
  if (listener->error != 0 ? listener->error != EAGAIN : listener->process.pid == getpid()) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat("binding ", endpoint, ": process ", listener->process.pid, " listens there"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SocketContext>> SocketContext::Create() {
  void* const handle = zmq_ctx_new();
  if (handle == nullptr) return LastError("creating", "a ZeroMQ context");
  // Makes received frames 8-aligned, as FlatBuffers requires; receive.h copies any that is not.
  zmq_ctx_set(handle, kZeroCopyReceive, 0);
  // File descriptors are the real limit, not this number.
  zmq_ctx_set(handle, ZMQ_MAX_SOCKETS, 16384);
  zmq_ctx_set(handle, ZMQ_IO_THREADS, 1);
  return std::unique_ptr<SocketContext>(new SocketContext(handle));
}

SocketContext::~SocketContext() {
  while (zmq_ctx_term(handle_) != 0 && errno == EINTR) {
  }
}

absl::StatusOr<std::unique_ptr<Socket>> Socket::Open(const SocketContext& context, Use use,
                                                     const CurveKeys* keys) {
  void* const handle = zmq_socket(context.handle(), TypeOf(use));
  if (handle == nullptr) return LastError("opening", "a socket");
  std::unique_ptr<Socket> socket(new Socket(handle, keys != nullptr));
  const std::vector<Option> of_gates =
      keys == nullptr ? std::vector<Option>() : OptionsOfGates(use);
  for (const auto& options : {CommonOptions(), OptionsOf(use), of_gates}) {
    for (const Option& option : options) {
      if (!SetOption(handle, option)) return LastError("setting", "a socket option");
    }
  }
  if ((use == Use::kHubIn || use == Use::kHubOut) && !LetInOnlyUs(handle)) {
    return LastError("setting", "who may connect");
  }
  if (keys != nullptr && !SetKeys(handle, *keys)) return LastError("setting", "the keys");
  if (use == Use::kCaller || use == Use::kReader) {
    const int begin = keys == nullptr ? 0 : ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    socket->monitor_ = OpenMonitor(context.handle(), handle, kEnd | begin);
    if (socket->monitor_ == nullptr) return LastError("watching", "a connection");
  }
  return socket;
}

Socket::~Socket() {
  if (monitor_ != nullptr) {
    zmq_socket_monitor(handle_, nullptr, 0);
    zmq_close(monitor_);
  }
  zmq_close(handle_);
}

absl::Status Socket::Bind(const std::string& endpoint) {
  if (absl::Status checked = CheckEndpoint(endpoint, is_secure_); !checked.ok()) return checked;
  const bool is_file = absl::StartsWith(endpoint, runtime::Absl(kIpc));
  const std::string path = is_file ? endpoint.substr(kIpc.size()) : "";
  if (absl::Status free = is_file ? CheckFree(endpoint, path) : absl::OkStatus(); !free.ok()) {
    return free;
  }
  if (is_file) LimitConnectionsTo(path);
  if (is_secure_ && absl::StrContains(endpoint, "[")) SetOption(handle_, {ZMQ_IPV6, 1});
  if (zmq_bind(handle_, endpoint.c_str()) != 0) return LastError("binding", endpoint);
  if (is_secure_) TcpDoor::OfThisProcess().Guard(BoundTo());
  // Accessible to this user only, whatever the umask and the directory's permissions are.
  if (is_file && chmod(path.c_str(), 0600) != 0) {
    return absl::UnavailableError(
        absl::StrCat("closing ", path, " to others: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

std::string Socket::BoundTo() const {
  char endpoint[512] = "";
  std::size_t size = sizeof(endpoint);
  if (zmq_getsockopt(handle_, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0) return "";
  return endpoint;
}

bool Socket::FileIsGone(const std::string& endpoint) {
  struct stat about {};
  return absl::StartsWith(endpoint, runtime::Absl(kIpc)) &&
         lstat(endpoint.substr(kIpc.size()).c_str(), &about) != 0 && errno == ENOENT;
}

absl::Status Socket::Connect(const std::string& endpoint) {
  if (absl::Status checked = CheckEndpoint(endpoint, is_secure_); !checked.ok()) return checked;
  if (is_secure_ && absl::StrContains(endpoint, "[")) SetOption(handle_, {ZMQ_IPV6, 1});
  if (zmq_connect(handle_, endpoint.c_str()) != 0) return LastError("connecting to", endpoint);
  return absl::OkStatus();
}

void Socket::Subscribe(std::string_view prefix) {
  zmq_setsockopt(handle_, ZMQ_SUBSCRIBE, prefix.data(), prefix.size());
}

void Socket::Unsubscribe(std::string_view prefix) {
  zmq_setsockopt(handle_, ZMQ_UNSUBSCRIBE, prefix.data(), prefix.size());
}

Socket::Sent Socket::Send(std::span<Frame> frames) {
  BeforeSend();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const int more = i + 1 < frames.size() ? ZMQ_SNDMORE : 0;
    while (zmq_msg_send(Message(frames[i]), handle_, ZMQ_DONTWAIT | more) < 0) {
      if (errno == EINTR) continue;
      // Only the first frame can fail: ZeroMQ queues a message as a whole.
      return errno == EAGAIN ? Sent::kFull : Sent::kGone;
    }
  }
  return Sent::kYes;
}

bool Socket::Receive(std::vector<Frame>& frames) {
  frames.clear();
  bool more = true;
  while (more) {
    // Frames over the limit are all received into one extra frame, which stays empty.
    if (frames.size() <= kMaxFrames) frames.emplace_back();
    Frame& frame = frames.back();
    while (zmq_msg_recv(Message(frame), handle_, ZMQ_DONTWAIT) < 0) {
      if (errno != EINTR) return false;
    }
    more = zmq_msg_more(Message(frame)) != 0;
    if (frames.size() > kMaxFrames) frame = Frame();
  }
  AfterReceive();
  return true;
}

bool Socket::ReadConnectionLost() {
  bool lost = false;
  while (const int event = ReadEvent(monitor_)) {
    if (event == ZMQ_EVENT_CONNECTED) {
      reached_ = Reached::kPeer;
    } else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      reached_ = Reached::kGate;
    } else {
      if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) reached_ = Reached::kRefused;
      lost = true;
    }
  }
  return lost;
}

absl::Status ProbeListener(const std::string& endpoint) {
  if (!absl::StartsWith(endpoint, runtime::Absl(kIpc))) return absl::OkStatus();
  const std::string path = endpoint.substr(kIpc.size());
  const auto listener = FindListener(path);
  if (!listener.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("socket path ", path, " is over 107 bytes"));
  }
  const int error = listener->error;
  // The backlog is full: a process listens, but accepts slowly.
  if (error == EAGAIN) return absl::OkStatus();
  if (error != 0) {
    const char* const why = error == ENOENT         ? "no such socket"
                            : error == ECONNREFUSED ? "nobody listens there"
                                                    : std::strerror(error);
    return absl::UnavailableError(absl::StrCat("not reachable at ", endpoint, ": ", why));
  }
  if (listener->process.uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(endpoint, " belongs to another user (uid ", listener->process.uid, ")"));
  }
  return absl::OkStatus();
}

}  // namespace bus
