#ifndef DATAMANAGER_TENSORBOARD_LOOPBACK_SOCKETS_H_
#define DATAMANAGER_TENSORBOARD_LOOPBACK_SOCKETS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace datamanager::tensorboard {

// Sockets that listen at one port, in non-blocking mode.
struct LoopbackSockets {
  std::vector<runtime::UniqueFd> sockets;
  int port = 0;
};

// Listens at 127.0.0.1, and at ::1 if the machine has it, for the host "localhost", for which
// TensorBoard tries both; otherwise at `host`, a numeric address. Port 0: any free port.
// InvalidArgument: the host is not an address; AlreadyExists: another process serves at that port;
// Unavailable: any other reason. All errors name the address.
absl::StatusOr<LoopbackSockets> ListenAt(const std::string& host, int port);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_LOOPBACK_SOCKETS_H_
