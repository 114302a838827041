#ifndef BUS_THREAD_KEY_CHECK_H_
#define BUS_THREAD_KEY_CHECK_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bus/thread/socket.h"

namespace bus {

// Decides which client keys the gates (Socket::Use::kGate) of a context let in: ZeroMQ asks it once
// for each connection, by its protocol ZAP. It has a thread of its own, so that neither the calls
// wait for it nor it for them. Start it before a gate binds: a gate without it lets nobody in.
// Destroy it after the gates.
class KeyCheck {
 public:
  // `is_allowed` runs on the thread of the check and must not block: `key` as in curve.h, `address`
  // is the IP address of the peer.
  using IsAllowed = std::function<bool(const std::string& key, const std::string& address)>;
  // AlreadyExists: the context has one.
  static absl::StatusOr<std::unique_ptr<KeyCheck>> Start(const SocketContext& context,
                                                         IsAllowed is_allowed);
  virtual ~KeyCheck() = default;
};

}  // namespace bus

#endif  // BUS_THREAD_KEY_CHECK_H_
