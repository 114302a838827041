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

// Reads on in a file that grows, without keeping it open: a call opens it, looks whether it is
// still the one that was read, reads what is new, and closes it. TensorBoard's Rust server keeps a
// descriptor for each file it ever saw and gives up what it cannot open; it and TensorBoard in
// Python do not notice a file that was replaced.

// How far a file was read, and how to know it again. All integers, so that an index can keep it.
//
// A file is the same as long as device, inode, size and time of change are. After that, and under
// another inode (rsync writes a new file for each growth), it is known by what it holds: the first
// KiB and the last 4 KiB that were read; and where a record was damaged, there must be none by now
// (of each kind of damage the first and the last are looked at). Other bytes that change between
// these are not noticed here.
struct FilePosition {
  RecordPosition record;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0: the file was never looked at.
  // The file's ctime, nanoseconds since 1970; 0 if the file may change again without moving its
  // ctime.
  std::int64_t change_ns = 0;
  // The file's size when everything in it was looked at; 0 as long as there is more.
  std::uint64_t size = 0;
  // CRC-32C of that many bytes from the file's start, and before record.offset. A position from
  // SeekPosition() does not know the bytes at the start.
  std::uint32_t head_bytes = 0;
  std::uint32_t head_crc = 0;
  std::uint32_t tail_bytes = 0;
  std::uint32_t tail_crc = 0;

  friend bool operator==(const FilePosition&, const FilePosition&) = default;
};

// Whether a position that was stored can be gone on from; not whether the file is still the same.
bool IsSound(const FilePosition& position);

// For a scan that begins with the first record at or behind `offset`.
FilePosition SeekPosition(std::uint64_t offset);

// The position behind both of two scans of one file at once, `first` with
// FileScanOptions::limits.end at the place that `second` was to seek. Nothing unless the second
// scan began at the record where the first ended: then throw away its results and go on from
// `first`.
std::optional<FilePosition> JoinPositions(const FilePosition& first, const FilePosition& second);

enum class ScanOutcome : std::uint8_t {
  kRead,       // The new part of the file, if any, has been read.
  kUnchanged,  // Nothing was new; nothing was read.
  // The position is of no use any more, and what was read is not in the file: forget both and begin
  // with a new position (and faults: FileFaults::ForgetContent()). Nothing was handed out, nothing
  // in the position changed.
  kShrunk,
  kReplaced,
  kRewritten,
  kGone,  // There is no such file now.
  // Nothing is known, nothing is lost; to be tried again. The position is past everything that was
  // handed out before an error in the middle.
  kUnreadable,
  kNoDescriptor,
};

struct FileScanResult {
  ScanOutcome outcome = ScanOutcome::kRead;
  // For kGone, kUnreadable and kNoDescriptor: the cause, with the path. InvalidArgument: it is no
  // regular file.
  absl::Status status;
  std::uint64_t size = 0;        // The file's, at the start of the call.
  std::int64_t modified_ns = 0;  // When it was written last, since 1970; at the start likewise.
  std::uint64_t read_bytes = 0;  // From the file, what was only compared included.
  // There is more to look at: step_bytes or limits.end stopped the scan.
  bool more = false;
};

struct FileScanOptions {
  // Stop behind the record that makes it so many bytes; a scan takes 1 ms for about 1 MB.
  std::uint64_t step_bytes = std::numeric_limits<std::uint64_t>::max();
  // To the function that reads; `end` also means that there is more when it is reached.
  RecordLimits limits = {};
  OpenFileBound* open_files = nullptr;  // Not owned; null: no bound.
};

// Memory of scans: 256 KiB between them, as much as the longest record during one. One a thread.
class ReadBuffer {
 public:
  static constexpr std::size_t kBytes = 256 << 10;

  char* data() { return data_.get(); }
  std::size_t capacity() const { return capacity_; }
  // Makes room for `bytes`; the first `kept` stay.
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

// Reads what is new behind `position` and moves it; as far as the file reached at the start of the
// call, so that a fast writer holds nobody here. Blocks on the disk, and for a place in
// options.open_files. Every outcome but kRead and kUnchanged is counted in `faults`, where
// kUnfinishedTail says what is there of a record now. Any thread; a position, buffer and faults are
// used by one at a time.
//
// A record is read into memory only when the file has all of it: one that promises 400 MB and
// stops costs nothing. Behind damage holes of the file are passed over without being read.
FileScanResult ScanFile(const std::string& path, const FileScanOptions& options,
                        FilePosition* position, ReadBuffer* buffer, FileFaults* faults,
                        const ChunkReader& read);

}  // namespace eventlog

#endif  // EVENTLOG_FILE_SCAN_H_
