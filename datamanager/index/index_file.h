#ifndef DATAMANAGER_INDEX_INDEX_FILE_H_
#define DATAMANAGER_INDEX_INDEX_FILE_H_

// Everything that is known of a run, as one file, so that a restart need not read the run again. No
// other reader of event files has this. The file is disposable: if anything is wrong with it, the
// caller deletes it and reads the run. It is never trusted: one flipped, missing or added byte is
// DataLoss, and lengths and counts are validated even if the checksums are right.
//
//   0   8  "YARDINDX"
//   8   4  version of this format
//   12  4  CRC-32C of the head
//   16  8  length of the head
//   24  4  CRC-32C of bytes 0 to 23
//   28     the head: the run, its files, its tags without their points
//          the data: for each tag in turn its blocks and its values' places, with a CRC-32C of its
//          own in the head
//
// All numbers are little endian. The head alone suffices to list a run, its tags and their numbers
// of points. The caller decides, from IndexedFile, whether the run's files are still those of the
// index.
//
// Not thread safe; const methods may run concurrently. The functions that take a path may block.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/scalar_summary.h"
#include "datamanager/series/value_series.h"
#include "eventlog/file_faults.h"
#include "eventlog/file_scan.h"

namespace datamanager {

// Must be increased with each change of the format.
inline constexpr std::uint32_t kIndexVersion = 4;
inline constexpr std::size_t kMaxIndexBytes = std::size_t{1} << 30;

// One file of the run, and the state in which it was read.
struct IndexedFile {
  std::string name;
  std::uint8_t format = 0;  // Assigned by the caller.
  // Last modification when `position` was reached, in nanoseconds since 1970; 0: unknown.
  std::int64_t modified_ns = 0;
  eventlog::FilePosition position;
  std::uint64_t records = 0;
  std::uint64_t points = 0;  // Points and other values.
  std::string version;       // "brain.Event:2"
  std::string writer;
  std::string bad_tag;                  // See RunFileData.
  std::vector<eventlog::Fault> faults;  // By kind; each kind at most once.

  bool operator==(const IndexedFile&) const = default;
};

// Records of one file that were read before those of another.
struct IndexedRange {
  std::uint32_t file = 0;  // Index in IndexedRun::files.
  std::uint64_t end = 0;   // Offset after them.

  bool operator==(const IndexedRange&) const = default;
};

// The run, its files, and the order in which they were read.
struct IndexedRun {
  std::string directory;  // Canonical path.
  std::uint64_t generation = 0;
  double start_time = std::numeric_limits<double>::quiet_NaN();  // NaN: unknown.
  std::vector<IndexedFile> files;
  std::vector<IndexedRange> ranges;
  PurgeLog::State purges;

  bool operator==(const IndexedRun&) const = default;
};

// One tag without its points and values.
struct IndexedTag {
  std::string name;
  std::string plugin;
  std::int32_t data_class = 0;
  std::string display_name;
  std::string description;
  std::string content;   // The plugin's raw content.
  bool settled = false;  // All of the above are final.
  bool implied = false;  // The kind was implied by an old-style value.
  ScalarSummary summary;
  SeriesMarks marks;
  // Covers only the steps and times of values other than scalars.
  ScalarSummary value_summary;
  SeriesMarks value_marks;
  std::uint32_t most_blobs = 0;  // Largest number in one value.
  // True: the index includes the points and values. False: only their summaries are known.
  bool has_points = false;
};

// Makes an index in memory. The same calls make the same index.
class IndexWriter {
 public:
  explicit IndexWriter(const IndexedRun& run);
  // Adds a tag. `points` is null if the points and values are not in memory; `values` must then be
  // empty. Ignores `tag.has_points`.
  void AddTag(const IndexedTag& tag, const ScalarColumns* points, const ValueSeries& values);
  // Size of the index so far.
  std::size_t bytes() const { return run_.size() + tag_heads_.size() + data_.size(); }
  // Returns the file's bytes. ResourceExhausted if they exceed kMaxIndexBytes.
  absl::StatusOr<std::string> Finish() &&;

 private:
  bool HasRoom() const;

  std::string run_;
  std::uint64_t tags_ = 0;
  std::string tag_heads_;
  std::string data_;
};

class IndexReader {
 public:
  // Parses a whole index, or only its head (the part before the data). DataLoss if it is damaged;
  // FailedPrecondition if it has another format version. The data of a tag is verified when it is
  // read.
  static absl::StatusOr<IndexReader> Parse(std::string index);
  static absl::StatusOr<IndexReader> ParseHead(std::string_view head);

  const IndexedRun& run() const { return run_; }
  std::span<const IndexedTag> tags() const { return tags_; }
  // False if only the head was parsed.
  bool whole() const { return !index_.empty(); }
  // Appends the points and the values of tags()[tag] to the series, which must be empty. DataLoss
  // if they are damaged; FailedPrecondition if only the head was parsed.
  absl::Status Read(std::size_t tag, ScalarColumns* points, ValueSeries* values) const;
  // Length of the whole index, according to the head.
  std::uint64_t size() const { return data_begin_ + data_length_; }

 private:
  struct Place {
    std::uint64_t begin = 0;  // Offset in the index.
    std::uint64_t length = 0;
    std::uint32_t crc = 0;
  };
  absl::Status ReadHead(std::string_view head);

  std::string index_;  // Empty if only the head was parsed.
  std::uint64_t data_begin_ = 0;
  std::uint64_t data_length_ = 0;
  IndexedRun run_;
  std::vector<IndexedTag> tags_;
  std::vector<Place> places_;
};

// Returns "0123456789abcdef.idx", the file name for the index of a run in this canonical directory.
std::string IndexFileName(std::string_view run_directory);

enum class IndexPart { kAll, kHead };
// Reads the index of the run in `run_directory`. NotFound if the run has no index, or if the file
// is the index of another run with the same file name; PermissionDenied if the file belongs to
// another user or is a link; DataLoss and FailedPrecondition as for Parse().
absl::StatusOr<IndexReader> ReadIndex(const std::string& path, std::string_view run_directory,
                                      IndexPart part);

}  // namespace datamanager

#endif  // DATAMANAGER_INDEX_INDEX_FILE_H_
