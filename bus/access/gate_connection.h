#ifndef BUS_ACCESS_GATE_CONNECTION_H_
#define BUS_ACCESS_GATE_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/thread/socket.h"

namespace bus {

// An open connection to the gate that an access file names.
struct GateConnection {
  std::unique_ptr<Socket> socket;
  std::string address;  // "tcp://HOST:PORT"
  std::string key;      // Name of the client's key.
};
// Opens a connection. Reads the access file each time, so that a replaced file takes effect. Does
// not wait for the gate. `use` is kCaller or kReader. Errors: those of ReadAccessFile().
absl::StatusOr<GateConnection> ConnectToGate(const SocketContext& context, Socket::Use use,
                                             const std::string& access_file);

// Explains why a connection that had progressed to `reached` was lost: PermissionDenied if the gate
// does not know the key, otherwise Unavailable.
absl::Status WhyGateIsLost(Socket::Reached reached, const std::string& address,
                           const std::string& key);

}  // namespace bus

#endif  // BUS_ACCESS_GATE_CONNECTION_H_
