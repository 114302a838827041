#ifndef RUNTIME_ARCHIVE_TAR_READER_H_
#define RUNTIME_ARCHIVE_TAR_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace runtime {

// Bounds of an archive that is unpacked.
struct TarLimits {
  std::uint64_t bytes = std::uint64_t{1} << 30;  // Contents of all files together.
  std::size_t entries = 1'000'000;
};

// Unpacks the tar archive (ustar and pax) that begins at the position of `fd` into `directory`,
// which is there. Files are 0644 or 0755, less the umask; owners and times in the archive do not
// count. Blocks. Files that were unpacked before an error stay.
//
// Nothing is written outside of `directory`, whatever the archive says: InvalidArgument for a path
// that is absolute, has "..", or goes through a link; for a link whose target is absolute, leads
// out of `directory`, or has ".." behind a name; for anything but files, directories and symbolic
// links; for a name that is there already. DataLoss: a header is wrong or the archive is cut.
// ResourceExhausted: it is over `limits`. Cancelled: `gives_up` (may be null) has become true.
absl::Status UnpackTar(int fd, const std::string& directory, const TarLimits& limits,
                       const std::atomic<bool>* gives_up = nullptr);

}  // namespace runtime

#endif  // RUNTIME_ARCHIVE_TAR_READER_H_
