#ifndef BUS_ACCESS_ACCESS_FILE_H_
#define BUS_ACCESS_ACCESS_FILE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/thread/curve.h"

namespace bus {

// A file that the yard's owner makes (`yard gate allow`) and hands over. A client needs it to use
// the yard through its gate. It contains a secret key.
struct AccessFile {
  std::string address = {};  // The gate's address: "tcp://HOST:PORT".
  std::string name = {};     // Name under which the gate knows the key.
  std::string role = {};     // At the time the file was made; kNodeRole for a node's key.
  std::string nonce = {};    // Set for a node's key (see AllowedKey).
  CurveKeys keys = {};
};

// Errors: NotFound; PermissionDenied if others than its owner may read the file; InvalidArgument if
// it is not an access file. Each error names the path and the next step.
absl::StatusOr<AccessFile> ReadAccessFile(const std::string& path);
// Creates the file with mode 0600. AlreadyExists if the path exists.
absl::Status WriteAccessFile(const std::string& path, const AccessFile& access);

// Returns the path of the access file if the registry's address is "gate:PATH", which means that
// the yard is used through a gate; null for every other address.
std::optional<std::string> PathOfAccessFile(std::string_view registry_address);

// Returns InvalidArgument unless `address` is "tcp://HOST:PORT".
absl::Status CheckGateAddress(std::string_view address);

}  // namespace bus

#endif  // BUS_ACCESS_ACCESS_FILE_H_
