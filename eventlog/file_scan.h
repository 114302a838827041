#ifndef EVENTLOG_FILE_SCAN_H_
#define EVENTLOG_FILE_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "eventlog/file_faults.h"
#include "eventlog/open_file_bound.h"
#include "eventlog/record_scan.h"

namespace eventlog {

// Continues reading a growing file without keeping it open: each call opens the file, checks that
// it is still the same one, reads what is new, and closes it. TensorBoard's Rust server keeps a
// descriptor for each file that it ever saw and gives up files that it cannot open; neither it nor
// TensorBoard in Python notices a replaced file.

// How far a file was read, and how to recognise it. All integers, so that an index can store it.
//
// A file is unchanged while its device, inode, size and ctime are. Otherwise, and with another
// inode (rsync writes a new file for each growth), it is recognised by its contents: the first KiB
// and the last 4 KiB that were read must be the same, and damaged records must still be damaged
// (the first and the last of each kind of damage are checked). Changes of other bytes in between
// are not noticed here.
struct FilePosition {
  RecordPosition record;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0: the file was never opened.
  // The file's ctime, in nanoseconds since 1970; 0 if the file may change again without a new
  // ctime.
  std::int64_t change_ns = 0;
  // The file's size when everything in it was read; 0 while more is left.
  std::uint64_t size = 0;
  // CRC-32C of this many bytes from the file's start, and before record.offset. A position from
  // SeekPosition() has no CRC of the start.
  std::uint32_t head_bytes = 0;
  std::uint32_t head_crc = 0;
  std::uint32_t tail_bytes = 0;
  std::uint32_t tail_crc = 0;

  friend bool operator==(const FilePosition&, const FilePosition&) = default;
};

// True if a stored position is consistent, so that a scan can continue from it; does not check the
// file.
bool IsSound(const FilePosition& position);

// Returns the position for a scan that begins with the first record at or after `offset`.
FilePosition SeekPosition(std::uint64_t offset);

// Joins the positions of two concurrent scans of one file: `first` ended at
// FileScanOptions::limits.end, which is the offset where `second` began to seek. Null unless the
// second scan began at the record where the first one ended: discard its results then, and continue
// from `first`.
std::optional<FilePosition> JoinPositions(const FilePosition& first, const FilePosition& second);

enum class ScanOutcome : std::uint8_t {
  kRead,       // The new part of the file, if any, was read.
  kUnchanged,  // Nothing was new; nothing was read.
  // The position is invalid, because the data that was read is no longer in the file: discard both
  // and start with a new position (and faults: FileFaults::ForgetContent()). The call returned no
  // events and did not change the position.
  kShrunk,
  kReplaced,
  kRewritten,
  kGone,  // The file does not exist now.
  // Nothing was lost; retry later. The position is after all events that were handed out before an
  // error in the middle.
  kUnreadable,
  kNoDescriptor,
};

struct FileScanResult {
  ScanOutcome outcome = ScanOutcome::kRead;
  // The cause of kGone, kUnreadable and kNoDescriptor, with the path. InvalidArgument if it is not
  // a regular file.
  absl::Status status;
  std::uint64_t size = 0;        // Size of the file at the start of the call.
  std::int64_t modified_ns = 0;  // The file's last write at that time, since 1970.
  std::uint64_t read_bytes = 0;  // From the file, including bytes that were only compared.
  // More is left to read: step_bytes or limits.end stopped the scan.
  bool more = false;
};

struct FileScanOptions {
  // Stops after the record that reaches this many bytes; a scan takes 1 ms for about 1 MB.
  std::uint64_t step_bytes = std::numeric_limits<std::uint64_t>::max();
  // Passed to the function that reads; when `end` is reached, `more` is set.
  RecordLimits limits = {};
  OpenFileBound* open_files = nullptr;  // Not owned; null: no limit.
};

// Memory of scans: 256 KiB between scans, up to the longest record during one. One per thread.
class ReadBuffer {
 public:
  static constexpr std::size_t kBytes = 256 << 10;

  char* data() { return data_.get(); }
  std::size_t capacity() const { return capacity_; }
  // Makes room for `bytes`; keeps the first `kept`.
  void Reserve(std::size_t bytes, std::size_t kept);
  void Trim();

 private:
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
};

// Reads a chunk: ScanRecords() or ScalarScan::Read(), with the options' limits. Views are valid
// during the call.
using ChunkReader = std::function<std::size_t(RecordChunk chunk, const RecordLimits& limits,
                                              RecordPosition* position, FileFaults* faults)>;

// Reads what is new after `position` and advances it, up to the size of the file at the start of
// the call, so that a fast writer cannot keep the call busy. Blocks on the disk, and for a slot of
// options.open_files. Counts every outcome except kRead and kUnchanged in `faults`, where
// kUnfinishedTail describes the incomplete last record. Any thread, but a position, a buffer and
// faults may be used by one thread at a time.
//
// Reads a record into memory only when the file contains all of it: one that claims 400 MB and
// stops costs nothing. Skips holes of the file after damage without reading them.
FileScanResult ScanFile(const std::string& path, const FileScanOptions& options,
                        FilePosition* position, ReadBuffer* buffer, FileFaults* faults,
                        const ChunkReader& read);

}  // namespace eventlog

#endif  // EVENTLOG_FILE_SCAN_H_
