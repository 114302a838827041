#include "bus/access/gate_connection.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/access/access_file.h"

namespace bus {

absl::StatusOr<GateConnection> ConnectToGate(const SocketContext& context, Socket::Use use,
                                             const std::string& access_file) {
  auto access = ReadAccessFile(access_file);
  if (!access.ok()) return access.status();
  auto socket = Socket::Open(context, use, &access->keys);
  if (!socket.ok()) return socket.status();
  if (absl::Status connected = (*socket)->Connect(access->address); !connected.ok()) {
    return connected;
  }
  return GateConnection{*std::move(socket), std::move(access->address), std::move(access->name)};
}

absl::Status WhyGateIsLost(Socket::Reached reached, const std::string& address,
                           const std::string& key) {
  switch (reached) {
    case Socket::Reached::kNothing:
      return absl::UnavailableError(absl::StrCat(
          "no gate answers at ", address, "; next: ask the yard's owner for `yard gate list`"));
    case Socket::Reached::kPeer:
      return absl::UnavailableError(absl::StrCat(
          "the gate at ", address, " closed the connection before the keys were agreed: it is not ",
          "the gate that the access file was made for, or too many connect to it at once"));
    case Socket::Reached::kRefused:
      return absl::PermissionDeniedError(
          absl::StrCat("the gate at ", address, " does not let in the key ", key,
                       ": it was removed, or is not allowed yet; next: ask the yard's owner for "
                       "`yard gate list`"));
    case Socket::Reached::kGate:
      break;
  }
  return absl::UnavailableError(absl::StrCat("the connection to the gate at ", address, " broke"));
}

}  // namespace bus
