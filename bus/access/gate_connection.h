#ifndef BUS_ACCESS_GATE_CONNECTION_H_
#define BUS_ACCESS_GATE_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/thread/socket.h"

namespace bus {

// A new connection to the gate of an access file.
struct GateConnection {
  std::unique_ptr<Socket> socket;
  std::string address;  // "tcp://HOST:PORT"
  std::string key;      // Name of the client's key.
};
// Reads the file each time, so that one that was replaced counts. Does not wait for the gate.
// `use` is kCaller or kReader. Errors: those of ReadAccessFile().
absl::StatusOr<GateConnection> ConnectToGate(const SocketContext& context, Socket::Use use,
                                             const std::string& access_file);

// Why a connection was lost that had come as far as `reached`: PermissionDenied if the gate does
// not know the key, else Unavailable.
absl::Status WhyGateIsLost(Socket::Reached reached, const std::string& address,
                           const std::string& key);

}  // namespace bus

#endif  // BUS_ACCESS_GATE_CONNECTION_H_
