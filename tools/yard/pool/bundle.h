#ifndef TOOLS_YARD_POOL_BUNDLE_H_
#define TOOLS_YARD_POOL_BUNDLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// The files that a host needs to run yard-node: the node and the shim, the shared libraries of the
// node and their loader, all as they are on this machine. So nothing of the host is needed but its
// kernel. The node runs as `ld.so --library-path lib yard-node --library_path=lib`.
struct Bundle {
  struct File {
    std::string name;  // Below the bundle's directory: "yard-node", "lib/libglog.so.0".
    std::string content;
  };
  std::vector<File> files;
  // SHA-256 of all names and contents.
  std::string digest;
};

inline constexpr char kBundleLoader[] = "ld.so";
inline constexpr std::size_t kMaxBundleBytes = 1 << 30;  // Programs with symbols are large.

// Reads all of them. FailedPrecondition: a library of the node is missing here.
absl::StatusOr<Bundle> ReadBundle(const std::string& node_program, const std::string& shim_program);

// Path of the loader that an ELF program of 64 bits names; NotFound if it is linked statically.
absl::StatusOr<std::string> LoaderOf(std::string_view program_bytes);

// A library of a program.
struct Library {
  std::string name, path;
};
// The output of `ld.so --list PROGRAM`, without the loader itself and what the kernel brings.
absl::StatusOr<std::vector<Library>> ReadLibraryList(std::string_view output);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_BUNDLE_H_
