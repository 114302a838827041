#ifndef RUNTIME_ARCHIVE_TAR_READER_H_
#define RUNTIME_ARCHIVE_TAR_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace runtime {

// Limits for unpacking an archive.
struct TarLimits {
  std::uint64_t bytes = std::uint64_t{1} << 30;  // All files' contents together.
  std::size_t entries = 1'000'000;
};

// Unpacks the tar archive (ustar and pax) that begins at the position of `fd` into the existing
// `directory`. Files get mode 0644 or 0755, less the umask; the archive's owners and times are
// ignored. Blocks. After an error, files that were unpacked before it remain.
//
// Writes nothing outside `directory`, whatever the archive contains. InvalidArgument: a path is
// absolute, contains "..", or goes through a link; a link's target is absolute, leaves `directory`,
// or has ".." after a name; an entry is not a file, directory or symbolic link; or a name exists
// already. DataLoss: a header is malformed or the archive is truncated. ResourceExhausted: a limit
// is exceeded. Cancelled: `gives_up` (may be null) has become true.
absl::Status UnpackTar(int fd, const std::string& directory, const TarLimits& limits,
                       const std::atomic<bool>* gives_up = nullptr);

}  // namespace runtime

#endif  // RUNTIME_ARCHIVE_TAR_READER_H_
