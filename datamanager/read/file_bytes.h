#ifndef DATAMANAGER_READ_FILE_BYTES_H_
#define DATAMANAGER_READ_FILE_BYTES_H_

// Bytes of values, which are not kept but read from their files when somebody wants to see them.
//
// A file is opened for each read and closed behind it, within the bound on open files: a caller
// that reads a large value slowly holds no descriptor. All functions block on the disk; any thread.
//
// Re-imagined: the blobs of TensorBoard's data servers, which are kept in memory and therefore
// sampled; MindInsight reads them from its files too, without looking at a checksum.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eventlog/open_file_bound.h"

namespace datamanager {

// A range of a file, and the CRC-32C (not masked) that it had when it was found.
struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
};

// Nothing longer is one value of an event.
inline constexpr std::uint64_t kMaxRangeBytes = std::uint64_t{512} << 20;

// All of the range. DataLoss: the file does not hold these bytes there any more, or ends before;
// NotFound: it is gone; Unavailable: it cannot be opened for now, to be tried again;
// InvalidArgument: the range is over kMaxRangeBytes. `open_files`: not owned; null: no bound.
absl::StatusOr<std::string> ReadFileRange(const std::string& path, const FileRange& range,
                                          eventlog::OpenFileBound* open_files);

// The same in pieces, for what is too large for a message. All of it is read once before the first
// piece is handed out, so that nobody sees bytes that are not those, and again piece by piece. One
// thread at a time.
class FileRangeReader {
 public:
  static absl::StatusOr<FileRangeReader> Open(std::string path, const FileRange& range,
                                              eventlog::OpenFileBound* open_files);

  // The next bytes, at most `limit` (> 0); none at the end. DataLoss also if they have changed
  // since Open().
  absl::StatusOr<std::string> Next(std::size_t limit);
  // Offset in the range at which Next() begins.
  std::uint64_t offset() const { return done_; }

 private:
  FileRangeReader(std::string path, const FileRange& range, eventlog::OpenFileBound* open_files);

  std::string path_;
  FileRange range_;
  eventlog::OpenFileBound* open_files_;
  std::uint64_t done_ = 0;
  std::uint32_t crc_ = 0;  // Checksum of the bytes handed out.
};

}  // namespace datamanager

#endif  // DATAMANAGER_READ_FILE_BYTES_H_
