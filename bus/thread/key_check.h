#ifndef BUS_THREAD_KEY_CHECK_H_
#define BUS_THREAD_KEY_CHECK_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bus/thread/socket.h"

namespace bus {

// Decides which client keys the gates (Socket::Use::kGate) of a context accept: ZeroMQ asks it once
// for each connection, by its protocol ZAP. Runs a thread of its own, so that calls and checks
// never wait for each other. Start it before a gate binds, since a gate without it accepts nobody;
// destroy it after the gates.
class KeyCheck {
 public:
  // `is_allowed` runs on the thread of the check and must not block. `key` is in the format of
  // curve.h, `address` is the peer's IP address.
  using IsAllowed = std::function<bool(const std::string& key, const std::string& address)>;
  // Returns AlreadyExists if the context has a KeyCheck.
  static absl::StatusOr<std::unique_ptr<KeyCheck>> Start(const SocketContext& context,
                                                         IsAllowed is_allowed);
  virtual ~KeyCheck() = default;
};

}  // namespace bus

#endif  // BUS_THREAD_KEY_CHECK_H_
