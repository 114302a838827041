#ifndef DATAMANAGER_READ_FILE_BYTES_H_
#define DATAMANAGER_READ_FILE_BYTES_H_

// Reads bytes of values, which are not kept in memory but read from their files on request.
//
// Each read opens and closes the file, within the limit of open files: a caller that reads a large
// value slowly holds no descriptor. All functions block on the disk; any thread.
//
// Re-imagined: the blobs of TensorBoard's data servers, which are kept in memory and therefore
// sampled; MindInsight also reads them from its files, but without verifying a checksum.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eventlog/open_file_bound.h"

namespace datamanager {

// A range of a file, and the CRC-32C (unmasked) that it had when it was found.
struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
};

// No single value of an event is longer.
inline constexpr std::uint64_t kMaxRangeBytes = std::uint64_t{512} << 20;

// Returns the whole range. DataLoss: the file no longer contains these bytes, or is shorter;
// NotFound: it was removed; Unavailable: it cannot be opened now, retry later; InvalidArgument: the
// range exceeds kMaxRangeBytes. `open_files`: not owned; null: no limit.
absl::StatusOr<std::string> ReadFileRange(const std::string& path, const FileRange& range,
                                          eventlog::OpenFileBound* open_files);

// Reads the range in pieces, for values too large for a message. Reads and verifies all of it once
// before the first piece, so that nobody sees wrong bytes, and then reads it again piece by piece.
// One thread at a time.
class FileRangeReader {
 public:
  static absl::StatusOr<FileRangeReader> Open(std::string path, const FileRange& range,
                                              eventlog::OpenFileBound* open_files);

  // Returns the next bytes, at most `limit` (> 0); empty at the end. DataLoss also if they have
  // changed since Open().
  absl::StatusOr<std::string> Next(std::size_t limit);
  // Offset in the range of the next byte.
  std::uint64_t offset() const { return done_; }

 private:
  FileRangeReader(std::string path, const FileRange& range, eventlog::OpenFileBound* open_files);

  std::string path_;
  FileRange range_;
  eventlog::OpenFileBound* open_files_;
  std::uint64_t done_ = 0;
  std::uint32_t crc_ = 0;  // Checksum of the returned bytes.
};

}  // namespace datamanager

#endif  // DATAMANAGER_READ_FILE_BYTES_H_
