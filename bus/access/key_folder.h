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

// A key that a gate lets in: a client's, or a node's.
struct AllowedKey {
  std::string name = {};
  std::string public_key = {};
  Role role = Role::kRead;  // A client's.
  // Not empty: the key of the node that is called `name`. It has no role, and is good for the
  // channels of that node alone (node_channels.h). The nonce is the key's own: 32 hexadecimal
  // digits, which the node has to say.
  std::string nonce = {};
  std::int64_t allowed_us = 0;  // When, microseconds since 1970.

  bool is_of_node() const { return !nonce.empty(); }
};

// Stands for the role of a node's key.
inline constexpr std::string_view kNodeRole = "node";

// The gate's keys on disk: STATE/gate/ (0700) has `server.key`, and `allowed/NAME` for each client
// key, all 0600. Each change is one rename or removal, so that a reader finds a key as it was or as
// it is. The gate reads the folder, `yard gate` changes it. Any thread; every method may block for
// the disk, and every error names the path.
class KeyFolder {
 public:
  // Keys that may be allowed at once.
  static constexpr std::size_t kMostKeys = 1000;

  explicit KeyFolder(std::string_view state_directory);

  const std::string& directory() const { return directory_; }
  // The file without which no gate is started.
  std::string ServerKeyPath() const { return directory_ + "/server.key"; }
  std::string AllowedDirectory() const { return directory_ + "/allowed"; }

  // NotFound: none was made.
  absl::StatusOr<CurvePair> ServerKey() const;
  // Makes the server's key unless there is one, and the folder with it. Returns the one that
  // counts.
  absl::StatusOr<CurvePair> MakeServerKey() const;

  // By name. A file that is no key counts for nobody and is named in `bad`, if that is not null.
  absl::StatusOr<std::vector<AllowedKey>> Allowed(std::vector<std::string>* bad = nullptr) const;
  // AlreadyExists: the name, or the key under another name, is allowed already; InvalidArgument:
  // no name, no key, or no name for a node; ResourceExhausted: kMostKeys are allowed.
  absl::Status Allow(const AllowedKey& key) const;
  // The same name and key, with another role. FailedPrecondition: it is a node's.
  absl::Status SetRole(const std::string& name, Role role) const;
  // NotFound names the keys that there are.
  absl::Status Remove(const std::string& name) const;

  // InvalidArgument unless `name` has 1 to 64 of [A-Za-z0-9._-] and begins with a letter or digit.
  static absl::Status CheckName(std::string_view name);
  // InvalidArgument unless a node can have that name, too: it has no capitals and no "_".
  static absl::Status CheckNodeName(std::string_view name);

 private:
  absl::Status Write(const AllowedKey& key) const;
  std::string PathOf(const std::string& name) const { return AllowedDirectory() + "/" + name; }
  absl::StatusOr<AllowedKey> Find(const std::string& name) const;

  std::string directory_;
};

}  // namespace bus

#endif  // BUS_ACCESS_KEY_FOLDER_H_
