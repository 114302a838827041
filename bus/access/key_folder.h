#ifndef BUS_ACCESS_KEY_FOLDER_H_
#define BUS_ACCESS_KEY_FOLDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/method.h"
#include "bus/thread/curve.h"

namespace bus {

// A key that a gate accepts: a client's or a node's.
struct AllowedKey {
  std::string name = {};
  std::string public_key = {};
  Role role = Role::kRead;  // Client keys only.
  // Not empty: the key belongs to the node called `name`. It has no role and permits only the
  // channels of that node (node_channels.h). The nonce identifies the key: 32 hexadecimal digits,
  // which the node must present.
  std::string nonce = {};
  std::int64_t allowed_us = 0;  // When it was allowed, microseconds since 1970.

  bool is_of_node() const { return !nonce.empty(); }
};

// Stands in place of a role for a node's key.
inline constexpr std::string_view kNodeRole = "node";

// The gate's keys on disk: STATE/gate/ (mode 0700) contains `server.key` and `allowed/NAME` for
// each client key, all with mode 0600. Each change is one rename or removal, so that a reader sees
// a key either before or after the change. The gate reads the folder; `yard gate` changes it. Any
// thread; every method may block for the disk, and every error names the path.
class KeyFolder {
 public:
  // Limit of the allowed keys.
  static constexpr std::size_t kMostKeys = 1000;

  explicit KeyFolder(std::string_view state_directory);

  const std::string& directory() const { return directory_; }
  // Path of the server's key, without which the gate does not start.
  std::string ServerKeyPath() const { return directory_ + "/server.key"; }
  std::string AllowedDirectory() const { return directory_ + "/allowed"; }

  // NotFound if no key was made.
  absl::StatusOr<CurvePair> ServerKey() const;
  // Makes the folder and the server's key unless they exist. Returns the key on disk.
  absl::StatusOr<CurvePair> MakeServerKey() const;

  // Returns all allowed keys by name. Skips files that are not valid keys and adds their names to
  // `bad` unless it is null.
  absl::StatusOr<std::vector<AllowedKey>> Allowed(std::vector<std::string>* bad = nullptr) const;
  // Adds a key. Errors: AlreadyExists if the name, or the key under another name, is allowed
  // already; InvalidArgument if the name, the key, or the name for a node is malformed;
  // ResourceExhausted if kMostKeys are allowed.
  absl::Status Allow(const AllowedKey& key) const;
  // Changes the role of a key. FailedPrecondition if the key is a node's.
  absl::Status SetRole(const std::string& name, Role role) const;
  // Removes a key. NotFound names the existing keys.
  absl::Status Remove(const std::string& name) const;

  // Returns InvalidArgument unless `name` has 1 to 64 of [A-Za-z0-9._-] and begins with a letter or
  // digit.
  static absl::Status CheckName(std::string_view name);
  // Returns InvalidArgument unless `name` is also a valid node name: no capitals and no "_".
  static absl::Status CheckNodeName(std::string_view name);

 private:
  absl::Status Write(const AllowedKey& key) const;
  std::string PathOf(const std::string& name) const { return AllowedDirectory() + "/" + name; }
  absl::StatusOr<AllowedKey> Find(const std::string& name) const;

  std::string directory_;
};

}  // namespace bus

#endif  // BUS_ACCESS_KEY_FOLDER_H_
