#include "bus/thread/key_check.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "absl/strings/str_cat.h"
#include "bus/thread/curve.h"
#include "bus/wire/frame.h"
#include "runtime/thread.h"

namespace bus {
namespace {

constexpr char kZap[] = "inproc://zeromq.zap.01";
constexpr int kLookAgainMs = 100;  // How often the thread checks whether it must end.
// A request of ZAP has seven frames: version, request id, domain, address, identity, mechanism, and
// the client's key.
constexpr std::size_t kFrames = 7;
constexpr std::size_t kKeyBytes = 32;

zmq_msg_t* Message(const Frame& frame) { return static_cast<zmq_msg_t*>(frame.message()); }

class ZapThread : public KeyCheck {
 public:
  ZapThread(void* socket, IsAllowed is_allowed)
      : socket_(socket), is_allowed_(std::move(is_allowed)) {
    thread_ = std::make_unique<runtime::Thread>("gate-keys", [this] { Loop(); });
  }
  ~ZapThread() override {
    stop_ = true;
    thread_->Join();
    zmq_close(socket_);
  }

 private:
  void Loop() {
    std::vector<Frame> request;
    while (!stop_) {
      if (Receive(&request)) Answer(request);
    }
  }

  // Receives a request. Returns false after kLookAgainMs without one.
  bool Receive(std::vector<Frame>* request) {
    request->clear();
    bool more = true;
    while (more) {
      Frame& frame = request->emplace_back();
      if (zmq_msg_recv(Message(frame), socket_, 0) < 0) return false;
      more = zmq_msg_more(Message(frame)) != 0;
    }
    return true;
  }

  void Answer(const std::vector<Frame>& request) {
    const bool complete =
        request.size() == kFrames && request[5].text() == "CURVE" && request[6].size() == kKeyBytes;
    const std::string key = complete ? CurveKeyText(request[6].text()) : "";
    const bool allowed = complete && is_allowed_(key, std::string(request[3].text()));
    const std::string_view id = request.size() > 1 ? request[1].text() : "";
    // ZeroMQ attaches the key as "User-Id" to each message of the connection.
    const std::string_view user = allowed ? std::string_view(key) : std::string_view();
    const std::array<std::string_view, 6> reply = {
        "1.0", id, allowed ? "200" : "400", allowed ? "OK" : "no such key", user, ""};
    for (std::size_t i = 0; i < reply.size(); ++i) {
      const int more = i + 1 < reply.size() ? ZMQ_SNDMORE : 0;
      (void)zmq_send(socket_, reply[i].data(), reply[i].size(), more);
    }
  }

  void* const socket_;  // Used by the check's thread while it runs.
  const IsAllowed is_allowed_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<runtime::Thread> thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KeyCheck>> KeyCheck::Start(const SocketContext& context,
                                                          IsAllowed is_allowed) {
  void* const socket = zmq_socket(context.handle(), ZMQ_REP);
  if (socket == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("opening the socket that checks keys: ", zmq_strerror(zmq_errno())));
  }
  const int linger = 0;
  zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
  zmq_setsockopt(socket, ZMQ_RCVTIMEO, &kLookAgainMs, sizeof kLookAgainMs);
  if (zmq_bind(socket, kZap) != 0) {
    const int error = zmq_errno();
    zmq_close(socket);
    const std::string why = absl::StrCat("binding ", kZap, ": ", zmq_strerror(error));
    if (error == EADDRINUSE) return absl::AlreadyExistsError(why);
    return absl::UnavailableError(why);
  }
  return std::make_unique<ZapThread>(socket, std::move(is_allowed));
}

}  // namespace bus
