#ifndef RUNTIME_ARCHIVE_TAR_WRITER_H_
#define RUNTIME_ARCHIVE_TAR_WRITER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// Writes a tar archive (POSIX.1-2001: ustar, with pax records for long names). The bytes depend
// only on the names, kinds and contents of the entries: owners are 0, all times are the same, and a
// file's mode is 0644 or 0755. Paths are relative. Not thread safe.
class TarWriter {
 public:
  // Receives the next bytes of the archive; its error ends the call that wrote them.
  using Sink = std::function<absl::Status(std::string_view bytes)>;
  explicit TarWriter(Sink sink) : sink_(std::move(sink)) {}

  absl::Status AddDirectory(const std::string& path);
  absl::Status AddLink(const std::string& path, const std::string& target);
  // Reads `size` bytes from `fd`. FailedPrecondition if the file is shorter.
  absl::Status AddFile(const std::string& path, int fd, std::uint64_t size, bool is_executable);
  // Ends the archive. Call it once, and last.
  absl::Status Finish();

 private:
  absl::Status AddHeader(const std::string& path, char type, std::uint64_t size, unsigned mode,
                         const std::string& target);
  absl::Status Pad(std::uint64_t size);

  const Sink sink_;
};

}  // namespace runtime

#endif  // RUNTIME_ARCHIVE_TAR_WRITER_H_
