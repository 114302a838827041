#ifndef RUNTIME_ARCHIVE_TAR_WRITER_H_
#define RUNTIME_ARCHIVE_TAR_WRITER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// Writes a tar archive (POSIX.1-2001: ustar, with pax records for long names). It depends on
// nothing but the names, kinds and contents: owners are 0, times are the same for all, and a file
// is 0644 or 0755. Paths are relative. Not thread safe.
class TarWriter {
 public:
  // Takes the next bytes of the archive; an error of it ends the call that wrote.
  using Sink = std::function<absl::Status(std::string_view bytes)>;
  explicit TarWriter(Sink sink) : sink_(std::move(sink)) {}

  absl::Status AddDirectory(const std::string& path);
  absl::Status AddLink(const std::string& path, const std::string& target);
  // Reads `size` bytes of `fd`. FailedPrecondition if it has fewer.
  absl::Status AddFile(const std::string& path, int fd, std::uint64_t size, bool is_executable);
  // Once, and last.
  absl::Status Finish();

 private:
  absl::Status AddHeader(const std::string& path, char type, std::uint64_t size, unsigned mode,
                         const std::string& target);
  absl::Status Pad(std::uint64_t size);

  const Sink sink_;
};

}  // namespace runtime

#endif  // RUNTIME_ARCHIVE_TAR_WRITER_H_
