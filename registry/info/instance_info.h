#ifndef REGISTRY_INFO_INSTANCE_INFO_H_
#define REGISTRY_INFO_INSTANCE_INFO_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace registry {

// A running tool's description of itself in its info file. Re-imagines the TensorBoardInfo of
// TensorBoard's manager.py; its files and ours are the same. docs/instances.md lists the
// differences.
//
// Strings are raw bytes (a path, an argument). The file contains bytes that are not UTF-8 as Python
// writes them: byte FF as \udcff.
struct InstanceInfo {
  std::string version;
  // The tool's process, and the TCP port on which it listens.
  std::int64_t start_time = 0;  // Seconds since 1970.
  std::int64_t pid = 0;
  std::int64_t port = 0;
  std::string path_prefix;  // May be empty.
  std::string logdir;       // May be empty.
  std::string db;           // Usually empty.
  std::string cache_key;    // Result of CacheKey(); only ever compared.
  // A name, or empty for TensorBoard. Our own, ninth key, which TensorBoard ignores.
  std::string tool = {};

  friend bool operator==(const InstanceInfo&, const InstanceInfo&) = default;
};

// Returns the text of the info file, with a final newline; byte for byte what TensorBoard writes
// (plus one key if `info.tool` is set).
// InvalidArgument unless `info.version` equals `tool_version`, the version of the described tool.
absl::StatusOr<std::string> SerializeInfo(const InstanceInfo& info, std::string_view tool_version);

// Parses such a text, of any version; ignores unknown members. InvalidArgument is "invalid JSON:
// ...", "not a JSON object: ...", "missing keys: ...", or says which key should have which type and
// what was found. A number with a fraction or an exponent is not an integer; neither is one beyond
// 64 bits, nor true (which Python takes for 1).
//
// Quotations in messages are short and printable ASCII, whatever the text contains.
absl::StatusOr<InstanceInfo> ParseInfo(std::string_view json);

// Describes the tool's data for people: "logdir /runs", or "db sqlite:/x" if it has a database.
std::string DataSource(const InstanceInfo& info);

}  // namespace registry

#endif  // REGISTRY_INFO_INSTANCE_INFO_H_
