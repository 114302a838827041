#ifndef BUS_ACCESS_ACCESS_FILE_H_
#define BUS_ACCESS_ACCESS_FILE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/thread/curve.h"

namespace bus {

// A file that the yard's owner makes (`yard gate allow`) and hands over: a client needs it to use
// the yard through its gate. It holds a secret key.
struct AccessFile {
  std::string address = {};  // The gate's: "tcp://HOST:PORT".
  std::string name = {};     // The key's, as the gate knows it.
  std::string role = {};     // When the file was made; kNodeRole: it is a node's.
  std::string nonce = {};    // A node's (AllowedKey).
  CurveKeys keys = {};
};

// NotFound; PermissionDenied: others than its owner may read it; InvalidArgument: it is no such
// file. Each error names the path and the next step.
absl::StatusOr<AccessFile> ReadAccessFile(const std::string& path);
// Makes a new file, 0600. AlreadyExists if there is one.
absl::Status WriteAccessFile(const std::string& path, const AccessFile& access);

// A yard that is used through a gate has the registry's address "gate:PATH", where PATH is the
// access file. Nothing for every other address.
std::optional<std::string> PathOfAccessFile(std::string_view registry_address);

// InvalidArgument unless `address` is "tcp://HOST:PORT".
absl::Status CheckGateAddress(std::string_view address);

}  // namespace bus

#endif  // BUS_ACCESS_ACCESS_FILE_H_
