#ifndef TOOLS_YARD_POOL_BUNDLE_H_
#define TOOLS_YARD_POOL_BUNDLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// The files that a host needs to run yard-node: the node and the shim, the node's shared libraries
// and their loader, as on this machine. So only the host's kernel matters. The node runs as `ld.so
// --library-path lib yard-node --library_path=lib`.
struct Bundle {
  struct File {
    std::string name;  // Relative to the bundle: "yard-node", "lib/libglog.so.0".
    std::string content;
  };
  std::vector<File> files;
  // SHA-256 of all names, sizes and contents.
  std::string digest;
};

inline constexpr char kBundleLoader[] = "ld.so";
inline constexpr std::size_t kMaxBundleBytes = 1 << 30;  // Programs with debug symbols are large.

// Reads all files of a bundle. FailedPrecondition if a library of the node is missing here. Blocks.
absl::StatusOr<Bundle> ReadBundle(const std::string& node_program, const std::string& shim_program);

// Returns the loader's path in a 64-bit ELF program; NotFound if it is statically linked.
absl::StatusOr<std::string> LoaderOf(std::string_view program_bytes);

// A shared library of a program.
struct Library {
  std::string name, path;
};
// Parses the output of `ld.so --list PROGRAM`, without the loader and the kernel's library.
absl::StatusOr<std::vector<Library>> ReadLibraryList(std::string_view output);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_BUNDLE_H_
