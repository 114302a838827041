#ifndef REGISTRY_INFO_INSTANCE_INFO_H_
#define REGISTRY_INFO_INSTANCE_INFO_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace registry {

// The description that a running tool gives of itself in its info file. Re-imagines the
// TensorBoardInfo of TensorBoard's manager.py, whose files and ours are the same; docs/instances.md
// has what differs.
//
// Strings are bytes as the system has them (a path, an argument). Bytes in them that are not UTF-8
// go into the file as Python writes them: byte FF as \udcff.
struct InstanceInfo {
  std::string version;
  std::int64_t start_time = 0;  // Seconds since 1970.
  std::int64_t pid = 0;
  std::int64_t port = 0;
  std::string path_prefix;  // May be empty.
  std::string logdir;       // May be empty.
  std::string db;           // Usually empty.
  std::string cache_key;    // Result of CacheKey(); only ever compared.
  // A name, or empty for TensorBoard. A ninth key of ours, which TensorBoard passes over.
  std::string tool = {};

  friend bool operator==(const InstanceInfo&, const InstanceInfo&) = default;
};

// The text of the info file, with a new line at its end; byte for byte what TensorBoard writes
// (with one key more if `info.tool` is set).
// InvalidArgument unless `info.version` is `tool_version`, the version of the tool that is
// described.
absl::StatusOr<std::string> SerializeInfo(const InstanceInfo& info, std::string_view tool_version);

// Reads such a text, of any version; members that it does not know are ignored. InvalidArgument
// "invalid JSON: ...", "not a JSON object: ...", "missing keys: ...", or which key is expected
// to have which type and what was found. A number with a fraction or an exponent is not an
// integer; neither is one beyond 64 bits, nor true (for Python it is 1).
//
// All that a message quotes is short and printable ASCII, whatever the text holds.
absl::StatusOr<InstanceInfo> ParseInfo(std::string_view json);

// Where its data is, for people: "logdir /runs", or "db sqlite:/x" if it has one.
std::string DataSource(const InstanceInfo& info);

}  // namespace registry

#endif  // REGISTRY_INFO_INSTANCE_INFO_H_
