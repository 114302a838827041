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

// Limits of a message with data (event or answer) and of a request.
inline constexpr std::size_t kMaxMessageBytes = 16 << 20;
inline constexpr std::size_t kMaxRequestBytes = 1 << 20;

// The one ZeroMQ context of a process.
class SocketContext {
 public:
  static absl::StatusOr<std::unique_ptr<SocketContext>> Create();
  ~SocketContext();  // Blocks for the linger time of closed sockets; all must be closed.
  SocketContext(const SocketContext&) = delete;
  SocketContext& operator=(const SocketContext&) = delete;
  void* handle() const { return handle_; }

 private:
  explicit SocketContext(void* handle) : handle_(handle) {}
  void* handle_;
};

// A ZeroMQ socket that never blocks, with options for its use; socket.cc gives each value and its
// reason. Used by one thread (the bus thread).
class Socket {
 public:
  enum class Use {
    kService,     // ROUTER, binds: answers calls.
    kCaller,      // DEALER, connects to one service; detects when the connection breaks.
    kReader,      // The same, for one stream whose reader may be slow.
    kPublisher,   // XPUB, connects to the hub.
    kSubscriber,  // SUB, connects to the hub.
    kHubIn,       // XSUB, binds: receives all events of publishers.
    kHubOut,      // XPUB, binds: sends to subscribers, reports each subscription.
    kGate,        // ROUTER, binds to tcp://; a KeyCheck decides which clients it accepts.
  };
  enum class Sent { kYes, kFull, kGone };

  // Opens a socket. With `keys` it is one end of an encrypted tcp:// connection: a gate's (kGate),
  // or its client's (kCaller, kReader). Null for all other sockets.
  static absl::StatusOr<std::unique_ptr<Socket>> Open(const SocketContext& context, Use use,
                                                      const CurveKeys* keys = nullptr);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Connect and bind only to ipc:// (and inproc://, within the process), with keys only to tcp://;
  // InvalidArgument otherwise. Bind gives an ipc:// socket mode 0600, and returns AlreadyExists if
  // another process listens there.
  absl::Status Bind(const std::string& endpoint);
  // Returns the bound address: tcp://127.0.0.1:40123 after Bind("tcp://127.0.0.1:*").
  std::string BoundTo() const;
  // True if the file of an ipc:// address was removed, so that new peers cannot connect.
  static bool FileIsGone(const std::string& endpoint);
  absl::Status Connect(const std::string& endpoint);
  void Subscribe(std::string_view prefix);
  void Unsubscribe(std::string_view prefix);

  // Sends a whole message. Unless it returns kYes, `frames` are unchanged. kFull: the peer's queue
  // is full; kGone: the peer does not exist (kService only).
  Sent Send(std::span<Frame> frames);
  // Receives a whole message. Drops the frames after the first kMaxFrames; one empty frame at the
  // end of `frames` then stands for them. Returns false if no message is queued.
  static constexpr std::size_t kMaxFrames = 8;
  bool Receive(std::vector<Frame>& frames);

  // For kCaller and kReader: reads the connection's events; returns true once it is broken for
  // good.
  bool ReadConnectionLost();
  // How far a connection to a gate had progressed when it was lost.
  enum class Reached {
    kNothing,  // Nobody accepted the connection.
    kPeer,     // The peer closed it before the keys were agreed: another yard's gate, or no gate.
    kRefused,  // The gate does not know the client's key. (Another socket may try again.)
    kGate,     // The connection was established.
  };
  Reached reached() const { return reached_; }

  void* handle() const { return handle_; }
  // For kCaller and kReader: readable when ReadConnectionLost() has events to read.
  void* monitor() const { return monitor_; }

 private:
  Socket(void* handle, bool is_secure) : handle_(handle), is_secure_(is_secure) {}
  void* handle_;
  void* monitor_ = nullptr;
  const bool is_secure_;
  Reached reached_ = Reached::kNothing;
};

// Checks whether a process listens at `endpoint` (ipc://PATH). Returns Unavailable with the reason
// if not, PermissionDenied if it is another user's process. A stopped process still listens.
absl::Status ProbeListener(const std::string& endpoint);

}  // namespace bus

#endif  // BUS_THREAD_SOCKET_H_
