#ifndef BUS_THREAD_SOCKET_H_
#define BUS_THREAD_SOCKET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/thread/curve.h"
#include "bus/wire/frame.h"

namespace bus {

// Largest message with data (events, answers), and largest request.
inline constexpr std::size_t kMaxMessageBytes = 16 << 20;
inline constexpr std::size_t kMaxRequestBytes = 1 << 20;

// The one ZeroMQ context of a process.
class SocketContext {
 public:
  static absl::StatusOr<std::unique_ptr<SocketContext>> Create();
  ~SocketContext();  // Waits for the linger time of closed sockets; all must be closed.
  SocketContext(const SocketContext&) = delete;
  SocketContext& operator=(const SocketContext&) = delete;
  void* handle() const { return handle_; }

 private:
  explicit SocketContext(void* handle) : handle_(handle) {}
  void* handle_;
};

// A ZeroMQ socket that never blocks, with every option set for what it is used for: socket.cc has
// each value and its reason. Used by one thread (the bus thread).
class Socket {
 public:
  enum class Use {
    kService,     // ROUTER, binds: answers calls.
    kCaller,      // DEALER, connects to one service; tells when the connection breaks.
    kReader,      // The same for one stream whose reader may be slow.
    kPublisher,   // XPUB, connects to the hub.
    kSubscriber,  // SUB, connects to the hub.
    kHubIn,       // XSUB, binds: receives everything from publishers.
    kHubOut,      // XPUB, binds: sends to subscribers, tells of each subscription.
    kGate,        // ROUTER, binds to tcp://: a KeyCheck lets clients in.
  };
  enum class Sent { kYes, kFull, kGone };

  // With `keys` the socket is one end of a gate's connection, which is encrypted and to tcp://:
  // the gate's (kGate), or its client's (kCaller, kReader). Null: all others.
  static absl::StatusOr<std::unique_ptr<Socket>> Open(const SocketContext& context, Use use,
                                                      const CurveKeys* keys = nullptr);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // InvalidArgument for anything but ipc:// (and inproc://, within the process), or with keys for
  // anything but tcp://. Bind: the socket of ipc:// is made 0600; AlreadyExists if another process
  // listens there.
  absl::Status Bind(const std::string& endpoint);
  // Where a socket is bound: tcp://127.0.0.1:40123 after Bind("tcp://127.0.0.1:*").
  std::string BoundTo() const;
  // True if the file of an ipc:// address was removed: a new peer cannot connect any more.
  static bool FileIsGone(const std::string& endpoint);
  absl::Status Connect(const std::string& endpoint);
  void Subscribe(std::string_view prefix);
  void Unsubscribe(std::string_view prefix);

  // Sends a whole message. Unless kYes, `frames` are as they were. kFull: too much is queued for
  // the peer already; kGone: no such peer (kService only).
  Sent Send(std::span<Frame> frames);
  // Receives a whole message, at most kMaxFrames frames of it (the rest is dropped and counted
  // in the vector by one empty frame more). False if no message waits.
  static constexpr std::size_t kMaxFrames = 8;
  bool Receive(std::vector<Frame>& frames);

  // For kCaller and kReader: reads the events of the connection; true once it is broken for good.
  bool ReadConnectionLost();
  // How far a connection to a gate had come when it was lost.
  enum class Reached {
    kNothing,  // Nobody took the connection.
    kPeer,     // The peer closed it before the keys were agreed: another yard's gate, or no gate.
    kRefused,  // The gate does not know the client's key. (Another socket may try again.)
    kGate,     // It was in use.
  };
  Reached reached() const { return reached_; }

  void* handle() const { return handle_; }
  // For those: readable when ReadConnectionLost() has something to read.
  void* monitor() const { return monitor_; }

 private:
  Socket(void* handle, bool is_secure) : handle_(handle), is_secure_(is_secure) {}
  void* handle_;
  void* monitor_ = nullptr;
  const bool is_secure_;
  Reached reached_ = Reached::kNothing;
};

// Is somebody listening at `endpoint` (ipc://PATH)? Unavailable with the reason if not,
// PermissionDenied if it is another user. A stopped process still listens.
absl::Status ProbeListener(const std::string& endpoint);

}  // namespace bus

#endif  // BUS_THREAD_SOCKET_H_
