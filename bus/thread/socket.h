#ifndef BUS_THREAD_SOCKET_H_
#define BUS_THREAD_SOCKET_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/wire/frame.h"

namespace bus {

// Largest message with data (events, answers), and largest request.
inline constexpr std::size_t kMaxMessageBytes = 16 << 20;
inline constexpr std::size_t kMaxRequestBytes = 1 << 20;

// The one ZeroMQ context of a process.
class Context {
 public:
  static absl::StatusOr<std::unique_ptr<Context>> Create();
  ~Context();  // Waits for the linger time of closed sockets; all must be closed.
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  void* handle() const { return handle_; }

 private:
  explicit Context(void* handle) : handle_(handle) {}
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
  };
  enum class Sent { kYes, kFull, kGone };

  static absl::StatusOr<std::unique_ptr<Socket>> Open(const Context& context, Use use);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // InvalidArgument for anything but ipc:// (and inproc://, within the process). Bind: the socket
  // of ipc:// is made 0600; AlreadyExists if another process listens there.
  absl::Status Bind(const std::string& endpoint);
  // True if the file of an ipc:// address was removed: a new peer cannot connect any more.
  static bool FileIsGone(const std::string& endpoint);
  absl::Status Connect(const std::string& endpoint);
  void Subscribe(std::string_view prefix);

  // Sends a whole message. Unless kYes, `frames` are as they were. kFull: too much is queued for
  // the peer already; kGone: no such peer (kService only).
  Sent Send(std::span<Frame> frames);
  // Receives a whole message, at most kMaxFrames frames of it (the rest is dropped and counted
  // in the vector by one empty frame more). False if no message waits.
  static constexpr std::size_t kMaxFrames = 8;
  bool Receive(std::vector<Frame>& frames);

  // For kCaller and kReader: reads the events of the connection; true once it is broken for good.
  bool ReadConnectionLost();

  void* handle() const { return handle_; }
  // For those: readable when ReadConnectionLost() has something to read.
  void* monitor() const { return monitor_; }

 private:
  Socket(void* handle, void* monitor) : handle_(handle), monitor_(monitor) {}
  void* handle_;
  void* monitor_;
};

// Is somebody listening at `endpoint` (ipc://PATH)? Unavailable with the reason if not,
// PermissionDenied if it is another user. A stopped process still listens.
absl::Status ProbeListener(const std::string& endpoint);

}  // namespace bus

#endif  // BUS_THREAD_SOCKET_H_
