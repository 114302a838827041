#ifndef LAUNCHER_NODE_FILES_HASHED_FILE_H_
#define LAUNCHER_NODE_FILES_HASHED_FILE_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/statusor.h"

namespace launcher {

// The size and the hash of the part of a file that was read.
struct HashedFile {
  std::uint64_t size = 0;  // Bytes.
  std::string sha256;
};

// Hashes the first `limit` bytes of a file, or all of it if it has fewer, without moving its
// offset. Cancelled if `gives_up` has become true; Unavailable if it cannot be read. Blocks on the
// disk. Thread-safe.
absl::StatusOr<HashedFile> HashFile(
    int fd, const std::atomic<bool>& gives_up,
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_HASHED_FILE_H_
